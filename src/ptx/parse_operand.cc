// Operands: registers, constants, addresses in brackets, vectors in braces, names of variables and functions.
// (PTX ISA 9.0, section 6)
#include <algorithm>

#include "base/text.h"
#include "ptx/parser.h"

namespace quern::ptx {
namespace {

// x, y, z, w or r, g, b, a: a component of a vector register; kNone: none.
int component_of(std::string_view word) {
  if (word.size() != 1) return kNone;
  size_t at = std::string_view("xyzwrgba").find(word[0]);
  return at == std::string_view::npos ? kNone : static_cast<int>(at % 4);
}

// Bytes, halves and their orders, as video arithmetic picks them: b0, h1, h10, b3210.
bool is_selector(std::string_view word) {
  bool start = word.size() >= 2 && word.size() <= 5 && (word[0] == 'b' || word[0] == 'h');
  return start && std::ranges::all_of(word.substr(1), [](char c) { return c >= '0' && c <= '7'; });
}

}  // namespace

int32_t Parser::use_register(const Token& at, Named& named, int component) {
  int32_t& index = named.index[component];
  if (index == kNone) {
    index = static_cast<int32_t>(function_->registers.size());
    std::string_view wanted = at.text;
    if (named.vector > 1) wanted = kept_names_.emplace_back(std::string(at.text) + "_" + "xyzw"[component]);
    function_->registers.push_back({scope_.unique(wanted), named.type});
  }
  return index;
}

bool Parser::register_operand(Operand& out, const Token& at, Named& named) {
  out.kind = OperandKind::kRegister;
  Token word = here_;
  bool has_word = here_.kind == TokenKind::kWord && adjacent();
  if (named.vector == 1) {
    out.reg = use_register(at, named, 0);
    if (!has_word) return true;
    if (!is_selector(word.text)) return expected("',' or ';'");
    take();
    std::ranges::copy(word.text, out.selector.begin());
    return true;
  }
  if (!has_word) {
    out.kind = OperandKind::kVector;
    for (int i = 0; i < named.vector; ++i) {
      Operand& part = out.parts.emplace_back();
      part.kind = OperandKind::kRegister;
      part.reg = use_register(at, named, i);
    }
    return true;
  }
  int component = component_of(word.text);
  if (component == kNone || component >= named.vector) return expected("a component, .x to .w");
  take();
  out.reg = use_register(at, named, component);
  return true;
}

bool Parser::special_operand(Operand& out, const Token& at) {
  out.kind = OperandKind::kSpecial;
  bool has_word = here_.kind == TokenKind::kWord && adjacent();
  if (has_word && component_of(here_.text) != kNone) {
    auto special = find_special(source_.text().substr(at.begin, here_.end - at.begin));
    if (special) {
      take();
      out.special = *special;
      return true;
    }
  } else if (auto special = find_special(at.text)) {
    out.special = *special;
    return true;
  } else if (find_special(std::string(at.text) + ".x")) {  // all four: mov.v4.u32
    out.kind = OperandKind::kVector;
    for (const char* component : {".x", ".y", ".z", ".w"}) {
      Operand& part = out.parts.emplace_back();
      part.kind = OperandKind::kSpecial;
      part.special = *find_special(std::string(at.text) + component);
    }
    return true;
  }
  return fail(diagnose(Code::E906, span(at), {{"n", printable(at.text)}, {"remedy", ""}}));
}

// What follows a base: any number of `+ constant` and `- constant`.
bool Parser::offset(int64_t& value) {
  while (here_.is('+') || here_.is('-')) {
    bool minus = take().is('-');
    uint32_t begin = here_.begin;
    Constant c;
    if (!unary(c, 0)) return false;
    if (c.real) return fail(diagnose(Code::E903, since(begin), {{"n", "a float"}, {"why", "is no offset"}}));
    uint64_t sum = static_cast<uint64_t>(value);
    value = static_cast<int64_t>(minus ? sum - c.bits : sum + c.bits);
  }
  return true;
}

bool Parser::named_operand(Operand& out) {
  Token at = take();
  if (at.text == "_") return true;  // a sink
  if (Named* named = scope_.find(at.text)) {
    switch (named->kind) {
      case Named::Kind::kRegister: return register_operand(out, at, *named);
      case Named::Kind::kPrototype:
      case Named::Kind::kTargets:
        out.kind = named->kind == Named::Kind::kTargets ? OperandKind::kTargets : OperandKind::kPrototype;
        out.value = named->index[0];
        if (out.kind == OperandKind::kTargets) targets_[out.value].used = true;
        return true;
      case Named::Kind::kVariable: out.symbol = {SymbolKind::kLocal, named->index[0]}; break;
      case Named::Kind::kParameter: out.symbol = {SymbolKind::kParameter, named->index[0]}; break;
      case Named::Kind::kReturn: out.symbol = {SymbolKind::kReturn, named->index[0]}; break;
    }
  } else if (at.text.starts_with('%')) {
    return special_operand(out, at);
  } else {
    out.symbol = module_symbol(at);
  }
  out.kind = OperandKind::kSymbol;
  if (here_.is('[')) {  // x[4] is what [x+4] is
    take();
    out.kind = OperandKind::kAddress;
    return int_constant(out.value) && expect(']');
  }
  return offset(out.value);
}

bool Parser::address(Operand& out, int depth) {
  take();
  if (here_.kind == TokenKind::kName && here_.text != "WARP_SZ") {
    uint32_t begin = here_.begin;
    if (!named_operand(out)) return false;
    bool base = out.kind == OperandKind::kRegister || out.kind == OperandKind::kSymbol;
    if (!base || out.selector[0]) {
      return fail(diagnose(Code::E910, since(begin),
                           {{"x", printable(since(begin).text())}, {"why", "is no address"}, {"remedy", ""}}));
    }
  } else if (!int_constant(out.value)) {
    return false;
  }
  out.kind = OperandKind::kAddress;
  if (!offset(out.value)) return false;
  while (accept(',')) {
    if (!operand(out.parts.emplace_back(), depth + 1)) return false;
  }
  return expect(']');
}

bool Parser::vector(Operand& out, int depth) {
  take();
  out.kind = OperandKind::kVector;
  do {
    if (!operand(out.parts.emplace_back(), depth + 1)) return false;
  } while (accept(','));
  return expect('}');
}

bool Parser::operand(Operand& out, int depth) {
  constexpr int kDeepestOperand = 4;
  if (depth > kDeepestOperand) {
    return too_much(span(here_), "brackets in each other", std::to_string(depth), kDeepestOperand);
  }
  if (here_.is('{')) return vector(out, depth);
  if (here_.is('[')) return address(out, depth);
  if (here_.is('!') && after_.kind == TokenKind::kName) {
    take();
    out.negated = true;
    return predicate(out.reg) && (out.kind = OperandKind::kRegister, true);
  }
  if (here_.is('-') && after_.kind == TokenKind::kName && after_.text != "WARP_SZ") {
    uint32_t begin = take().begin;
    if (!named_operand(out)) return false;
    out.negated = true;
    if (out.kind == OperandKind::kRegister) return true;
    return fail(diagnose(Code::E910, since(begin),
                         {{"x", printable(since(begin).text(), 60)}, {"why", "can't be negated"}, {"remedy", ""}}));
  }
  if (starts_constant()) {
    Constant c;
    if (!constant(c)) return false;
    out.kind = c.real ? OperandKind::kReal : OperandKind::kInteger;
    out.single = c.single;
    out.value = static_cast<int64_t>(c.bits);
    return true;
  }
  if (here_.kind == TokenKind::kName) return named_operand(out);
  return expected("an operand");
}

bool Parser::predicate(int32_t& reg) {
  Token at;
  if (!name("a predicate", at)) return false;
  Named* named = scope_.find(at.text);
  if (!named || named->kind != Named::Kind::kRegister) {
    return fail(diagnose(Code::E906, span(at), {{"n", "the predicate " + printable(at.text)}, {"remedy", ""}}));
  }
  if (named->type != Type::k_pred || named->vector != 1) {
    return fail(diagnose(Code::E910, span(at),
                         {{"x", printable(at.text)},
                          {"why", "is ." + std::string(row(named->type).name) + ", not .pred"},
                          {"remedy", ""}}));
  }
  reg = use_register(at, *named, 0);
  return true;
}

}  // namespace quern::ptx
