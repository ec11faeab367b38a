#include "ptx/parse.h"

#include <algorithm>

#include "base/text.h"
#include "ptx/parser.h"
#include "ptx/verify.h"

namespace quern::ptx {
namespace {

constexpr size_t kMostErrors = 20;
constexpr size_t kMostText = size_t{1} << 30;

// Where a message about a module as a whole points: to its beginning.
constexpr uint32_t kBeginning = 0;

}  // namespace

Parser::Parser(const Source& source, std::string name) : source_(source), lexer_(source, errors_) {
  module_.name = std::move(name);
  here_ = lexer_.next();
  after_ = lexer_.next();
}

Token Parser::take() {
  Token out = here_;
  last_end_ = here_.end;
  here_ = after_;
  after_ = errors_.size() < kMostErrors ? lexer_.next() : Token{TokenKind::kEnd, 0, here_.end, here_.end, {}};
  return out;
}

bool Parser::accept(char sign) {
  if (!here_.is(sign)) return false;
  take();
  return true;
}

bool Parser::accept_word(std::string_view word) {
  if (!here_.word(word)) return false;
  take();
  return true;
}

bool Parser::expect(char sign) { return accept(sign) || expected("'" + std::string(1, sign) + "'"); }

std::string Parser::shown(const Token& t) {
  switch (t.kind) {
    case TokenKind::kEnd: return "the end of the file";
    case TokenKind::kWord: return "'." + printable(t.text, 60) + "'";
    case TokenKind::kString: return "\"" + printable(t.text, 60) + "\"";
    default: return "'" + printable(t.text, 60) + "'";
  }
}

bool Parser::fail(Diagnostic diagnostic) {
  if (errors_.size() < kMostErrors) errors_.push_back(std::move(diagnostic));
  return false;
}

bool Parser::expected(std::string_view what, std::string_view remedy) {
  return fail(diagnose(Code::E901, span(here_),
                       {{"expected", std::string(what)}, {"found", shown(here_)}, {"remedy", std::string(remedy)}}));
}

bool Parser::too_much(Span at, std::string_view what, const std::string& value, int64_t limit) {
  return fail(diagnose(Code::E908, at, {{"what", std::string(what)}, {"v", value}, {"limit", std::to_string(limit)}}));
}

bool Parser::name(std::string_view what, Token& out) {
  if (here_.kind != TokenKind::kName) return expected(what);
  out = take();
  return true;
}

bool Parser::integer(std::string_view what, int64_t low, int64_t high, int64_t& out) {
  if (here_.kind != TokenKind::kNumber) return expected(what);
  Token at = take();
  Constant c;
  if (!number(at, c)) return false;
  out = static_cast<int64_t>(c.bits);
  if (!c.real && out >= low && out <= high) return true;
  return too_much(span(at), what, printable(at.text, 40), high);
}

bool Parser::string(std::string& out) {
  if (here_.kind != TokenKind::kString) return expected("a string");
  out = std::string(take().text);
  return true;
}

bool Parser::skip_block() {
  int64_t depth = 0;
  do {
    if (here_.kind == TokenKind::kEnd) return expected("'}'");
    if (here_.is('{')) ++depth;
    if (here_.is('}')) --depth;
    take();
  } while (depth > 0);
  return true;
}

void Parser::skip_statement() {
  while (here_.kind != TokenKind::kEnd && !here_.is('{') && !here_.is('}')) {
    if (take().is(';')) return;
  }
}

int32_t Parser::line(const Token& t) {
  std::string_view text = source_.text();
  if (t.begin > line_at_) {
    line_ += static_cast<int32_t>(std::count(text.begin() + line_at_, text.begin() + t.begin, '\n'));
    line_at_ = t.begin;
  }
  return line_;
}

bool Parser::version() {
  // "9.0" is one number of the text.
  Token at = here_;
  if (here_.kind != TokenKind::kNumber) return expected("a version, as 9.0");
  take();
  size_t dot = at.text.find('.');
  auto digits = [](std::string_view t) {
    return !t.empty() && t.size() <= 2 && t.find_first_not_of("0123456789") == t.npos;
  };
  if (dot == at.text.npos || !digits(at.text.substr(0, dot)) || !digits(at.text.substr(dot + 1))) {
    return fail(diagnose(Code::E903, span(at), {{"n", printable(at.text, 40)}, {"why", "is no version, as 9.0"}}));
  }
  module_.version = std::stoi(std::string(at.text)) * 10 + std::stoi(std::string(at.text.substr(dot + 1)));
  return true;
}

bool Parser::target() {
  do {
    Token option;
    if (!name("a target, as sm_80", option)) return false;
    if (option.text.starts_with("sm_") || option.text.starts_with("compute_")) {
      module_.target = std::string(option.text);
    } else {
      module_.target_options.emplace_back(option.text);
    }
  } while (accept(','));
  return !module_.target.empty() || expected("a target, as sm_80");
}

// What every module begins with; without it the rest is no PTX.
bool Parser::header() {
  if (!accept_word("version")) return expected("'.version'", "a PTX module begins with .version and .target");
  if (!version()) return false;
  while (accept(';')) {
  }
  if (!accept_word("target")) return expected("'.target'", "a PTX module begins with .version and .target");
  return target();
}

bool Parser::pragma(std::vector<std::string>& into) {
  do {
    if (!string(into.emplace_back())) return false;
  } while (accept(','));
  return expect(';');
}

bool Parser::alias() {
  Token alias, aliased;
  if (!name("the name of a function", alias) || !expect(',') || !name("the name of a function", aliased)) return false;
  for (const Token& t : {alias, aliased}) {
    auto found = names_.find(t.text);
    if (found == names_.end() || found->second.kind != SymbolKind::kFunction) {
      return fail(diagnose(Code::E906, span(t),
                           {{"n", "the function " + printable(t.text)}, {"remedy", "declare it before its .alias"}}));
    }
  }
  module_.functions[names_[alias.text].index].alias_of = std::string(aliased.text);
  return expect(';');
}

Symbol Parser::module_symbol(const Token& at) {
  auto found = names_.find(at.text);
  if (function_) of_module_.push_back(at.text);
  if (found != names_.end()) return found->second;
  auto [entry, fresh] = deferred_names_.emplace(at.text, static_cast<int32_t>(deferred_.size()));
  if (fresh) deferred_.push_back({at.text, span(at)});
  return {SymbolKind::kFunction, -2 - entry->second};
}

namespace {

void patch(Symbol& symbol, const std::vector<Symbol>& resolved) {
  if (symbol.index <= -2) symbol = resolved[-2 - symbol.index];
}

void patch(std::vector<Operand>& operands, const std::vector<Symbol>& resolved) {
  for (Operand& o : operands) {
    patch(o.symbol, resolved);
    patch(o.parts, resolved);  // as deep as the parser let it be
  }
}

}  // namespace

void Parser::resolve_deferred() {
  if (deferred_.empty()) return;
  std::vector<Symbol> resolved;
  for (const Deferred& d : deferred_) {
    auto found = names_.find(d.name);
    resolved.push_back(found == names_.end() ? Symbol{} : found->second);
    if (found != names_.end()) continue;
    fail(diagnose(Code::E906, d.span, {{"n", printable(d.name)}, {"remedy", ""}}));
  }
  auto relocations = [&](std::vector<Variable>& variables) {
    for (Variable& v : variables) {
      for (Relocation& r : v.relocations) patch(r.symbol, resolved);
    }
  };
  relocations(module_.variables);
  for (Function& f : module_.functions) {
    relocations(f.variables);
    for (Instruction& i : f.instructions) patch(i.operands, resolved);
    for (std::vector<int32_t>& list : f.target_lists) {
      for (int32_t& index : list) {
        Symbol symbol{SymbolKind::kFunction, index};
        patch(symbol, resolved);
        index = symbol.index;
      }
    }
  }
  if (errors_.empty()) check_calls();
}

// Calls of what was declared further on could not be checked where they stood.
void Parser::check_calls() {
  for (const Function& f : module_.functions) {
    for (const Instruction& i : f.instructions) {
      if (row(i.op).operands != "c") continue;
      auto fault = check(module_, f, i);
      if (!fault) continue;
      std::string_view text = source_.line(i.line);
      auto begin = static_cast<uint32_t>(text.data() - source_.text().data());
      fail(diagnose(i, *fault, {&source_, begin, begin + static_cast<uint32_t>(text.size())}, describe(f, i)));
    }
  }
}

void Parser::item() {
  uint32_t begin = here_.begin;
  int32_t at_line = line(here_);
  Linkage linkage = Linkage::kInternal;
  for (bool more = true; more;) {
    if (accept_word("visible")) {
      linkage = Linkage::kVisible;
    } else if (accept_word("extern")) {
      linkage = Linkage::kExtern;
    } else if (accept_word("weak")) {
      linkage = Linkage::kWeak;
    } else if (accept_word("common")) {
      linkage = Linkage::kCommon;
    } else {
      more = false;
    }
  }
  if (here_.kind != TokenKind::kWord) {
    if (accept(';')) return;
    expected("a directive");
    if (here_.is('{') || here_.is('}')) {
      here_.is('{') ? (void)skip_block() : (void)take();
    } else {
      skip_statement();
    }
    return;
  }
  Token word = take();
  bool good = false;
  auto is = [&](std::string_view text) { return word.text == text; };
  if (is("entry") || is("func")) {
    good = function(is("entry"), linkage, at_line);
  } else if (is("global") || is("const") || is("shared") || is("tex") || is("local")) {
    auto space = *find_modifier(is("tex") ? "global" : word.text);
    good = module_variable(is("tex") ? Space::kTex : *space_of(space), linkage, at_line);
  } else if (is("file")) {
    good = file();
  } else if (is("section")) {
    good = section();
  } else if (is("loc")) {
    good = loc();
  } else if (is("pragma")) {
    good = pragma(module_.pragmas);
  } else if (is("alias")) {
    good = alias();
  } else if (is("address_size")) {
    int64_t bits = 0;
    good = integer("the size of an address", 32, 64, bits);
    module_.address_bits = static_cast<int32_t>(bits);
  } else if (is("version")) {
    good = version();
  } else if (is("target")) {
    good = target();
  } else {
    fail(diagnose(Code::E911, {&source_, begin, word.end}, {{"directive", shown(word)}, {"why", "can't stand here"}}));
  }
  if (good) return;
  skip_statement();
  if (here_.is('{')) skip_block();
  if (here_.is('}')) take();
}

Result<Module> Parser::run() {
  if (header()) {
    while (here_.kind != TokenKind::kEnd) item();
    if (errors_.empty()) resolve_deferred();
    name_inlined();
  }
  if (!errors_.empty()) return std::unexpected(std::move(errors_));
  return std::move(module_);
}

Result<Module> parse(std::string_view text, std::string name) {
  while (text.ends_with('\0')) text.remove_suffix(1);
  bool long_text = text.size() > kMostText;
  SourcePtr source = Source::make(name, std::string(long_text ? std::string_view() : text));
  if (long_text) {
    return fail(diagnose(
        Code::E908, {source.get(), kBeginning, kBeginning},
        {{"what", "the bytes of the text"}, {"v", std::to_string(text.size())}, {"limit", std::to_string(kMostText)}}));
  }
  return Parser(*source, std::move(name)).run();
}

}  // namespace quern::ptx
