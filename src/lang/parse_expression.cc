// Expressions: precedence climbing over the op table for binary operators, one function for each other shape.
#include <charconv>
#include <cmath>

#include "expr/print.h"
#include "lang/parser.h"

namespace quern::lang {
namespace {

using expr::Family;
using expr::Node;
using expr::NodePtr;
using expr::Op;

const expr::OpRow* binary_operator(const Token& t) { return t.op && t.op->family != Family::compare ? t.op : nullptr; }

const expr::OpRow* compare_operator(const Token& t) { return t.op && t.op->family == Family::compare ? t.op : nullptr; }

// Of a decimal number without sign whose value is out of range: is it too small?
bool below_one(std::string_view text) {
  size_t e = std::min(text.find_first_of("eE"), text.size());
  int64_t exponent = 0;
  std::string_view digits = text.substr(std::min(e + 1, text.size()));
  bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  if (std::from_chars(digits.data(), digits.data() + digits.size(), exponent).ec == std::errc::result_out_of_range)
    return negative;
  std::string_view mantissa = text.substr(0, e);
  auto point = static_cast<int64_t>(std::min(mantissa.find('.'), mantissa.size()));
  auto first = static_cast<int64_t>(mantissa.find_first_of("123456789"));
  return (point - first) + (negative ? -exponent : exponent) <= 0;
}

constexpr int kLoosestBinary = 5;    // |
constexpr int kTightestBinary = 10;  // * / // %

}  // namespace

void Parser::deeper(const Token& first) {
  // A level takes some kilobytes of stack, with sanitizers ten; a sum may be longer than this, since it doesn't nest.
  constexpr int kMaxNesting = 250;
  if (++depth_ <= kMaxNesting) return;
  give_up(diagnose(Code::E113, span(first), {{"limit", std::to_string(kMaxNesting)}}));
}

NodePtr Parser::finished(Node node, const Token& first) {
  node.span = since(first);
  NodePtr made = expr::make(std::move(node));
  if (made->depth > expr::kMaxDepth) {
    give_up(diagnose(Code::E113, span(first), {{"limit", std::to_string(expr::kMaxDepth)}}));
  }
  // Comparison chains share their middle operands, so nested ones double at every level.
  if (made->size > expr::kMaxSize) {
    give_up(diagnose(Code::E118, span(first), {{"kernel", "this"}, {"limit", std::to_string(expr::kMaxSize)}}));
  }
  return made;
}

NodePtr Parser::make(Op op, std::vector<NodePtr> args, const Token& first) {
  Node n{.op = op};
  n.args = std::move(args);
  return finished(std::move(n), first);
}

NodePtr Parser::expression() {
  const Token first = here();
  deeper(first);
  NodePtr value = binary(1);
  if (accept_keyword("if")) {
    NodePtr condition = binary(1);
    if (!accept_keyword("else")) expected("'else'", "a condition is `a if c else b`");
    NodePtr otherwise = expression();
    value = make(Op::kSelect, {value, condition, otherwise}, first);
  }
  --depth_;
  return value;
}

// Levels 1 (or) and 2 (and), 3 (not) and 4 (comparisons), 5 to 10 from the table.
NodePtr Parser::binary(int level) {
  if (level == 3) return negation();
  const Token first = here();
  if (level <= 2) {
    Op op = level == 1 ? Op::kOr : Op::kAnd;
    NodePtr left = binary(level + 1);
    while (accept_keyword(expr::row(op).text)) left = make(op, {left, binary(level + 1)}, first);
    return left;
  }
  // One loop for all tighter levels: operands are unary, an operator waits until a looser one or the end comes.
  NodePtr left = unary();
  while (const expr::OpRow* r = binary_operator(here())) {
    if (r->precedence < level) break;
    take();
    NodePtr right = r->precedence == kTightestBinary ? unary() : binary(r->precedence + 1);
    left = make(r->op, {left, right}, first);
  }
  return left;
}

NodePtr Parser::negation() {
  const Token first = here();
  if (!accept_keyword("not")) return comparison();
  deeper(first);
  NodePtr operand = negation();
  --depth_;
  return make(Op::kNot, {operand}, first);
}

NodePtr Parser::comparison() {
  const Token first = here();
  Token middle_first = here();
  NodePtr left = binary(kLoosestBinary);
  NodePtr chain;
  while (const expr::OpRow* r = compare_operator(here())) {
    take();
    Token next_first = here();
    NodePtr right = binary(kLoosestBinary);
    NodePtr one = make(r->op, {left, right}, middle_first);
    if (chain) {
      Node n{.op = Op::kAnd};
      n.chain = true;
      n.args = {chain, one};
      chain = finished(std::move(n), first);
    } else {
      chain = one;
    }
    left = right;
    middle_first = next_first;
  }
  return chain ? chain : left;
}

NodePtr Parser::unary() {
  const Token first = here();
  if (first.kind == TokenKind::kReduction && after().sign("[")) return reduction();
  if (!first.sign("-")) return primary();
  deeper(first);
  take();
  NodePtr operand = unary();
  --depth_;
  return make(Op::kNeg, {operand}, first);
}

NodePtr Parser::reduction() {
  const Token first = here();
  deeper(first);
  Token word = take();
  Node n{.op = Op::kSum};
  for (const expr::OpRow& r : expr::op_rows()) {
    if (r.family == Family::reduction && r.text == word.text) n.op = r.op;
  }
  n.binders = binders();
  n.args = {binary(kTightestBinary)};
  --depth_;
  return finished(std::move(n), first);
}

NodePtr Parser::number() {
  const Token t = take();
  Node n{.op = t.kind == TokenKind::kReal ? Op::kReal : Op::kInteger};
  n.name = Symbol(t.text);
  const char* begin = t.text.data();
  const char* end = begin + t.text.size();
  std::errc status{};
  if (t.kind == TokenKind::kReal) {
    n.real = 0;
    status = std::from_chars(begin, end, n.real).ec;
    // from_chars refuses what underflows as well; that is a zero, not an error.
    if (status == std::errc::result_out_of_range && below_one(t.text)) status = {};
  } else if (t.text.starts_with("0x")) {
    uint64_t bits = 0;
    status = std::from_chars(begin + 2, end, bits, 16).ec;
    n.integer = static_cast<int64_t>(bits);
  } else {
    status = std::from_chars(begin, end, n.integer).ec;
  }
  if (status != std::errc{}) errors_.push_back(diagnose(Code::E115, span(t), {{"n", std::string(t.text)}}));
  return finished(std::move(n), t);
}

NodePtr Parser::primary() {
  const Token first = here();
  switch (first.kind) {
    case TokenKind::kInteger:
    case TokenKind::kReal: return number();
    case TokenKind::kLower:
      if (first.first_of_line && starts_definition()) {
        give_up(
            diagnose(Code::E111, span(first), {{"u", "a definition"}}).with_remedy("the line above ends too early"));
      }
      return named();
    case TokenKind::kUpper: return named();
    case TokenKind::kType: {
      take();
      if (!here().sign("(")) {
        std::string name(first.text);
        give_up(diagnose(Code::E110, span(first), {{"n", name}, {"usage", "a cast is `" + name + "(x)`"}}));
      }
      Node n{.op = Op::kCast};
      n.type.scalar = *parse_type(first.text);
      n.args = list(")");
      if (n.args.size() != 1) {
        give_up(diagnose(Code::E604, since(first),
                         {{"f", std::string(first.text)}, {"k", "1 argument"}, {"m", std::to_string(n.args.size())}}));
      }
      return finished(std::move(n), first);
    }
    case TokenKind::kReduction: {
      Op op = first.is("max") ? Op::kMaxOf : Op::kMinOf;
      bool compares = first.is("max") || first.is("min");
      if (!compares || !after().sign("(")) {
        std::string name(first.text);
        std::string usage = "`" + name + "[i] x[i]` reduces";
        if (compares) {
          usage += ", `" + name + "(a, b)` compares";
          give_up(diagnose(Code::E110, span(first), {{"n", name}, {"usage", std::move(usage)}}));
        }
        take();
        expected("'['", std::move(usage));
      }
      take();
      return make(op, list(")"), first);
    }
    case TokenKind::kKeyword:
      for (Op op : {Op::kTrue, Op::kFalse, Op::kInf, Op::kNan}) {
        if (accept_keyword(expr::row(op).text)) return make(op, {}, first);
      }
      break;
    case TokenKind::kSign:
      if (first.sign("(")) {
        take();
        NodePtr inside = expression();
        expect_close(")", first);
        return inside;
      }
      break;
    case TokenKind::kEnd: break;
  }
  no_value(first);
}

void Parser::no_value(const Token& found) { give_up(diagnose(Code::E111, span(found), {{"u", shown(found)}})); }

// name · name[…] · name(…) · name[…](…)
NodePtr Parser::named() {
  const Token first = take();
  Node n{.op = first.kind == TokenKind::kLower ? Op::kName : Op::kUpper};
  n.name = Symbol(first.text);
  if (here().sign("[")) {
    std::vector<NodePtr> inside = list("]");
    if (!here().sign("(")) {
      n.op = Op::kSubscript;
      n.args = std::move(inside);
      if (first.kind == TokenKind::kUpper) {
        give_up(diagnose(Code::E204, span(first), {{"n", n.name.str()}, {"what", "a dimension or a type"}}));
      }
      return finished(std::move(n), first);
    }
    for (const NodePtr& node : inside) {
      std::optional<expr::Binder> b = as_binder(node);
      if (!b) not_a_binder(node);
      n.binders.push_back(std::move(*b));
    }
  }
  if (!here().sign("(")) return finished(std::move(n), first);
  n.args = list(")");
  n.op = Op::kCall;
  return finished(std::move(n), first);
}

// From the opening bracket to the closing one, both taken.
std::vector<NodePtr> Parser::list(std::string_view close) {
  const Token open = take();
  std::vector<NodePtr> out;
  if (here().sign(close)) no_value(here());
  do {
    out.push_back(expression());
  } while (accept_sign(","));
  if (!here().first_of_line || !starts_definition()) no_value_follows("write `*`, or a comma");
  expect_close(close, open);
  return out;
}

std::vector<expr::Binder> Parser::binders() {
  const Token open = here();
  expect_sign("[");
  std::vector<expr::Binder> out;
  do {
    out.push_back(binder());
  } while (accept_sign(","));
  const Token& next = here();
  if (!out.back().hi && (next.text == "in" || next.sign(":") || next.sign("="))) {  // as other languages write a range
    expected("']'", "a bound is `n < hi` or `lo <= n < hi`");
  }
  expect_close("]", open);
  return out;
}

expr::Binder Parser::binder() {
  const Token first = here();
  if (first.sign("]") || first.sign(",")) give_up(diagnose(Code::E109, span(first)));
  bool alone = after().sign("]") || after().sign(",") || after().sign("<") || after().sign("<=");
  bool value = first.keyword("true") || first.keyword("false") || first.keyword("inf") || first.keyword("nan");
  if (reserved(first) && alone && !value) give_up(diagnose(Code::E112, span(first), {{"n", std::string(first.text)}}));
  NodePtr node = comparison();
  std::optional<expr::Binder> b = as_binder(node);
  if (!b) not_a_binder(node);
  return *b;
}

void Parser::not_a_binder(const NodePtr& node) {
  if (is(node, Op::kUpper)) {
    give_up(diagnose(Code::E104, node->span, {{"what", "index"}, {"n", node->name.str()}, {"case", "lower"}}));
  }
  Diagnostic d = diagnose(Code::E109, node->span);
  const NodePtr& last = node->chain ? node->args[1] : node;
  if (is(last, Op::kGt) || is(last, Op::kGe)) d.remedy = "bounds are written with < and <=";
  give_up(std::move(d));
}

// n · n < hi · n <= hi · lo < n < hi and so on: the comparisons that have a lone name where the index stands.
std::optional<expr::Binder> Parser::as_binder(const NodePtr& node) const {
  expr::Binder b;
  b.span = node->span;
  auto below = [](const NodePtr& n) { return is(n, Op::kLt) || is(n, Op::kLe); };
  if (is(node, Op::kName)) {
    b.name = node->name;
    return b;
  }
  if (below(node) && is(node->args[0], Op::kName)) {
    b.name = node->args[0]->name;
    b.hi = node->args[1];
    b.hi_inclusive = is(node, Op::kLe);
    b.span = node->args[0]->span;
    return b;
  }
  if (node->chain && below(node->args[0]) && below(node->args[1]) && is(node->args[1]->args[0], Op::kName)) {
    b.lo = node->args[0]->args[0];
    b.lo_strict = is(node->args[0], Op::kLt);
    b.name = node->args[1]->args[0]->name;
    b.span = node->args[1]->args[0]->span;
    b.hi = node->args[1]->args[1];
    b.hi_inclusive = is(node->args[1], Op::kLe);
    return b;
  }
  return std::nullopt;
}

// Two values side by side: a product that lacks its sign, or a definition that lacks its line.
void Parser::no_value_follows(std::string_view remedy) {
  const Token& t = here();
  bool value = t.name() || t.kind == TokenKind::kInteger || t.kind == TokenKind::kReal ||
               t.kind == TokenKind::kReduction || t.kind == TokenKind::kType || t.keyword("for");
  if (!value) return;
  Diagnostic d = diagnose(Code::E107, span(t), {{"n", std::string(t.text)}});
  if (!remedy.empty()) d.remedy = remedy;
  give_up(std::move(d));
}

expr::NodePtr Parser::whole_expression() {
  try {
    NodePtr node = expression();
    no_value_follows();
    if (here().kind != TokenKind::kEnd) expected("end of text");
    return node;
  } catch (const GivenUp&) {
    return nullptr;
  }
}

}  // namespace quern::lang
