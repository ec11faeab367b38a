// Items and definitions, comments, and how to go on after an error.
#include <algorithm>

#include "expr/print.h"
#include "base/text.h"
#include "lang/parse.h"
#include "lang/parser.h"

namespace quern::lang {

using expr::NodePtr;

// --- tokens ---

Token Parser::take() {
  const Token& t = here();
  if (t.kind != TokenKind::kEnd) ++at_;
  return t;
}

bool Parser::accept_sign(std::string_view text) {
  if (!here().sign(text)) return false;
  take();
  return true;
}

bool Parser::accept_keyword(std::string_view text) {
  if (!here().keyword(text)) return false;
  take();
  return true;
}

void Parser::expect_sign(std::string_view text) {
  if (!accept_sign(text)) expected("'" + std::string(text) + "'");
}

void Parser::expect_close(std::string_view text, const Token& open) {
  if (accept_sign(text)) return;
  Diagnostic d = diagnose(Code::E102, span(here()), {{"t", "'" + std::string(text) + "'"}, {"u", shown(here())}});
  if (open.line != here().line) d.notes.push_back({span(open), source_.shared_from_this(), "opened here"});
  give_up(std::move(d));
}

std::string Parser::shown(const Token& t) {
  if (t.kind == TokenKind::kEnd) return "end of file";
  return "'" + std::string(t.text.substr(0, 60)) + "'";
}

bool Parser::reserved(const Token& t) {
  return t.kind == TokenKind::kKeyword || t.kind == TokenKind::kReduction || t.kind == TokenKind::kType;
}

// What follows from a character that the lexer complained about, in the same statement, needs no words.
void Parser::give_up(Diagnostic diagnostic) {
  if (!lexical_error(statement_, diagnostic.span.end)) errors_.push_back(std::move(diagnostic));
  throw GivenUp{};
}

bool Parser::lexical_error(uint32_t from, uint32_t to) const {
  auto first = std::ranges::lower_bound(tokens_.damaged, from);
  return first != tokens_.damaged.end() && *first < to;
}

void Parser::expected(std::string what, std::string remedy) {
  Diagnostic d = diagnose(Code::E102, span(here()), {{"t", std::move(what)}, {"u", shown(here())}});
  d.remedy = std::move(remedy);
  give_up(std::move(d));
}

Symbol Parser::lower(std::string_view what, Span& where) {
  const Token t = here();
  where = span(t);
  if (t.kind == TokenKind::kUpper) {
    give_up(diagnose(Code::E104, where, {{"what", std::string(what)}, {"n", std::string(t.text)}, {"case", "lower"}}));
  }
  if (reserved(t)) give_up(diagnose(Code::E112, where, {{"n", std::string(t.text)}}));
  if (t.kind != TokenKind::kLower) expected(std::string(what) + " name");
  take();
  return Symbol(t.text);
}

Symbol Parser::upper(std::string_view what, Span& where) {
  const Token t = here();
  where = span(t);
  if (t.kind == TokenKind::kLower || reserved(t)) {
    give_up(diagnose(Code::E104, where, {{"what", std::string(what)}, {"n", std::string(t.text)}, {"case", "upper"}}));
  }
  if (t.kind != TokenKind::kUpper) expected(std::string(what) + " name");
  take();
  return Symbol(t.text);
}

// --- items ---

bool Parser::starts_item() const {
  const Token& t = here();
  return t.keyword("kernel") || t.keyword("fn") || t.keyword("const") || t.keyword("import");
}

void Parser::skip_to_item() {
  while (here().kind != TokenKind::kEnd && !(starts_item() && here().first_of_line)) take();
}

// A name, perhaps with brackets, and what can only follow a left side.
bool Parser::starts_definition() const {
  if (here().kind != TokenKind::kLower) return false;
  size_t at = at_ + 1;
  constexpr size_t kFar = 500;  // tokens: a left side is shorter
  size_t end = std::min(tokens_.tokens.size() - 1, at_ + kFar);
  if (tokens_.tokens[at].sign("[")) {
    int open = 0;
    do {
      open += tokens_.tokens[at].sign("[") - tokens_.tokens[at].sign("]");
      ++at;
    } while (open > 0 && at < end);
  }
  const Token& next = tokens_.tokens[at];
  return next.sign("=") || next.sign("+=") || next.sign(":");
}

// To the next line that can start a definition, the end of the body, or an item whose own brace is missing.
void Parser::skip_to_definition() {
  while (here().kind != TokenKind::kEnd) {
    const Token& t = here();
    if (t.first_of_line && (t.keyword("for") || t.keyword("return") || starts_item())) return;
    if (t.first_of_line && t.kind == TokenKind::kLower) {
      // A line below an operator goes on with its expression, unless it can't.
      const Token& last = before();
      bool sign = last.kind == TokenKind::kSign && !last.sign(")") && !last.sign("]") && !last.sign("{") && !last.sign("}");
      bool word = last.keyword("if") || last.keyword("else") || last.keyword("and") || last.keyword("or") || last.keyword("not");
      bool goes_on = sign || word;
      if (!goes_on || starts_definition()) return;
    }
    if (t.sign("}") && (t.first_of_line || after().first_of_line || after().kind == TokenKind::kEnd)) return;
    take();
  }
}

expr::Module Parser::module() {
  expr::Module out;
  while (here().kind != TokenKind::kEnd) {
    size_t start = at_;
    depth_ = 0;
    statement_ = here().begin;
    size_t errors = errors_.size();
    bool whole = true;
    try {
      item(out);
    } catch (const GivenUp&) {
      whole = false;
      if (at_ == start) take();
      skip_to_item();
    }
    if (whole && errors_.size() == errors && !lexical_error(tokens_.tokens[start].begin, before().end)) continue;
    const Token& word = tokens_.tokens[start];
    const Token& name = tokens_.tokens[std::min(start + 1, tokens_.tokens.size() - 1)];
    if ((word.keyword("fn") || word.keyword("const")) && name.name()) out.damaged.emplace_back(name.text);
    if (whole && std::holds_alternative<expr::Kernel>(out.items.back())) std::get<expr::Kernel>(out.items.back()).faulty = true;
  }
  out.closing_comments = comments_left();
  return out;
}

void Parser::item(expr::Module& module) {
  expr::Comments comments = comments_above();
  auto finish = [&](auto item) {
    item.comments = std::move(comments);
    comments_on_line(item.comments);
    module.items.emplace_back(std::move(item));
  };
  if (here().keyword("import")) return finish(import_item());
  if (here().keyword("const")) return finish(constant_item());
  if (here().keyword("fn")) return finish(function_item());
  if (here().keyword("kernel")) return finish(kernel_item());
  give_up(diagnose(Code::E105, span(here()), {{"u", shown(here())}}));
}

expr::Import Parser::import_item() {
  const Token first = take();
  expr::Import out;
  Span where;
  out.name = lower("file", where);
  out.span = since(first);
  return out;
}

expr::Constant Parser::constant_item() {
  const Token first = take();
  expr::Constant out;
  out.name = upper("constant", out.name_span);
  expect_sign("=");
  out.value = expression();
  no_value_follows();
  out.span = since(first);
  return out;
}

expr::Function Parser::function_item() {
  const Token first = take();
  expr::Function out;
  out.name = lower("function", out.name_span);
  auto indices = [&](std::vector<Symbol>& names, std::vector<Span>* spans) {
    if (!accept_sign("[")) return;
    do {
      Span where;
      names.push_back(lower("index", where));
      if (spans) spans->push_back(where);
    } while (accept_sign(","));
    expect_sign("]");
  };
  indices(out.indices, &out.index_spans);
  expect_sign("(");
  do {
    expr::Function::Formal formal;
    formal.name = lower("parameter", formal.span);
    indices(formal.indices, nullptr);
    out.formals.push_back(std::move(formal));
  } while (accept_sign(","));
  expect_sign(")");
  if (accept_sign("=")) {
    out.value = expression();
    no_value_follows();
  } else if (accept_sign("{")) {
    out.braces = true;
    bool damaged = false;
    definitions(out.definitions, true, damaged);
    out.return_comments = comments_above();
    if (accept_keyword("return")) {
      out.value = expression();
      no_value_follows();
      comments_on_line(out.return_comments);
      out.closing_comments = comments_left();
    } else if (!damaged) {
      expected("'return'");
    }
    expect_sign("}");
  } else {
    expected("'=' or '{'");
  }
  out.span = since(first);
  return out;
}

expr::Kernel Parser::kernel_item() {
  const Token first = take();
  expr::Kernel out;
  out.name = lower("kernel", out.name_span);
  if (accept_sign("[")) out.given = given();
  expect_sign("(");
  if (!here().sign(")")) {
    do {
      out.parameters.push_back(parameter(false));
    } while (accept_sign(","));
  }
  expect_sign(")");
  if (accept_sign("->")) {
    bool several = accept_sign("(");
    do {
      out.results.push_back(parameter(true));
    } while (several && accept_sign(","));
    if (several) expect_sign(")");
  }
  out.span = since(first);
  expect_sign("{");
  definitions(out.definitions, false, out.damaged);
  out.closing_comments = comments_left();
  if (!accept_sign("}")) {
    // Reported here and not given up: the kernel itself is whole as far as it goes.
    errors_.push_back(diagnose(Code::E102, span(here()), {{"t", "'}'"}, {"u", shown(here())}}));
    out.damaged = true;
  }
  return out;
}

std::vector<expr::Given> Parser::given() {
  std::vector<expr::Given> out;
  do {
    expr::Given g;
    g.dynamic = accept_keyword("dyn");
    g.name = upper("dimension", g.span);
    if (!g.dynamic && accept_sign("=")) {
      const Token value = here();
      if (value.kind == TokenKind::kType && !after().sign("(")) {
        g.type = expr::ElementType{.scalar = *parse_type(take().text), .variable = {}};
      } else {
        g.value = expression();
      }
    }
    out.push_back(std::move(g));
  } while (accept_sign(","));
  expect_sign("]");
  return out;
}

expr::Parameter Parser::parameter(bool result) {
  expr::Parameter out;
  if (!result) out.inout = accept_keyword("inout");
  out.name = lower(result ? "result" : "parameter", out.span);
  expect_sign(":");
  out.shaped = shaped();
  if (accept_sign("=")) out.value = expression();
  return out;
}

expr::Shaped Parser::shaped() {
  const Token first = here();
  expr::Shaped out;
  out.type = element_type();
  if (here().sign("[")) out.shape = list("]");
  out.span = since(first);
  return out;
}

expr::ElementType Parser::element_type() {
  const Token t = here();
  expr::ElementType out;
  if (t.kind == TokenKind::kType) {
    out.scalar = *parse_type(t.text);
  } else if (t.kind == TokenKind::kUpper) {
    out.variable = Symbol(t.text);
  } else {
    if (t.kind != TokenKind::kLower) expected("a type");
    Diagnostic d = diagnose(Code::E106, span(t), {{"n", std::string(t.text)}});
    std::vector<std::string> names;
    for (const TypeRow& r : type_rows()) names.emplace_back(r.name);
    if (auto near = nearest(t.text, names)) {
      d.remedy = "did you mean " + *near + "? " + d.remedy;
    }
    give_up(std::move(d));
  }
  take();
  return out;
}

// --- definitions ---

void Parser::definitions(std::vector<expr::Definition>& into, bool function, bool& damaged) {
  while (here().kind != TokenKind::kEnd && !here().sign("}")) {
    if (function && here().keyword("return")) return;
    if (starts_item() && here().first_of_line) return;  // the closing brace is missing
    size_t start = at_;
    int depth = depth_;
    size_t before = into.size();
    statement_ = here().begin;
    expr::Comments comments = comments_above();
    try {
      into.push_back({});  // filled as far as it goes: a damaged definition still tells its name
      expr::Definition d = definition();
      into[before] = std::move(d);
      into[before].comments = std::move(comments);
      comments_on_line(into[before].comments);
    } catch (const GivenUp&) {
      depth_ = depth;
      // What the definition would have defined is known if it starts with a name.
      const Token& t = tokens_.tokens[start];
      if (t.kind == TokenKind::kLower) {
        into[before].name = Symbol(t.text);
        into[before].name_span = span(t);
      } else {
        into.pop_back();
        damaged = true;
      }
      if (at_ == start) take();
      skip_to_definition();
    }
  }
}

expr::Definition Parser::definition() {
  const Token first = here();
  expr::Definition out;
  if (accept_keyword("for")) {
    expect_sign("[");
    do {
      out.loops.push_back(binder());
    } while (accept_sign(","));
    if (accept_keyword("if")) out.filter = binary(1);
    expect_sign("]");
  }
  out.name = lower("tensor", out.name_span);
  if (here().sign("[")) {
    for (const NodePtr& node : list("]")) {
      expr::Definition::Left left;
      left.binder = as_binder(node);
      if (!left.binder) left.value = node;
      out.left.push_back(std::move(left));
    }
  }
  if (accept_sign(":")) {
    out.type_span = span(here());
    out.type = element_type();
  }
  if (accept_sign("+=")) {
    out.add = true;
  } else if (!accept_sign("=")) {
    Diagnostic d = diagnose(Code::E108, span(here()), {{"u", shown(here())}});
    if (here().op && after().sign("=")) d.remedy = "of the operators only `+` can change what is there: `+=`";
    give_up(std::move(d));
  }
  out.value = expression();
  out.span = since(first);
  const Token& next = here();
  if (!next.first_of_line) {
    if (starts_definition()) {  // whole, but for its line: nothing is lost
      errors_.push_back(diagnose(Code::E107, span(next), {{"n", std::string(next.text)}}));
      return out;
    }
    no_value_follows();
    if (!next.sign("}") && next.kind != TokenKind::kEnd) expected("an operator or a new line");
  } else if (!next.sign("}") && next.kind != TokenKind::kLower && !next.keyword("for") && !next.keyword("return") &&
             !starts_item() && next.kind != TokenKind::kEnd) {
    expected("a definition or '}'");
  }
  return out;
}

// --- comments ---

// Those before the token at hand, in blocks; a block that ends on the line above is attached.
expr::Comments Parser::comments_above() {
  expr::Comments out;
  uint32_t last = 0;
  while (next_comment_ < tokens_.comments.size() && tokens_.comments[next_comment_].next_token <= at_) {
    const Comment& c = tokens_.comments[next_comment_++];
    if (out.blocks.empty() || c.line != last + 1) out.blocks.emplace_back();
    out.blocks.back().push_back(c.text);
    last = c.line;
  }
  out.attached = !out.blocks.empty() && here().line == last + 1;
  return out;
}

// Those within the item just read (they move above it) and the one behind it on its last line.
void Parser::comments_on_line(expr::Comments& into) {
  uint32_t line = before().line;
  while (next_comment_ < tokens_.comments.size()) {
    const Comment& c = tokens_.comments[next_comment_];
    if (c.next_token < at_) {
      if (!into.attached) into.blocks.emplace_back();
      into.attached = true;
      into.blocks.back().push_back(c.text);
    } else if (c.next_token == at_ && c.line == line && !c.alone) {
      into.trailing.push_back(c.text);
    } else {
      break;
    }
    ++next_comment_;
  }
}

std::vector<std::vector<std::string>> Parser::comments_left() { return comments_above().blocks; }

// --- entry ---

Parsed parse(SourcePtr source) {
  Parsed out;
  out.module.source = source;
  if (auto bad = not_utf8(*source)) {
    out.errors.push_back(std::move(*bad));
    return out;
  }
  Tokens tokens = tokenize(*source, out.errors);
  out.module = Parser(*source, std::move(tokens), out.errors).module();
  out.module.source = std::move(source);
  std::ranges::stable_sort(out.errors, {}, [](const Diagnostic& d) { return d.span.begin; });
  return out;
}

Result<expr::Module> parse_module(SourcePtr source) {
  Parsed parsed = parse(std::move(source));
  if (!parsed.errors.empty()) return fail(std::move(parsed.errors));
  return std::move(parsed.module);
}

Result<NodePtr> parse_expression(SourcePtr source) {
  Diagnostics errors;
  if (auto bad = not_utf8(*source)) return fail(std::move(*bad));
  Tokens tokens = tokenize(*source, errors);
  NodePtr node = Parser(*source, std::move(tokens), errors).whole_expression();
  if (!errors.empty()) return fail(std::move(errors));
  return node;
}

}  // namespace quern::lang
