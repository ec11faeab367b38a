// Integer arithmetic, logic, shifts and comparisons (PTX ISA 9.7.1, 9.7.6 to 9.7.8). Bits are as the manual defines
// them: shifts clamp, division by zero gives all ones, fields that reach past the end are cut.
#include "vgpu/emit.h"

namespace quern::vgpu {

using ptx::Modifier;
using ptx::ModifierGroup;
using ptx::Op;
using ptx::Type;
using ptx::TypeKind;

namespace {

bool is_signed(Type t) { return ptx::row(t).kind == TypeKind::kSigned; }
int size_of(Type t) { return ptx::row(t).size(); }
bool is_real(Type t) { return ptx::row(t).kind == TypeKind::kFloat; }
std::string wide_type(int bits) { return fmt::format("i{}", bits); }

}  // namespace

void Emit::arithmetic() {
  Type t = in->type();
  if (is_real(t)) return float_arithmetic();
  bool sign = is_signed(t);
  int bits = size_of(t);
  if (ptx::row(t).lanes == 2) return packed_integer();
  std::string type = wide_type(bits);
  Value a = read_bits(in->operands[1], bits);
  Value b = in->operands.size() > 2 ? read_bits(in->operands[2], bits) : Value{};
  auto zero = [&] { return Ir::number(type, 0); };
  switch (in->op) {
    case Op::k_add:
    case Op::k_sub: {
      bool add = in->op == Op::k_add;
      if (writes_carry()) return set_carry(add ? sum_with_carry(a, b, {}) : difference_with_borrow(a, b, {}));
      if (in->has(Modifier::kSat)) return write(0, ir.intrinsic(add ? "llvm.sadd.sat" : "llvm.ssub.sat", {a, b}));
      return write(0, ir.op(add ? "add" : "sub", a, b));
    }
    case Op::k_mul: return write(0, product(a, b, sign, bits));
    case Op::k_mul24: {
      auto cut = [&](const Value& v) {
        Value up = ir.op("shl", v, Ir::number("i32", 8));
        return ir.op(sign ? "ashr" : "lshr", up, Ir::number("i32", 8));
      };
      Value p = ir.op("mul", ir.resize(cut(a), "i64", sign), ir.resize(cut(b), "i64", sign));
      if (in->has(Modifier::kHi)) p = ir.op("lshr", p, Ir::number("i64", 16));
      return write(0, ir.resize(p, "i32", false));
    }
    case Op::k_sad: {
      Value less = ir.compare(sign ? "icmp slt" : "icmp ult", a, b);
      Value d = ir.select(less, ir.op("sub", b, a), ir.op("sub", a, b));
      return write(0, ir.op("add", d, read_bits(in->operands[3], bits)));
    }
    case Op::k_div:
    case Op::k_rem: {
      bool div = in->op == Op::k_div;
      // Lanes that don't run hold anything, and the least number over -1 doesn't fit: neither may trap.
      Value none = ir.compare("icmp eq", b, zero());
      Value by = ir.select(none, Ir::number(type, 1), b);
      if (!sign) {
        Value r = ir.op(div ? "udiv" : "urem", a, by);
        return write(0, ir.select(none, div ? Ir::number(type, -1) : a, r));
      }
      Value minus = ir.compare("icmp eq", b, Ir::number(type, -1));
      Value safe = ir.select(minus, Ir::number(type, 1), by);
      Value r = ir.op(div ? "sdiv" : "srem", a, safe);
      Value by_minus = div ? ir.op("sub", zero(), a) : zero();
      return write(0, ir.select(none, div ? Ir::number(type, -1) : a, ir.select(minus, by_minus, r)));
    }
    case Op::k_abs: return write(0, ir.intrinsic("llvm.abs", {a}, ", i1 false"));
    case Op::k_neg: return write(0, ir.op("sub", zero(), a));
    case Op::k_min:
    case Op::k_max: {
      bool min = in->op == Op::k_min;
      Value r = ir.intrinsic(sign ? min ? "llvm.smin" : "llvm.smax" : min ? "llvm.umin" : "llvm.umax", {a, b});
      if (in->has(Modifier::kRelu)) r = ir.intrinsic("llvm.smax", {r, zero()});
      return write(0, r);
    }
    default: unsupported();
  }
}

// Two 16-bit numbers in a register.
void Emit::packed_integer() {
  bool sign = is_signed(in->type());
  Value a = read_bits(in->operands[1], 32), b = read_bits(in->operands[2], 32);
  auto half = [&](const Value& v, int h) {
    return ir.resize(h ? ir.op("lshr", v, Ir::number("i32", 16)) : v, "i16", false);
  };
  Value all;
  for (int h = 0; h < 2; ++h) {
    Value x = half(a, h), y = half(b, h), r;
    switch (in->op) {
      case Op::k_add: r = ir.op("add", x, y); break;
      case Op::k_sub: r = ir.op("sub", x, y); break;
      case Op::k_min: r = ir.intrinsic(sign ? "llvm.smin" : "llvm.umin", {x, y}); break;
      case Op::k_max: r = ir.intrinsic(sign ? "llvm.smax" : "llvm.umax", {x, y}); break;
      default: return unsupported();
    }
    if (in->has(Modifier::kRelu)) r = ir.intrinsic("llvm.smax", {r, Ir::number("i16", 0)});
    Value wide = ir.resize(r, "i32", false);
    all = h ? ir.op("or", all, ir.op("shl", wide, Ir::number("i32", 16))) : wide;
  }
  write(0, all);
}

// The part of a product that .lo, .hi or .wide asks for.
Value Emit::product(const Value& a, const Value& b, bool sign, int bits) {
  if (in->has(Modifier::kLo) || !in->of(ModifierGroup::kPart)) return ir.op("mul", a, b);
  std::string twice = wide_type(bits * 2);
  Value p = ir.op("mul", ir.resize(a, twice, sign), ir.resize(b, twice, sign));
  if (in->has(Modifier::kWide)) return p;
  return ir.resize(ir.op("lshr", p, Ir::number(twice, bits)), wide_type(bits), false);
}

void Emit::multiply_add() {
  Type t = in->type();
  if (in->op == Op::k_dp4a || in->op == Op::k_dp2a) {
    bool first = is_signed(in->type(0)), second = is_signed(in->type(1));
    Value a = read_bits(in->operands[1], 32), b = read_bits(in->operands[2], 32), sum = read_bits(in->operands[3], 32);
    bool four = in->op == Op::k_dp4a;
    auto part = [&](const Value& v, int at, int size, bool sign) {
      Value up = ir.op("shl", v, Ir::number("i32", 32 - at - size));
      return ir.op(sign ? "ashr" : "lshr", up, Ir::number("i32", 32 - size));
    };
    for (int i = 0; i < (four ? 4 : 2); ++i) {
      int at = four ? i * 8 : (in->has(Modifier::kHi) ? 16 : 0) + i * 8;
      sum = ir.op("add", sum,
                  ir.op("mul", four ? part(a, i * 8, 8, first) : part(a, i * 16, 16, first), part(b, at, 8, second)));
    }
    return write(0, sum);
  }
  if (is_real(t)) return float_multiply_add();
  bool sign = is_signed(t);
  int bits = size_of(t);
  Value a = read_bits(in->operands[1], bits), b = read_bits(in->operands[2], bits);
  if (in->op == Op::k_mad24) {
    auto cut = [&](const Value& v) {
      Value up = ir.op("shl", v, Ir::number("i32", 8));
      return ir.op(sign ? "ashr" : "lshr", up, Ir::number("i32", 8));
    };
    Value p = ir.op("mul", ir.resize(cut(a), "i64", sign), ir.resize(cut(b), "i64", sign));
    if (in->has(Modifier::kHi)) p = ir.op("lshr", p, Ir::number("i64", 16));
    Value q = ir.resize(p, "i32", false), c = read_bits(in->operands[3], 32);
    return write(0, in->has(Modifier::kSat) ? ir.intrinsic("llvm.sadd.sat", {q, c}) : ir.op("add", q, c));
  }
  Value p = product(a, b, sign, bits);
  Value c = read_bits(in->operands[3], bits_of(p.type));
  if (writes_carry()) return set_carry(sum_with_carry(p, c, {}));
  if (in->has(Modifier::kSat)) return write(0, ir.intrinsic("llvm.sadd.sat", {p, c}));
  write(0, ir.op("add", p, c));
}

// --- the carry flag ---

bool Emit::writes_carry() const { return in->has(Modifier::kCc); }

// What is carried out of the highest bit: the majority of the two there and of what came in, which the sum tells.
// Chains of comparisons of 64 bits take LLVM minutes where the processor has none (SSE2).
Emit::Carried Emit::sum_with_carry(const Value& a, const Value& b, const Value& carry) {
  Value s = ir.op("add", a, b);
  if (carry.empty()) return {s, ir.compare("icmp ult", s, a)};
  Value t = ir.op("add", s, ir.resize(carry, a.type, false));
  Value minus = Ir::number(a.type, -1);
  Value out = ir.op("or", ir.op("and", a, b), ir.op("and", ir.op("or", a, b), ir.op("xor", t, minus)));
  return {t, ir.compare("icmp slt", out, Ir::number(a.type, 0))};
}

Emit::Carried Emit::difference_with_borrow(const Value& a, const Value& b, const Value& borrow) {
  Value d = ir.op("sub", a, b);
  if (borrow.empty()) return {d, ir.compare("icmp ult", a, b)};
  Value t = ir.op("sub", d, ir.resize(borrow, a.type, false));
  Value not_a = ir.op("xor", a, Ir::number(a.type, -1));
  Value out = ir.op("or", ir.op("and", not_a, b), ir.op("and", ir.op("or", not_a, b), t));
  return {t, ir.compare("icmp slt", out, Ir::number(a.type, 0))};
}

void Emit::set_carry(const Carried& c) {
  write(0, c.value);
  if (!in->has(Modifier::kCc)) return;
  ptx::Operand flag;
  flag.kind = ptx::OperandKind::kRegister;
  flag.reg = static_cast<int32_t>(function.registers.size());
  write(flag, c.carry);
}

// sub.cc sets the flag to the borrow, as addc reads a carry: subc then takes it off.
void Emit::carry() {
  bool sign = is_signed(in->type());
  int bits = size_of(in->type());
  Value a = read_bits(in->operands[1], bits), b = read_bits(in->operands[2], bits);
  Value flag = read_register(static_cast<int32_t>(function.registers.size()));
  switch (in->op) {
    case Op::k_addc: return set_carry(sum_with_carry(a, b, flag));
    case Op::k_subc: return set_carry(difference_with_borrow(a, b, flag));
    case Op::k_madc:
      return set_carry(sum_with_carry(product(a, b, sign, bits), read_bits(in->operands[3], bits), flag));
    default: unsupported();
  }
}

// --- logic ---

void Emit::logic() {
  Type t = in->type();
  bool pred = t == Type::k_pred;
  auto get = [&](size_t i) { return pred ? predicate(in->operands[i]) : read_bits(in->operands[i], size_of(t)); };
  Value a = get(1);
  std::string type = a.type;
  switch (in->op) {
    case Op::k_and: return write(0, ir.op("and", a, get(2)));
    case Op::k_or: return write(0, ir.op("or", a, get(2)));
    case Op::k_xor: return write(0, ir.op("xor", a, get(2)));
    case Op::k_not: return write(0, ir.op("xor", a, Ir::number(type, pred ? 1 : -1)));
    case Op::k_cnot:
      return write(0,
                   ir.select(ir.compare("icmp eq", a, Ir::number(type, 0)), Ir::number(type, 1), Ir::number(type, 0)));
    case Op::k_lop3: {
      size_t first = in->pair_results ? 2 : 1;
      Value x = get(first), y = get(first + 1), z = get(first + 2);
      auto table = static_cast<unsigned>(in->operands[first + 3].value);
      Value r = lop3(x, y, z, table);
      write(0, r);
      if (in->pair_results && in->operands.size() > first + 4) {
        Value some = ir.compare("icmp ne", r, Ir::number("i32", 0));
        write(1, ir.op(in->of(ModifierGroup::kBoolean) == Modifier::kAnd ? "and" : "or", some,
                       predicate(in->operands[first + 4])));
      }
      return;
    }
    default: unsupported();
  }
}

// A truth table of three inputs: the sum of its terms, by the smaller half of them.
Value Emit::lop3(const Value& a, const Value& b, const Value& c, unsigned table) {
  Value ones = Ir::number("i32", -1);
  auto inverse = [&](const Value& v) { return ir.op("xor", v, ones); };
  // Of c alone under fixed a and b: 0, 1, c or ~c.
  auto of_c = [&](unsigned two) -> Value {
    switch (two & 3) {
      case 0: return Ir::number("i32", 0);
      case 1: return inverse(c);
      case 2: return c;
      default: return ones;
    }
  };
  auto choose = [&](const Value& by, const Value& yes, const Value& no) {
    return ir.op("or", ir.op("and", by, yes), ir.op("and", inverse(by), no));
  };
  switch (table & 0xff) {
    case 0xc0: return ir.op("and", a, b);
    case 0xfc: return ir.op("or", a, b);
    case 0x3c: return ir.op("xor", a, b);
    case 0x80: return ir.op("and", ir.op("and", a, b), c);
    case 0xfe: return ir.op("or", ir.op("or", a, b), c);
    case 0x96: return ir.op("xor", ir.op("xor", a, b), c);
    case 0xea: return ir.op("or", ir.op("and", a, b), c);
    case 0xf8: return ir.op("or", a, ir.op("and", b, c));
    default: break;
  }
  Value with_a = choose(b, of_c(table >> 6), of_c(table >> 4));
  Value without = choose(b, of_c(table >> 2), of_c(table));
  return choose(a, with_a, without);
}

// --- shifts and fields ---

// Shifts by any amount: past the width nothing (or the sign) is left.
Value Emit::shifted(std::string_view how, const Value& v, const Value& by) {
  int bits = bits_of(v.type);
  Value amount = ir.intrinsic("llvm.umin", {by, Ir::number("i32", how == "ashr" ? bits - 1 : bits)});
  Value far = how == "ashr" ? Value{} : ir.compare("icmp uge", by, Ir::number("i32", bits));
  Value least = how == "ashr" ? amount : ir.op("and", amount, Ir::number("i32", bits - 1));
  Value r = ir.op(how, v, ir.resize(least, v.type, false));
  return far.empty() ? r : ir.select(far, Ir::number(v.type, 0), r);
}

void Emit::shift() {
  Type t = in->type();
  int bits = size_of(t);
  bool sign = is_signed(t);
  std::string type = wide_type(bits);
  auto number = [&](int64_t n) { return Ir::number("i32", n); };
  Value a = read_bits(in->operands[1], bits);
  switch (in->op) {
    case Op::k_shl: return write(0, shifted("shl", a, read_bits(in->operands[2], 32)));
    case Op::k_shr: return write(0, shifted(sign ? "ashr" : "lshr", a, read_bits(in->operands[2], 32)));
    case Op::k_shf: {
      Value high = read_bits(in->operands[2], 32), by = read_bits(in->operands[3], 32);
      Value both =
          ir.op("or", ir.op("shl", ir.resize(high, "i64", false), Ir::number("i64", 32)), ir.resize(a, "i64", false));
      Value n = in->has(Modifier::kWrap) ? ir.op("and", by, number(31)) : ir.intrinsic("llvm.umin", {by, number(32)});
      Value n64 = ir.resize(n, "i64", false);
      if (in->of(ModifierGroup::kDirection) == Modifier::kLeft) {
        Value r = ir.op("lshr", ir.op("shl", both, n64), Ir::number("i64", 32));
        // By 32 the low word moves up whole; a shift of 64 bits by 32 keeps it.
        return write(0, ir.resize(r, "i32", false));
      }
      return write(0, ir.resize(ir.op("lshr", both, n64), "i32", false));
    }
    case Op::k_popc: return write(0, ir.resize(ir.intrinsic("llvm.ctpop", {a}), "i32", false));
    case Op::k_clz: return write(0, ir.resize(ir.intrinsic("llvm.ctlz", {a}, ", i1 false"), "i32", false));
    case Op::k_brev: return write(0, ir.intrinsic("llvm.bitreverse", {a}));
    case Op::k_bfind: {
      Value v = a;
      if (sign) {
        Value negative = ir.compare("icmp slt", a, Ir::number(type, 0));
        v = ir.select(negative, ir.op("xor", a, Ir::number(type, -1)), a);
      }
      Value zeros = ir.resize(ir.intrinsic("llvm.ctlz", {v}, ", i1 false"), "i32", false);
      Value none = ir.compare("icmp eq", v, Ir::number(type, 0));
      Value at = in->has(Modifier::kShiftamt) ? zeros : ir.op("sub", number(bits - 1), zeros);
      return write(0, ir.select(none, number(-1), at));
    }
    case Op::k_bfe: {
      Value from = ir.op("and", read_bits(in->operands[2], 32), number(255));
      Value size = ir.op("and", read_bits(in->operands[3], 32), number(255));
      // Sign: the field's last bit, or the value's where the field reaches past it.
      Value body = shifted("lshr", a, from);
      Value mask = ir.op("xor", shifted("shl", Ir::number(type, -1), size), Ir::number(type, -1));
      Value r = ir.op("and", body, mask);
      if (sign) {
        Value last = ir.op("sub", ir.op("add", from, size), number(1));
        last = ir.intrinsic("llvm.umin", {last, number(bits - 1)});
        Value bit = ir.op("and", shifted("lshr", a, last), Ir::number(type, 1));
        Value some =
            ir.op("and", ir.compare("icmp ne", bit, Ir::number(type, 0)), ir.compare("icmp ne", size, number(0)));
        // The bits that the value really gave; all above are the sign.
        Value given = ir.op("sub", ir.intrinsic("llvm.umax", {number(bits), from}), from);
        given = ir.intrinsic("llvm.umin", {given, size});
        Value above = shifted("shl", Ir::number(type, -1), given);
        r = ir.op("or", r, ir.select(some, above, Ir::number(type, 0)));
      }
      return write(0, r);
    }
    case Op::k_bfi: {
      Value into = read_bits(in->operands[2], bits);
      Value from = ir.op("and", read_bits(in->operands[3], 32), number(255));
      Value size = ir.op("and", read_bits(in->operands[4], 32), number(255));
      Value ones = ir.op("xor", shifted("shl", Ir::number(type, -1), size), Ir::number(type, -1));
      Value mask = shifted("shl", ones, from);
      Value field = ir.op("and", shifted("shl", a, from), mask);
      return write(0, ir.op("or", ir.op("and", into, ir.op("xor", mask, Ir::number(type, -1))), field));
    }
    case Op::k_bmsk: {
      Value size = read_bits(in->operands[2], 32), from = a;
      if (in->has(Modifier::kWrap)) from = ir.op("and", from, number(31)), size = ir.op("and", size, number(31));
      Value ones = ir.op("xor", shifted("shl", number(-1), size), number(-1));
      return write(0, shifted("shl", ones, from));
    }
    case Op::k_szext: {
      Value size = read_bits(in->operands[2], 32);
      if (in->has(Modifier::kWrap)) size = ir.op("and", size, number(31));
      Value rest = ir.op("sub", number(32), ir.intrinsic("llvm.umin", {size, number(32)}));
      return write(0, shifted(sign ? "ashr" : "lshr", shifted("shl", a, rest), rest));
    }
    case Op::k_fns: return find_nth_set();
    case Op::k_prmt: return permute();
    default: unsupported();
  }
}

// The n-th set bit from `base` on, upwards or downwards; -1 where there is none.
void Emit::find_nth_set() {
  Value mask = read_bits(in->operands[1], 32), base = read_bits(in->operands[2], 32),
        n = read_bits(in->operands[3], 32);
  auto number = [&](int64_t v) { return Ir::number("i32", v); };
  Value found = number(-1);
  // Counted over the bits from the far end to the near one, so that the nearest match is left.
  Value up = ir.compare("icmp sgt", n, number(0)), down = ir.compare("icmp slt", n, number(0));
  Value want = ir.intrinsic("llvm.abs", {n}, ", i1 false");
  for (int b = 0; b < 32; ++b) {
    Value bit = ir.compare("icmp ne", ir.op("and", mask, number(static_cast<int64_t>(1u << b))), number(0));
    Value below = number(static_cast<int64_t>((2ull << b) - 1)),
          above = number(static_cast<int64_t>(~((1ull << b) - 1) & 0xffffffff));
    Value from = shifted("shl", number(-1), base);
    Value until = ir.op("xor", shifted("shl", shifted("shl", number(-1), base), number(1)), number(-1));
    Value rank_up = ir.intrinsic("llvm.ctpop", {ir.op("and", ir.op("and", mask, from), below)});
    Value rank_down = ir.intrinsic("llvm.ctpop", {ir.op("and", ir.op("and", mask, until), above)});
    Value far_up = ir.compare("icmp uge", number(b), base), far_down = ir.compare("icmp ule", number(b), base);
    Value hit_up = ir.op("and", ir.op("and", up, far_up), ir.compare("icmp eq", rank_up, want));
    Value hit_down = ir.op("and", ir.op("and", down, far_down), ir.compare("icmp eq", rank_down, want));
    Value hit = ir.op("and", bit, ir.op("or", hit_up, hit_down));
    Value here =
        ir.op("and", ir.compare("icmp eq", n, number(0)), ir.op("and", bit, ir.compare("icmp eq", base, number(b))));
    found = ir.select(ir.op("or", hit, here), number(b), found);
  }
  write(0, found);
}

void Emit::permute() {
  Value a = read_bits(in->operands[1], 32), b = read_bits(in->operands[2], 32);
  auto mode = in->of(ModifierGroup::kPermute);
  Value both = ir.op("or", ir.op("shl", ir.resize(b, "i64", false), Ir::number("i64", 32)), ir.resize(a, "i64", false));
  Value selector = read_bits(in->operands[3], 32);
  Value all;
  for (int i = 0; i < 4; ++i) {
    Value byte, sign;
    if (!mode) {
      Value nibble = ir.op("lshr", selector, Ir::number("i32", i * 4));
      byte = ir.op("and", nibble, Ir::number("i32", 7));
      sign = ir.op("and", nibble, Ir::number("i32", 8));
    } else {
      Value n = ir.op("and", selector, Ir::number("i32", 3));
      auto at = [&](const Value& v) { return ir.op("and", v, Ir::number("i32", 7)); };
      switch (*mode) {
        case Modifier::kF4e: byte = at(ir.op("add", n, Ir::number("i32", i))); break;
        case Modifier::kB4e: byte = at(ir.op("sub", n, Ir::number("i32", i))); break;
        case Modifier::kRc8: byte = n; break;
        case Modifier::kEcl: byte = ir.intrinsic("llvm.umax", {n, Ir::number("i32", i)}); break;
        case Modifier::kEcr: byte = ir.intrinsic("llvm.umin", {n, Ir::number("i32", i)}); break;
        default: {  // rc16: the half word that the low bit names
          Value half = ir.op("shl", ir.op("and", n, Ir::number("i32", 1)), Ir::number("i32", 1));
          byte = ir.op("add", half, Ir::number("i32", i & 1));
        }
      }
    }
    Value shift = ir.resize(ir.op("shl", byte, Ir::number("i32", 3)), "i64", false);
    Value v = ir.resize(ir.op("lshr", both, shift), "i8", false);
    if (!sign.empty()) {
      Value spread = ir.op("ashr", v, Ir::number("i8", 7));
      v = ir.select(ir.compare("icmp ne", sign, Ir::number("i32", 0)), spread, v);
    }
    Value w = ir.resize(v, "i32", false);
    all = i ? ir.op("or", all, ir.op("shl", w, Ir::number("i32", i * 8))) : w;
  }
  write(0, all);
}

}  // namespace quern::vgpu
