// Variables, parameters and registers: their types, sizes and initial values. (PTX ISA 9.0, sections 5.4 and 11.6)
#include <algorithm>
#include <bit>

#include "base/text.h"
#include "ptx/parser.h"

namespace quern::ptx {
namespace {

constexpr int64_t kMostAlign = 1 << 20;

// The bits of `c` as an element of `type`; nothing where it is no number of that kind.
std::optional<uint64_t> element_bits(const Constant& c, Type type) {
  const TypeRow& r = row(type);
  if (r.kind != TypeKind::kFloat) return c.real ? std::nullopt : std::optional(c.bits);
  if (r.bits == 64) return std::bit_cast<uint64_t>(c.as_double());
  if (r.bits == 32) {
    if (c.single) return c.bits;
    return std::bit_cast<uint32_t>(static_cast<float>(c.as_double()));
  }
  return c.real ? std::nullopt : std::optional(c.bits);  // halves are written by their bits
}

void put(std::vector<uint8_t>& out, int64_t at, uint64_t bits, int bytes) {
  if (static_cast<int64_t>(out.size()) < at + bytes) out.resize(static_cast<size_t>(at + bytes));
  for (int i = 0; i < bytes; ++i) out[at + i] = i < 8 ? static_cast<uint8_t>(bits >> (8 * i)) : 0;
}

}  // namespace

bool Parser::attribute(bool& managed, bool& unified) {
  if (!expect('(')) return false;
  do {
    if (accept_word("managed")) {
      managed = true;
    } else if (accept_word("unified")) {
      unified = true;
      int64_t ignored = 0;
      if (!accept('(')) continue;
      do {
        if (!int_constant(ignored)) return false;
      } while (accept(','));
      if (!expect(')')) return false;
    } else {
      return expected("'.managed' or '.unified'");
    }
  } while (accept(','));
  return expect(')');
}

bool Parser::attributes(Variable& out, bool parameter) {
  bool typed = false, pointer = false;
  while (here_.kind == TokenKind::kWord) {
    Token word = take();
    auto space = find_modifier(word.text);
    if (word.text == "align") {
      Token at = here_;
      int64_t align = 0;
      if (!integer("an alignment", 1, kMostAlign, align)) return false;
      if (!std::has_single_bit(static_cast<uint64_t>(align))) {
        return fail(diagnose(Code::E903, span(at), {{"n", std::to_string(align)}, {"why", "is no power of two"}}));
      }
      (pointer ? out.pointer_align : out.align) = align;
    } else if (word.text == "ptr" && parameter) {
      pointer = true;
      out.pointer_space = "generic";
    } else if (pointer && space && space_of(*space)) {
      out.pointer_space = std::string(row(*space).text);
    } else if (word.text == "attribute") {
      if (!attribute(out.managed, out.unified)) return false;
    } else if (word.text == "v2" || word.text == "v4" || word.text == "v8") {
      out.vector = word.text[1] - '0';
    } else if (auto type = find_type(word.text); type && !typed) {
      out.type = *type;
      typed = true;
    } else {
      return fail(
          diagnose(Code::E911, span(word), {{"directive", shown(word)}, {"why", "can't stand in a declaration"}}));
    }
  }
  if (!typed) return expected("a type");
  int bits = row(out.type).size();
  bool storable = bits >= 8 && std::has_single_bit(static_cast<unsigned>(bits)) && out.type != Type::k_pred;
  if (!storable && out.space != Space::kReg) return expected("a type of 8 bits or more");
  int64_t natural = row(out.type).register_bits() / 8 * out.vector;
  out.align = std::max({out.align, int64_t{1}, natural});
  return true;
}

bool Parser::dimensions(Variable& out) {
  while (here_.is('[')) {
    Token open = take();
    int64_t size = 0;
    if (!here_.is(']')) {
      uint32_t begin = here_.begin;
      if (!int_constant(size)) return false;
      if (size < 0) return too_much(since(begin), "elements of an array", std::to_string(size), kMostBytes);
    }
    if (!expect(']')) return false;
    if (out.dims.size() == kMostDimensions) {
      return too_much(span(open), "dimensions of an array", std::to_string(out.dims.size() + 1), kMostDimensions);
    }
    out.dims.push_back(size);
  }
  return true;
}

bool Parser::check_size(const Variable& v, Span at) {
  int64_t bytes = row(v.type).register_bits() / 8 * v.vector;
  for (int64_t d : v.dims) {
    if (__builtin_mul_overflow(bytes, d, &bytes) || bytes > kMostBytes) {
      return too_much(at, "bytes of " + printable(v.name, 60), "more", kMostBytes);
    }
  }
  return true;
}

// A symbol, with or without generic(), and what is added to it.
bool Parser::symbol_value(Relocation& out) {
  Token at;
  if (!name("a name", at)) return false;
  out.generic = at.text == "generic" && here_.is('(');
  if (out.generic) {
    take();
    if (!name("a name", at)) return false;
  }
  out.symbol = module_symbol(at);
  if (out.generic && !(offset(out.addend) && expect(')'))) return false;
  return offset(out.addend);
}

// mask(symbol): 0xFF00(x) is the second byte of the address of x.
bool Parser::masked(Variable& out, int64_t offset, uint64_t mask) {
  Relocation r{.offset = offset};
  Span at = span(here_);
  take();
  if (!symbol_value(r) || !expect(')')) return false;
  r.shift = std::countr_zero(mask) / 8 * 8;
  uint64_t low = mask >> r.shift;
  r.bytes = std::popcount(low) / 8;
  bool whole = mask != 0 && (r.bytes == 8 || low == (uint64_t{1} << (8 * r.bytes)) - 1) && r.bytes > 0;
  if (!whole || r.bytes > row(out.type).register_bits() / 8) {
    return fail(diagnose(Code::E903, at, {{"n", "this mask"}, {"why", "does not pick whole bytes of the element"}}));
  }
  put(out.initial, offset, 0, row(out.type).register_bits() / 8);
  out.relocations.push_back(std::move(r));
  return true;
}

bool Parser::initial_element(Variable& out, int64_t offset) {
  int bytes = row(out.type).register_bits() / 8;
  if (offset + bytes > kMostInitialBytes) {
    return too_much(span(here_), "bytes of an initial value", std::to_string(offset + bytes), kMostInitialBytes);
  }
  if (!starts_constant()) {
    Relocation r{.offset = offset, .bytes = bytes};
    Span at = span(here_);
    if (!symbol_value(r)) return false;
    if (bytes < 4 || row(out.type).kind == TypeKind::kFloat) {
      return fail(diagnose(Code::E910, at,
                           {{"x", printable(at.text(), 60)},
                            {"why", "is an address, which ." + std::string(row(out.type).name) + " does not hold"},
                            {"remedy", ""}}));
    }
    put(out.initial, offset, 0, bytes);
    out.relocations.push_back(std::move(r));
    return true;
  }
  uint32_t begin = here_.begin;
  Constant c;
  if (!constant(c)) return false;
  if (here_.is('(') && !c.real) return masked(out, offset, c.bits);
  auto bits = element_bits(c, out.type);
  if (!bits) {
    return fail(diagnose(
        Code::E903, since(begin),
        {{"n", printable(since(begin).text(), 60)}, {"why", "is no value of ." + std::string(row(out.type).name)}}));
  }
  put(out.initial, offset, *bits, bytes);
  return true;
}

// Braces in each other follow the dimensions; what is left out is zero.
bool Parser::initial_list(Variable& out) {
  int64_t element = row(out.type).register_bits() / 8;
  std::vector<int64_t> sizes = out.dims;  // of elements: what a brace of each depth holds
  if (out.vector > 1) sizes.push_back(out.vector);
  if (sizes.empty()) sizes.push_back(1);
  for (size_t i = sizes.size() - 1; i-- > 0;) sizes[i] = sizes[i] * sizes[i + 1];  // a first 0 stays 0: not told
  bool open_ended = !out.dims.empty() && out.dims[0] == 0;
  size_t depth = 0;
  std::vector<int64_t> ends;
  int64_t at = 0, most = 0;
  do {
    while (here_.is('{')) {
      if (depth == sizes.size())
        return too_much(span(here_), "braces in each other", std::to_string(depth + 1),
                        static_cast<int64_t>(sizes.size()));
      take();
      ends.push_back(at + sizes[depth++]);
    }
    if (!here_.is('}')) {
      bool full = at >= ends.back() && !(open_ended && depth == 1);
      if (depth > 1 || !open_ended) {
        if (full) return too_much(span(here_), "elements of this list", std::to_string(at + 1), ends.back());
      }
      if (!initial_element(out, at * element)) return false;
      most = std::max(most, ++at);
    }
    while (depth > 0 && here_.is('}')) {
      take();
      --depth;
      if (depth > 0 || !open_ended) at = ends.back();
      if (depth > 0) most = std::max(most, at);
      ends.pop_back();
    }
  } while (depth > 0 && accept(','));
  if (depth > 0) return expected("',' or '}'");
  if (open_ended) {
    int64_t inner = sizes.size() > 1 ? std::max<int64_t>(sizes[1], 1) : 1;
    out.dims[0] = (most + inner - 1) / inner;
  }
  return true;
}

// { addr_mode_0 = wrap, filter_mode = nearest }
bool Parser::opaque_properties(Variable& out) {
  if (!expect('{')) return false;
  while (!here_.is('}')) {
    Token key;
    if (!name("a property", key) || !expect('=')) return false;
    std::string value(here_.text);
    if (here_.kind == TokenKind::kName) {
      take();
    } else {
      int64_t number = 0;
      if (!int_constant(number)) return false;
      value = std::to_string(number);
    }
    out.properties.emplace_back(std::string(key.text), std::move(value));
    if (!accept(',') && !here_.is('}')) return expected("',' or '}'");
  }
  return expect('}');
}

bool Parser::initial(Variable& out) {
  if (row(out.type).kind == TypeKind::kOpaque) return opaque_properties(out);
  if (here_.is('{')) return initial_list(out);
  return initial_element(out, 0);
}

bool Parser::module_variable(Space space, Linkage linkage, int32_t at_line) {
  Variable base;
  base.space = space;
  base.linkage = linkage;
  base.line = at_line;
  if (!attributes(base, false)) return false;
  do {
    Variable v = base;
    Token at;
    if (!name("a name", at)) return false;
    v.name = std::string(at.text);
    if (!dimensions(v)) return false;
    if (accept('=') && !initial(v)) return false;
    if (!check_size(v, span(at))) return false;
    auto [entry, fresh] =
        names_.try_emplace(at.text, Symbol{SymbolKind::kVariable, static_cast<int32_t>(module_.variables.size())});
    if (fresh) {
      module_.variables.push_back(std::move(v));
      continue;
    }
    Variable* old = entry->second.kind == SymbolKind::kVariable ? &module_.variables[entry->second.index] : nullptr;
    bool declares = linkage == Linkage::kExtern || (old && old->linkage == Linkage::kExtern);
    if (!old || !declares || old->space != v.space || old->type != v.type) {
      return fail(diagnose(Code::E907, span(at), {{"n", printable(at.text)}}));
    }
    if (linkage != Linkage::kExtern) *old = std::move(v);
  } while (accept(','));
  return expect(';');
}

bool Parser::local_variable(Space space) {
  Variable base;
  base.space = space;
  base.line = line(here_);
  if (!attributes(base, false)) return false;
  do {
    Variable v = base;
    Token at;
    if (!name("a name", at)) return false;
    if (!dimensions(v)) return false;
    if (accept('=') && !initial(v)) return false;
    v.name = printable(at.text, 60);
    if (!check_size(v, span(at))) return false;
    // .param .b32 p<3>: p0, p1, p2
    int64_t count = 0;
    if (accept('<') && !(integer("a number of variables", 1, 1 << 16, count) && expect('>'))) return false;
    for (int64_t i = 0; i < std::max<int64_t>(count, 1); ++i) {
      Named named{.kind = Named::Kind::kVariable};
      named.index[0] = static_cast<int32_t>(function_->variables.size());
      std::string_view text = at.text;
      if (count > 0) text = kept_names_.emplace_back(std::string(at.text) + std::to_string(i));
      if (!scope_.declare(text, named)) {
        return fail(diagnose(Code::E907, span(at), {{"n", printable(text)}}));
      }
      v.name = scope_.unique(text);
      function_->variables.push_back(v);
    }
  } while (accept(','));
  return expect(';');
}

// .reg .v4 .f32 %v, %r<100>;
bool Parser::registers() {
  Variable v;
  v.space = Space::kReg;
  Token start = here_;
  if (!attributes(v, false)) return false;
  if (row(v.type).kind == TypeKind::kOpaque || v.vector > 4) {
    return fail(diagnose(Code::E911, since(start.begin), {{"directive", "'.reg'"}, {"why", "has no such type"}}));
  }
  Named named{.kind = Named::Kind::kRegister, .type = v.type, .vector = v.vector};
  do {
    Token at;
    if (!name("the name of a register", at)) return false;
    bool good = true;
    if (accept('<')) {
      int64_t count = 0;
      if (!integer("a number of registers", 0, UINT32_MAX, count) || !expect('>')) return false;
      good = scope_.declare_range(at.text, count, named);
    } else {
      good = scope_.declare(at.text, named);
    }
    if (!good) return fail(diagnose(Code::E907, span(at), {{"n", printable(at.text)}}));
  } while (accept(','));
  return expect(';');
}

}  // namespace quern::ptx
