// Expressions: precedence climbing over the table of operations, one function for each other shape.
#include <charconv>
#include <cmath>

#include "tile/parser.h"
#include "tile/print.h"

namespace quern::tile {
namespace {

constexpr int kLoosest = 1, kNegation = 3, kCompare = 4, kTightest = 10;
// Of the text: a level takes some kilobytes of stack. Of a tree: a long sum nests without nesting in the text.
constexpr int kMaxNesting = 250, kMaxDepth = 2000;

bool is_binary(Family f) {
  return f == Family::arithmetic || f == Family::bits || f == Family::compare || f == Family::logic;
}
// Written as a name in front of arguments.
bool is_called(const OpRow& r) {
  return !r.text.empty() && r.precedence == 12 && r.family != Family::axis && r.family != Family::load;
}

}  // namespace

const OpRow* binary_operator(std::string_view sign) {
  static const auto rows = [] {
    std::unordered_map<std::string_view, const OpRow*> map;
    for (const OpRow& r : op_rows()) {
      if (is_binary(r.family)) map[r.text] = &r;
    }
    return map;
  }();
  auto found = rows.find(sign);
  return found == rows.end() ? nullptr : found->second;
}

// `max` and `min` stand for two operations: the reduction, which comes later in the table, has axes.
const OpRow* function_called(std::string_view word) {
  static const auto rows = [] {
    std::unordered_map<std::string_view, const OpRow*> map;
    for (const OpRow& r : op_rows()) {
      if (is_called(r)) map.try_emplace(r.text, &r);
    }
    return map;
  }();
  auto found = rows.find(word);
  return found == rows.end() ? nullptr : found->second;
}

void Parser::deeper() {
  if (++depth_ <= kMaxNesting) return;
  throw GivenUp{diagnose(Code::E113, span(here()), {{"limit", std::to_string(kMaxNesting)}})};
}

ExprPtr Parser::checked_depth(ExprPtr e) {
  int deepest = 0;
  auto see = [&](const ExprPtr& a) {
    auto known = depths_.find(a.get());
    if (known != depths_.end()) deepest = std::max(deepest, known->second);
  };
  for (const ExprPtr& a : e->args) see(a);
  if (e->guard) see(e->guard);
  if (deepest >= kMaxDepth) {
    throw GivenUp{diagnose(Code::E113, span(here()), {{"limit", std::to_string(kMaxDepth)}})};
  }
  depths_[e.get()] = deepest + 1;
  return e;
}

// value · value if condition else other · load x[i] if guard
ExprPtr Parser::expression() {
  deeper();
  ExprPtr value = binary(kLoosest);
  if (accept("if")) {
    ExprPtr condition = binary(kLoosest);
    if (accept("else")) {
      ExprPtr otherwise = expression();
      value = checked_depth(select(condition, value, otherwise));
    } else if (value->op == Op::kLoad && !value->guard) {
      value = checked_depth(with_args(*value, value->args, condition));
    } else {
      expected("'else'");
    }
  }
  --depth_;
  return value;
}

ExprPtr Parser::binary(int level) {
  if (level == kNegation && sees("not")) {
    deeper();
    take();
    ExprPtr operand = binary(kNegation);
    --depth_;
    return checked_depth(apply(Op::kNot, {operand}));
  }
  if (level <= kCompare) {
    ExprPtr left = binary(level + 1);
    while (on_line()) {
      const OpRow* r = binary_operator(here().text);
      if (!r || here().kind == TokenKind::kText || r->precedence != level) break;
      take();
      left = checked_depth(apply(r->op, {left, binary(level + 1)}));
      if (level == kCompare) break;  // comparisons do not chain
    }
    return left;
  }
  // One loop for all tighter levels: operands are unary, an operator waits until a looser one or the end comes.
  ExprPtr left = unary();
  while (on_line() && here().kind == TokenKind::kSign) {
    const OpRow* r = binary_operator(here().text);
    if (!r || r->precedence < level || r->precedence <= kCompare) break;
    take();
    ExprPtr right = r->precedence == kTightest ? unary() : binary(r->precedence + 1);
    left = checked_depth(apply(r->op, {left, right}));
  }
  return left;
}

ExprPtr Parser::unary() {
  if (!sees("-") || here().kind != TokenKind::kSign) return primary();
  take();
  if (on_line()) {
    TokenKind next = here().kind;
    if (next == TokenKind::kInteger || next == TokenKind::kReal || sees("inf") || sees("nan")) return number(true);
  }
  deeper();
  ExprPtr operand = unary();
  --depth_;
  return checked_depth(apply(Op::kNeg, {operand}));
}

ExprPtr Parser::number(bool negative) {
  Token t = take();
  if (t.kind == TokenKind::kInteger) return tile::integer(integer_of(t, negative));
  double value = 0;
  if (t.text == "inf") {
    value = INFINITY;
  } else if (t.text == "nan") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else {
    auto [end, status] = std::from_chars(t.text.data(), t.text.data() + t.text.size(), value);
    if (status != std::errc{}) throw GivenUp{diagnose(Code::E115, span(t), {{"n", std::string(t.text)}})};
  }
  ScalarType type = ScalarType::f32;
  if (on_line() && sees(":") && type_word(after())) {
    take();
    type = *type_word(here());
    if (kind(type) != Kind::kReal) expected("a real type");
    take();
  }
  return real(negative ? -value : value, type);
}

std::optional<ScalarType> Parser::type_word(const Token& t) const {
  return t.kind == TokenKind::kWord ? parse_type(t.text) : std::nullopt;
}

ExprPtr Parser::primary() {
  if (!on_line()) expected("a value");
  const Token& first = here();
  if (first.kind == TokenKind::kInteger || first.kind == TokenKind::kReal) return number(false);
  if (first.kind == TokenKind::kSign && accept("(")) {
    ExprPtr inside = expression();
    expect(")");
    return inside;
  }
  if (first.kind != TokenKind::kWord) expected("a value");
  if (first.text == "inf" || first.text == "nan") return number(false);
  if (accept("true")) return boolean(true);
  if (accept("false")) return boolean(false);
  if (accept("load")) return load_expression();
  bool calls = !after().first_of_line && after().kind == TokenKind::kSign &&
               (after().text == "(" || after().text == "[" || after().text == ":");
  if (calls) {
    if (auto type = type_word(first)) {
      Token t = take();
      std::vector<ExprPtr> args = arguments();
      if (args.size() != 1) expected("one argument", t);
      return checked_depth(cast(*type, args[0]));
    }
    if (const OpRow* r = function_called(first.text)) return called(*r, false);
    if (first.text.starts_with("fast")) {
      const OpRow* r = function_called(first.text.substr(4));
      if (r && r->family == Family::extremum) return called(*r, true);
    }
  }
  return named();
}

// An axis, its ends, a dimension or a name.
ExprPtr Parser::named() {
  Token t = take();
  if (auto a = axis_ids_.find(t.text); a != axis_ids_.end()) {
    if (on_line() && sees(".")) {
      take();
      if (accept("lo")) return axis_low(a->second);
      if (accept("hi")) return axis_high(a->second);
      expected("'lo' or 'hi'");
    }
    return axis(a->second);
  }
  if (auto n = name_ids_.find(t.text); n != name_ids_.end() && !kept_first_.contains(n->second)) {
    const Name& name = kernel_.names[static_cast<size_t>(n->second)];
    return tile::name(n->second, name.type, name.axes);
  }
  if (auto d = dim_ids_.find(t.text); d != dim_ids_.end()) return dim(d->second);
  expected("a value", t);
}

ExprPtr Parser::load_expression() {
  Reference r = reference();
  ScalarType type = program_.parameters[static_cast<size_t>(r.parameter)].type;
  Expr e = *load(r.parameter, type, std::move(r.subscripts));
  e.checked = r.checked;
  e.site = r.site;
  return checked_depth(std::make_shared<const Expr>(std::move(e)));
}

ExprPtr Parser::called(const OpRow& called, bool nan_ignored) {
  Token first = take();
  const OpRow* r = &called;
  ScalarType type = ScalarType::f32;
  if (r->family == Family::dot && accept(":")) {
    auto stated = type_word(here());
    if (!stated) expected("a type");
    type = *stated;
    take();
  }
  AxisSet over;
  bool brackets = sees("[");
  if (brackets) {
    if (r->family == Family::extremum) r = r->op == Op::kMaxOf ? &row(Op::kMax) : &row(Op::kMin);
    over = axis_list();
  }
  bool wants = r->family == Family::fill || r->family == Family::reduce || r->family == Family::dot;
  if (wants != brackets) expected(wants ? "'['" : "'('", first);
  std::vector<ExprPtr> args = arguments();
  bool fits = r->family == Family::dot ? args.size() == 2 || args.size() == 3
                                       : args.size() == static_cast<size_t>(std::max(r->arity, 0));
  if (!fits) expected("another number of arguments", first);
  ExprPtr out;
  if (r->family == Family::fill) {
    out = fill(over, args[0]);
  } else if (r->family == Family::dot) {
    out = dot(type, over, args[0], args[1], args.size() == 3 ? args[2] : nullptr, r->op);
  } else if (r->family == Family::reduce) {
    out = reduce(r->op, over, args[0]);
  } else if (r->family == Family::check) {
    out = check(args[0], args[1], args[2], site_number());
  } else {
    out = apply(r->op, std::move(args));
  }
  if (nan_ignored) {
    Expr e = *out;
    e.nan_ignored = true;
    out = std::make_shared<const Expr>(std::move(e));
  }
  return checked_depth(std::move(out));
}

std::vector<ExprPtr> Parser::arguments() {
  expect("(");
  std::vector<ExprPtr> out;
  do {
    out.push_back(expression());
  } while (accept(","));
  expect(")");
  return out;
}

AxisSet Parser::axis_list() {
  expect("[");
  AxisSet out;
  if (accept("]")) return out;
  do {
    out |= AxisSet::of(axis_name());
  } while (accept(","));
  expect("]");
  return out;
}

AxisId Parser::axis_name() {
  if (on_line()) {
    if (auto a = axis_ids_.find(here().text); a != axis_ids_.end()) {
      take();
      return a->second;
    }
  }
  expected("an axis");
}

Parser::Reference Parser::reference() {
  Reference out;
  auto p = on_line() ? parameter_ids_.find(here().text) : parameter_ids_.end();
  if (p == parameter_ids_.end()) expected("a parameter");
  take();
  out.parameter = p->second;
  if (accept("[")) {
    do {
      size_t d = out.subscripts.size();
      if (d < 32 && accept("checked")) out.checked |= uint32_t{1} << d;
      out.subscripts.push_back(expression());
    } while (accept(","));
    expect("]");
  }
  out.site = site_number();
  return out;
}

// @3, or nothing: -1
int32_t Parser::site_number() {
  if (!accept("@")) return -1;
  int64_t site = integer("the number of a site", 0);
  if (site >= static_cast<int64_t>(program_.sites.size())) expected("a site", tokens_[at_ - 1]);
  return static_cast<int32_t>(site);
}

}  // namespace quern::tile
