#include "vgpu/real.h"

namespace quern::vgpu {

using ptx::Modifier;
using ptx::ModifierGroup;
using ptx::Type;

namespace {

Value i32(int64_t n) { return Ir::number("i32", n); }

constexpr RealFormat kHalf{5, 10, 15, 0x7bff, true, 0x7fff};
constexpr RealFormat kBfloat{8, 7, 127, 0x7f7f, true, 0x7fff};
constexpr RealFormat kTensorFloat{8, 10, 127, 0x3fbff, true, 0x3ffff};
constexpr RealFormat kE5m2{5, 2, 15, 0x7b, true, 0x7f};
constexpr RealFormat kE4m3{4, 3, 7, 0x7e, false, 0x7f};
constexpr RealFormat kE3m2{3, 2, 3, 0x1f, false, 0x1f};
constexpr RealFormat kE2m3{2, 3, 1, 0x1f, false, 0x1f};
constexpr RealFormat kE2m1{2, 1, 1, 0x07, false, 0x07};

// The bits of a real as an integer, and one less or more: the neighbour towards zero or away from it.
Value integer_of(Ir& ir, const Value& v) { return ir.bits_to(v, fmt::format("i{}", bits_of(v.type))); }

Value stepped(Ir& ir, const Value& v, const Value& less, const Value& more) {
  Value bits = integer_of(ir, v);
  Value one = Ir::number(bits.type, 1), none = Ir::number(bits.type, 0);
  bits = ir.op("sub", bits, ir.select(less, one, none));
  if (!more.empty()) bits = ir.op("add", bits, ir.select(more, one, none));
  return ir.bits_to(bits, v.type);
}

Value negative(Ir& ir, const Value& v) {
  Value bits = integer_of(ir, v);
  return ir.compare("icmp slt", bits, Ir::number(bits.type, 0));
}

}  // namespace

Round round_of(const ptx::Instruction& in) {
  auto mode = in.of(ModifierGroup::kRounding);
  if (!mode) return Round::kNearest;
  switch (*mode) {
    case Modifier::kRz: return Round::kZero;
    case Modifier::kRm: return Round::kDown;
    case Modifier::kRp: return Round::kUp;
    case Modifier::kRna: return Round::kAway;
    case Modifier::kRs: return Round::kRandom;
    default: return Round::kNearest;
  }
}

const RealFormat* real_format(Type type) {
  switch (type) {
    case Type::k_f16:
    case Type::k_f16x2: return &kHalf;
    case Type::k_bf16:
    case Type::k_bf16x2: return &kBfloat;
    case Type::k_tf32: return &kTensorFloat;
    case Type::k_e5m2:
    case Type::k_e5m2x2:
    case Type::k_e5m2x4: return &kE5m2;
    case Type::k_e4m3:
    case Type::k_e4m3x2:
    case Type::k_e4m3x4: return &kE4m3;
    case Type::k_e3m2:
    case Type::k_e3m2x2:
    case Type::k_e3m2x4: return &kE3m2;
    case Type::k_e2m3:
    case Type::k_e2m3x2:
    case Type::k_e2m3x4: return &kE2m3;
    case Type::k_e2m1:
    case Type::k_e2m1x2:
    case Type::k_e2m1x4: return &kE2m1;
    default: return nullptr;
  }
}

Value abs_of(Ir& ir, const Value& v) { return ir.intrinsic("llvm.fabs", {v}); }

// The exponent is moved by a product with a power of two, which is exact and makes subnormals what they are.
Value widen_real(Ir& ir, const RealFormat& f, const Value& code) {
  int magnitude_bits = f.exponent + f.mantissa;
  Value magnitude = ir.op("and", code, i32((1 << magnitude_bits) - 1));
  Value sign = ir.op("shl", ir.op("and", code, i32(1 << magnitude_bits)), i32(31 - magnitude_bits));
  Value bits = ir.op("shl", magnitude, i32(23 - f.mantissa));
  Value scale = Ir::real("float", static_cast<uint64_t>(127 + 127 - f.bias) << 23);
  Value v =
      ir.bits_to(f.bias == 127 ? bits : ir.bits_to(ir.op("fmul", ir.bits_to(bits, "float"), scale), "i32"), "i32");
  if (f.infinite && f.bias != 127) {
    Value special = ir.compare("icmp ugt", magnitude, i32(f.most));
    v = ir.select(special, ir.op("or", bits, i32(0x7f800000)), v);
  } else if (!f.infinite && f.nan > f.most) {
    v = ir.select(ir.compare("icmp eq", magnitude, i32(f.nan)), i32(0x7fffffff), v);
  }
  return ir.bits_to(ir.op("or", v, sign), "float");
}

Value narrow_real(Ir& ir, const RealFormat& f, const Value& v, Round round, bool satfinite, const Value& random,
                  int random_bits) {
  int magnitude_bits = f.exponent + f.mantissa;
  Value bits = ir.bits_to(v, "i32");
  Value magnitude = ir.op("and", bits, i32(0x7fffffff));
  Value exponent = ir.op("lshr", magnitude, i32(23));
  Value has = ir.intrinsic("llvm.umin", {exponent, i32(1)});  // 0: a subnormal float, which has no leading one
  Value m = ir.op("or", ir.op("and", magnitude, i32(0x7fffff)), ir.op("shl", has, i32(23)));
  exponent = ir.intrinsic("llvm.umax", {exponent, i32(1)});
  // Numbers below the least normal one lose more digits; past all of them, one is left to say that there was something.
  int least = 128 - f.bias;
  Value above = ir.intrinsic("llvm.smax", {ir.op("sub", exponent, i32(least)), i32(0)});
  Value below = ir.intrinsic("llvm.smax", {ir.op("sub", i32(least), exponent), i32(0)});
  Value shift = ir.intrinsic("llvm.umin", {ir.op("add", below, i32(23 - f.mantissa)), i32(26)});
  Value kept = ir.op("lshr", m, shift);
  Value rest = ir.op("sub", m, ir.op("shl", kept, shift));
  Value half = ir.op("lshr", ir.op("shl", i32(1), shift), i32(1));
  Value inexact = ir.compare("icmp ne", rest, i32(0));
  Value up;
  switch (round) {
    case Round::kNearest: {
      Value odd = ir.op("and", kept, i32(1));
      up = ir.compare("icmp ugt", ir.op("add", rest, odd), half);
      break;
    }
    case Round::kZero: up = Ir::number("i1", 0); break;
    case Round::kDown: up = ir.op("and", inexact, ir.compare("icmp slt", bits, i32(0))); break;
    case Round::kUp: up = ir.op("and", inexact, ir.compare("icmp sge", bits, i32(0))); break;
    case Round::kAway: up = ir.compare("icmp uge", rest, half); break;
    case Round::kRandom: {
      // Both as fractions of what one digit more is worth.
      Value part = ir.op("shl", rest, ir.op("sub", i32(31), shift));
      Value chance = ir.op("shl", random, i32(31 - random_bits));
      up = ir.compare("icmp slt", ir.op("add", part, chance), i32(0));
      break;
    }
  }
  Value code = ir.op("add", ir.op("shl", above, i32(f.mantissa)), kept);
  if (up.text != "false") code = ir.op("add", code, ir.select(up, i32(1), i32(0)));
  // What is too large, and infinity.
  Value too_large = ir.compare("icmp ugt", code, i32(f.most));
  Value infinite = ir.compare("icmp eq", magnitude, i32(0x7f800000));
  int64_t beyond = satfinite || !f.infinite ? f.most : int64_t{f.most} + 1;
  Value full = i32(beyond);
  if (beyond != f.most) {
    if (round == Round::kZero) full = ir.select(infinite, full, i32(f.most));
    if (round == Round::kDown || round == Round::kUp) {
      Value outward = ir.compare(round == Round::kUp ? "icmp sge" : "icmp slt", bits, i32(0));
      full = ir.select(ir.op("or", outward, infinite), full, i32(f.most));
    }
  }
  code = ir.select(too_large, full, code);
  Value sign = ir.op("shl", ir.op("lshr", bits, i32(31)), i32(magnitude_bits));
  code = ir.op("or", code, sign);
  return ir.select(ir.compare("icmp ugt", magnitude, i32(0x7f800000)), i32(f.nan), code);
}

Value from_half(Ir& ir, Type type, const Value& bits, bool f16c) {
  if (type == Type::k_bf16 || type == Type::k_bf16x2) {
    return ir.bits_to(ir.op("shl", ir.resize(bits, "i32", false), i32(16)), "float");
  }
  if (f16c) return ir.cast("fpext", ir.bits_to(bits, "half"), "float");
  return widen_real(ir, kHalf, ir.resize(bits, "i32", false));
}

Value to_half(Ir& ir, Type type, const Value& v, Round round, bool f16c) {
  bool bf = type == Type::k_bf16 || type == Type::k_bf16x2;
  if (round != Round::kNearest || (!bf && !f16c)) {
    return ir.resize(narrow_real(ir, bf ? kBfloat : kHalf, v, round, false), "i16", false);
  }
  Value nan = ir.compare("fcmp uno", v, v);
  if (bf) {
    Value bits = ir.bits_to(v, "i32");
    Value odd = ir.op("and", ir.op("lshr", bits, i32(16)), i32(1));
    Value code = ir.op("lshr", ir.op("add", ir.op("add", bits, odd), i32(0x7fff)), i32(16));
    return ir.resize(ir.select(nan, i32(kBfloat.nan), code), "i16", false);
  }
  // The code of NaN on this side of the conversion, where lanes are of 32 bits as the mask is.
  Value safe = ir.select(nan, Ir::real("float", 0x7fffffff), v);
  return ir.bits_to(ir.cast("fptrunc", safe, "half"), "i16");
}

// The sum to nearest and its error (Knuth's two-sum) say on which side of the sum the exact one lies.
Value sum_to_odd(Ir& ir, const Value& a, const Value& b) {
  Value s = ir.op("fadd", a, b);
  Value of_b = ir.op("fsub", s, a);
  Value e = ir.op("fadd", ir.op("fsub", a, ir.op("fsub", s, of_b)), ir.op("fsub", b, of_b));
  Value bits = integer_of(ir, s);
  Value zero = Ir::zero(s.type);
  Value inexact = ir.compare("fcmp one", e, zero);
  Value even = ir.compare("icmp eq", ir.op("and", bits, Ir::number(bits.type, 1)), Ir::number(bits.type, 0));
  Value opposite = negative(ir, ir.bits_to(ir.op("xor", bits, integer_of(ir, e)), s.type));
  Value change = ir.op("and", inexact, even);
  Value less = ir.op("and", change, opposite), more = ir.op("and", change, ir.logical_not(opposite));
  return stepped(ir, s, less, more);
}

Value double_to_float(Ir& ir, const Value& d, Round round) {
  Value f = ir.cast("fptrunc", d, "float");
  if (round == Round::kNearest) return f;
  Value back = ir.cast("fpext", f, "double");
  Value minus = negative(ir, f);
  switch (round) {
    case Round::kZero: return stepped(ir, f, ir.compare("fcmp ogt", abs_of(ir, back), abs_of(ir, d)), {});
    case Round::kDown: {
      Value over = ir.compare("fcmp ogt", back, d);
      return stepped(ir, f, ir.op("and", over, ir.logical_not(minus)), ir.op("and", over, minus));
    }
    default: {
      Value under = ir.compare("fcmp olt", back, d);
      return stepped(ir, f, ir.op("and", under, minus), ir.op("and", under, ir.logical_not(minus)));
    }
  }
}

Value double_to_odd_float(Ir& ir, const Value& d) {
  Value f = double_to_float(ir, d, Round::kZero);
  Value inexact = ir.compare("fcmp one", ir.cast("fpext", f, "double"), d);
  Value bits = ir.op("or", ir.bits_to(f, "i32"), ir.select(inexact, i32(1), i32(0)));
  return ir.bits_to(bits, "float");
}

Value integer_to_odd_double(Ir& ir, const Value& v, bool sign) {
  auto i64 = [](int64_t n) { return Ir::number("i64", n); };
  Value wide = ir.resize(v, "i64", sign);
  if (bits_of(v.type) <= 32) return ir.cast(sign ? "sitofp" : "uitofp", wide, "double");
  Value minus = sign ? ir.compare("icmp slt", wide, i64(0)) : Ir::number("i1", 0);
  Value size = ir.select(minus, ir.op("sub", i64(0), wide), wide);
  // 53 bits of it, and whether there was more.
  Value low = ir.op("and", size, i64(0x7ff));
  Value sticky = ir.select(ir.compare("icmp ne", low, i64(0)), i64(1), i64(0));
  Value high = ir.op("or", ir.op("lshr", size, i64(11)), sticky);
  Value cut = ir.op("fmul", ir.cast("sitofp", high, "double"), Ir::real("double", uint64_t{1023 + 11} << 52));
  Value large = ir.compare("icmp ugt", size, i64((int64_t{1} << 53) - 1));
  Value exact = ir.cast("sitofp", ir.op("and", size, i64((int64_t{1} << 53) - 1)), "double");
  Value d = ir.select(large, cut, exact);
  return sign ? ir.select(minus, ir.let(d.type, d.vector, "fneg {}", d.typed()), d) : d;
}

}  // namespace quern::vgpu
