// Statements, kernels and programs. The first error ends the parse: this text comes from passes, or from tests.
#include "tile/parse.h"

#include <charconv>

#include "tile/parser.h"
#include "tile/print.h"

namespace quern::tile {
namespace {

constexpr size_t kMaxAxes = 64;
constexpr int kMaxBlocks = 100;  // one in another

bool is_keyword(std::string_view text) {
  static const auto words = [] {
    std::unordered_map<std::string_view, bool> map;
    for (std::string_view w : keywords()) map[w] = true;
    return map;
  }();
  return words.contains(text);
}

std::optional<Role> role_of(std::string_view text) {
  for (Role r : {Role::kIn, Role::kOut, Role::kInout, Role::kTmp, Role::kConst}) {
    if (name(r) == text) return r;
  }
  return std::nullopt;
}

std::optional<Stage> stage_of(std::string_view text) {
  for (Stage s : {Stage::kLowered, Stage::kTiled, Stage::kPlaced, Stage::kLaid}) {
    if (name(s) == text) return s;
  }
  return std::nullopt;
}

}  // namespace

// --- tokens ---

bool Parser::sees(std::string_view text) const {
  return here().text == text && (here().kind == TokenKind::kWord || here().kind == TokenKind::kSign);
}
bool Parser::accept(std::string_view text) {
  if (!on_line() || !sees(text)) return false;
  take();
  return true;
}
void Parser::expect(std::string_view text) {
  if (!accept(text)) expected("'" + std::string(text) + "'");
}
void Parser::expected(std::string_view what) const { expected(what, here()); }
void Parser::expected(std::string_view what, const Token& found) const {
  bool end = found.kind == TokenKind::kEnd;
  bool next_line = !end && &found == &here() && found.first_of_line;
  std::string shown = end         ? "the end of the file"
                      : next_line ? "the end of the line"
                                  : "'" + std::string(found.text) + "'";
  throw GivenUp{diagnose(Code::E102, span(found), {{"t", std::string(what)}, {"u", shown}})};
}

Token Parser::word(std::string_view what) {
  if (here().kind != TokenKind::kWord || !on_line() || is_keyword(here().text)) expected(what);
  return take();
}

int64_t Parser::integer_of(const Token& t, bool negative) {
  uint64_t magnitude = 0;
  auto [end, status] = std::from_chars(t.text.data(), t.text.data() + t.text.size(), magnitude);
  uint64_t most = negative ? uint64_t{1} << 63 : static_cast<uint64_t>(INT64_MAX);
  if (status != std::errc{} || magnitude > most) {
    throw GivenUp{diagnose(Code::E115, span(t), {{"n", std::string(t.text)}})};
  }
  return static_cast<int64_t>(negative ? -magnitude : magnitude);
}

int64_t Parser::integer(std::string_view what, int64_t least) {
  bool negative = accept("-");
  if (here().kind != TokenKind::kInteger || !on_line()) expected(what);
  Token t = take();
  int64_t value = integer_of(t, negative);
  if (value < least) expected(what, t);
  return value;
}

void Parser::end_of_line() {
  if (on_line()) expected("the end of the line");
  depths_.clear();
}

// --- statements ---

bool Parser::begins_statement(uint32_t column) const {
  return here().kind != TokenKind::kEnd && here().column > column;
}

Block Parser::block(uint32_t column) {
  Block out;
  if (!begins_statement(column)) return out;
  uint32_t own = here().column;
  if (++depth_ > kMaxBlocks) {
    throw GivenUp{diagnose(Code::E113, span(here()), {{"limit", std::to_string(kMaxBlocks)}})};
  }
  while (begins_statement(column) && !sees("next")) {
    if (here().column != own) expected("the column of the statement above");
    // What begins a line is taken here; from then on a line's first token ends it.
    tokens_[at_].first_of_line = false;
    out.push_back(statement());
  }
  --depth_;
  return out;
}

Statement Parser::statement() {
  uint32_t column = here().column;
  if (sees("for")) return loop();
  if (sees("store") || sees("atomic")) return store();
  if (sees("nest")) return nest();
  if (sees("keep")) return keep();
  if (accept("if")) {
    If s;
    s.condition = expression();
    end_of_line();
    s.body = block(column);
    return {s};
  }
  return {let()};
}

Let Parser::let() {
  Token t = word("a statement");
  expect("=");
  ExprPtr value = expression();
  end_of_line();
  return {define(t, value), value};
}

// A name that is defined twice keeps its first type: the verifier complains.
int32_t Parser::define(const Token& t, ExprPtr value) {
  if (axis_ids_.contains(t.text) || dim_ids_.contains(t.text)) expected("a name that is not an axis or a dimension", t);
  auto [known, fresh] = name_ids_.try_emplace(t.text, static_cast<int32_t>(kernel_.names.size()));
  if (fresh) kernel_.names.emplace_back();
  if (fresh || kept_first_.erase(known->second)) {
    kernel_.names[static_cast<size_t>(known->second)] = {Symbol(t.text), value->type, value->axes - kernel_.scalar};
  }
  return known->second;
}

Statement Parser::store() {
  Store s;
  s.atomic = accept("atomic");
  expect("store");
  Reference r = reference();
  s.parameter = r.parameter;
  s.subscripts = std::move(r.subscripts);
  s.checked = r.checked;
  s.site = r.site;
  s.add = accept("+=");
  if (!s.add) expect("=");
  s.value = expression();
  if (accept("when")) s.when = expression();
  end_of_line();
  return {s};
}

std::vector<Walk> Parser::walks() {
  std::vector<Walk> out;
  do {
    Walk w;
    w.axis = axis_name();
    w.size = 1;
    if (accept(":")) w.size = accept("all") ? 0 : integer("a size", 1);
    if (accept("in")) {
      if (!sees("..")) w.lo = expression();
      expect("..");
      if (on_line() && !sees(",")) w.hi = expression();
      if (!w.lo && !w.hi) expected("an end of the range");
    }
    out.push_back(std::move(w));
  } while (accept(","));
  end_of_line();
  return out;
}

Statement Parser::loop() {
  uint32_t column = here().column;
  take();
  Loop s;
  s.walks = walks();
  std::vector<Token> carried;
  while (begins_statement(column) && sees("carry")) {
    take();
    Token t = word("a name");
    expect("=");
    ExprPtr init = expression();
    end_of_line();
    carried.push_back(t);
    s.carries.push_back({-1, init, nullptr});
  }
  // Carried names are in scope after all initial values.
  for (size_t i = 0; i < carried.size(); ++i) s.carries[i].name = define(carried[i], s.carries[i].init);
  s.body = block(column);
  for (Carry& c : s.carries) {
    if (!begins_statement(column) || !sees("next")) expected("'next'");
    take();
    Token t = word("a name");
    auto known = name_ids_.find(t.text);
    if (known == name_ids_.end() || known->second != c.name) {
      expected("'" + kernel_.names[static_cast<size_t>(c.name)].name.str() + "'", t);
    }
    expect("=");
    c.next = expression();
    end_of_line();
  }
  return {s};
}

Statement Parser::nest() {
  uint32_t column = here().column;
  take();
  Nest s;
  AxisRole usual = AxisRole::kBlock;
  while (on_line()) {
    if (usual == AxisRole::kBlock && accept("|")) usual = AxisRole::kStrip;
    NestAxis a;
    a.axis = axis_name();
    a.role = usual;
    if (accept(":")) a.size = integer("a size", 1);
    if (accept("block")) a.role = AxisRole::kBlock;
    if (accept("strip")) a.role = AxisRole::kStrip;
    if (accept("held")) a.role = AxisRole::kHeld;
    a.lanes = accept("lanes");
    s.axes.push_back(a);
  }
  end_of_line();
  s.body = block(column);
  return {s};
}

Statement Parser::keep() {
  take();
  Keep s;
  Token t = word("a name");
  // It may stand before what defines the name.
  auto [known, fresh] = name_ids_.try_emplace(t.text, static_cast<int32_t>(kernel_.names.size()));
  if (fresh) {
    kept_first_.insert(known->second);
    kernel_.names.push_back({Symbol(t.text), ScalarType::f32, {}});
  }
  s.name = known->second;
  if (accept("far")) {
    s.home = Home::kFar;
  } else {
    expect("near");
  }
  while (on_line()) {
    Digit d;
    d.axis = axis_name();
    if (accept("/")) d.divide = integer("a divisor", 1);
    if (accept("%")) d.modulo = integer("a modulus", 1);
    s.layout.push_back(d);
  }
  end_of_line();
  return {s};
}

// --- programs ---

Kernel Parser::kernel() {
  take();
  kernel_ = {};
  axis_ids_.clear();
  name_ids_.clear();
  kept_first_.clear();
  if (on_line()) kernel_.name = Symbol(word("the kernel's name").text);
  end_of_line();
  if (begins_statement(0) && sees("axes")) axes();
  if (begins_statement(0) && sees("scalar")) {
    take();
    do {
      kernel_.scalar |= AxisSet::of(axis_name());
    } while (accept(","));
    end_of_line();
  }
  if (begins_statement(0) && sees("grid")) {
    take();
    kernel_.grid = walks();
  }
  kernel_.body = block(0);
  return std::move(kernel_);
}

void Parser::axes() {
  take();
  do {
    Token t = word("an axis");
    Axis a{Symbol(t.text), nullptr, nullptr};
    if (accept("in")) {
      a.lo = expression();
      expect("..");
    } else {
      expect("<");
    }
    a.hi = expression();
    if (kernel_.axes.size() == kMaxAxes) expected("at most 64 axes", t);
    if (dim_ids_.contains(t.text)) expected("a name that is not a dimension", t);
    if (!axis_ids_.try_emplace(t.text, static_cast<int32_t>(kernel_.axes.size())).second) {
      expected("a name that is not yet an axis", t);
    }
    kernel_.axes.push_back(std::move(a));
  } while (accept(","));
  end_of_line();
}

void Parser::dims() {
  do {
    bool dyn = accept("dyn");
    Token t = word("a dimension");
    Dim d{Symbol(t.text), std::nullopt};
    if (!dyn) {
      expect("=");
      d.value = integer("a number");
    }
    if (!dim_ids_.try_emplace(t.text, static_cast<int32_t>(program_.dims.size())).second) {
      expected("a name that is not yet a dimension", t);
    }
    program_.dims.push_back(d);
  } while (accept(","));
  end_of_line();
}

void Parser::parameter(Role role) {
  Token t = word("a parameter");
  Parameter p{.name = Symbol(t.text), .role = role};
  expect(":");
  auto type = type_word(here());
  if (!type || !on_line()) expected("a type");
  p.type = *type;
  take();
  if (accept("[")) {
    do {
      p.shape.push_back(expression());
    } while (accept(","));
    expect("]");
  }
  p.zeroed = accept("zeroed");
  end_of_line();
  if (!parameter_ids_.try_emplace(t.text, static_cast<int32_t>(program_.parameters.size())).second) {
    expected("a name that is not yet a parameter", t);
  }
  program_.parameters.push_back(std::move(p));
}

// What print() wrote: \xNN stands for a byte.
std::string Parser::text() {
  if (here().kind != TokenKind::kText || !on_line()) expected("text in quotes");
  Token t = take();
  std::string out;
  for (size_t i = 0; i < t.text.size(); ++i) {
    unsigned byte = 0;
    if (t.text[i] == '\\') {
      std::string_view digits =
          t.text.substr(i + 1).starts_with('x') ? t.text.substr(std::min(i + 2, t.text.size()), 2) : std::string_view();
      auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
      if (digits.size() != 2 || status != std::errc{} || end != digits.data() + 2) expected("'\\xNN'", t);
      out += static_cast<char>(byte);
      i += 3;
    } else {
      out += t.text[i];
    }
  }
  return out;
}

void Parser::site() {
  Token t = word("a code");
  Site s;
  bool known = false;
  for (const CodeRow& r : code_rows()) {
    if (r.name == t.text) s.code = r.code, known = true;
  }
  if (!known) expected("a code", t);
  s.tensor = text();
  s.subscript = text();
  bool last = accept("ends");
  if (last || accept("starts")) {
    std::string end = text();
    s.end = Site::End{std::move(end), last, integer("a dimension", 0)};
  }
  end_of_line();
  program_.sites.push_back(std::move(s));
}

Program Parser::program() {
  auto begin = [&](std::string_view what) {
    if (here().kind == TokenKind::kEnd) expected(what);
    if (here().column != 0) expected("a line without blanks before it");
    tokens_[at_].first_of_line = false;
  };
  begin("'program'");
  expect("program");
  if (!after().first_of_line) program_.name = Symbol(word("the program's name").text);
  auto stage = on_line() ? stage_of(here().text) : std::nullopt;
  if (!stage) expected("lowered, tiled, placed or laid");
  program_.stage = *stage;
  take();
  end_of_line();
  while (here().kind != TokenKind::kEnd && !sees("kernel")) {
    begin("'kernel'");
    if (accept("dims")) {
      dims();
    } else if (accept("site")) {
      site();
    } else if (auto role = role_of(here().text)) {
      take();
      parameter(*role);
    } else {
      expected("dims, a parameter, a site or a kernel");
    }
  }
  while (here().kind != TokenKind::kEnd) {
    begin("'kernel'");
    if (!sees("kernel")) expected("'kernel'");
    program_.kernels.push_back(kernel());
  }
  return std::move(program_);
}

Result<Program> parse(const SourcePtr& source) {
  auto tokens = tokenize(*source);
  auto keep = [&](Diagnostic d) {
    d.source = source;
    return fail(std::move(d));
  };
  if (!tokens) return keep(std::move(tokens.error()[0]));
  try {
    return Parser(*source, std::move(*tokens)).program();
  } catch (GivenUp& given_up) {
    return keep(std::move(given_up.diagnostic));
  }
}

}  // namespace quern::tile
