// Reciprocals, roots, exponentials, logarithms, sine and cosine (PTX ISA 9.7.3.13 to .22). What is to be rounded is
// exact; .approx results lie within the manual's bounds and are the same on every processor: fused multiply-adds in one
// order. Coefficients are minimax fits (Chebyshev nodes, 120 bits), rounded to f32.
#include <initializer_list>

#include "vgpu/emit.h"

namespace quern::vgpu {

using ptx::Modifier;
using ptx::ModifierGroup;
using ptx::Op;
using ptx::Type;

namespace {

Value f32(uint32_t bits) { return Ir::real("float", bits); }
Value i32(int64_t n) { return Ir::number("i32", n); }

constexpr uint32_t kOne = 0x3f800000, kInfinity = 0x7f800000, kNan = 0x7fffffff;

}  // namespace

// By Horner's rule, the highest power first.
Value Emit::polynomial(const Value& x, std::initializer_list<uint32_t> coefficients) {
  Value r;
  for (uint32_t c : coefficients) r = r.empty() ? f32(c) : ir.intrinsic("llvm.fma", {r, x, f32(c)});
  return r;
}

// 2^x = 2^n 2^f with f in -1/2 ... 1/2. Error: 1.1 ulp, also where the result is subnormal.
Value Emit::exponential(const Value& x) {
  Value v = ir.select(ir.compare("fcmp ogt", x, f32(0x43010000)), f32(0x43010000), x);  // 129
  v = ir.select(ir.compare("fcmp olt", v, f32(0xc3180000)), f32(0xc3180000), v);        // -152
  Value magic = f32(0x4b400000);                                                        // 1.5 * 2^23
  Value t = ir.op("fadd", v, magic);
  Value f = ir.op("fsub", v, ir.op("fsub", t, magic));
  Value n = ir.op("sub", ir.bits_to(t, "i32"), i32(0x4b400000));
  Value p = polynomial(f, {0x392209c5, 0x3aaf8448, 0x3c1d952a, 0x3d6357b6, 0x3e75fdf0, 0x3f317218, kOne});
  // In two factors, so that both are normal numbers and only the last product rounds.
  Value first = ir.op("ashr", n, i32(1)), second = ir.op("sub", n, first);
  auto power = [&](const Value& e) { return ir.bits_to(ir.op("shl", ir.op("add", e, i32(127)), i32(23)), "float"); };
  return ir.op("fmul", ir.op("fmul", p, power(first)), power(second));
}

// log2(x) = e + log2(m), m from sqrt(1/2) to sqrt(2). Absolute error 2^-24 below 1 in size, then relative.
Value Emit::logarithm(const Value& x) {
  Value tiny = ir.compare("fcmp olt", x, f32(0x00800000));
  Value v = ir.select(tiny, ir.op("fmul", x, f32(0x4b000000)), x);  // 2^23
  Value bits = ir.bits_to(v, "i32");
  Value e = ir.op("ashr", ir.op("sub", bits, i32(0x3f3504f3)), i32(23));
  Value m = ir.bits_to(ir.op("sub", bits, ir.op("shl", e, i32(23))), "float");
  e = ir.select(tiny, ir.op("sub", e, i32(23)), e);
  Value t = ir.op("fsub", m, f32(kOne));
  Value p = polynomial(
      t, {0x3dfc20ee, 0xbe52cd75, 0x3e5d439c, 0xbe74e8f3, 0x3e93680e, 0xbeb8acca, 0x3ef639ef, 0xbf38aa3a, 0x3fb8aa3b});
  Value r = ir.intrinsic("llvm.fma", {t, p, ir.cast("sitofp", e, "float")});
  r = ir.select(ir.compare("fcmp oeq", x, f32(kInfinity)), f32(kInfinity), r);
  r = ir.select(ir.compare("fcmp oeq", x, f32(0)), f32(0xff800000), r);
  return ir.select(ir.compare("fcmp ult", x, f32(0)), f32(kNan), r);  // below zero, or no number
}

// The quarter of a turn is found in f64, exact to 2^-33 for every angle below 2^20. Absolute error 2^-23; past 2^50
// quarters the result is some number from -1 to 1.
Value Emit::sine(const Value& x, bool cosine) {
  Value magic = Ir::real("double", 0x4338000000000000u);                                                // 1.5 * 2^52
  Value turns = ir.op("fmul", ir.cast("fpext", x, "double"), Ir::real("double", 0x3fe45f306dc9c883u));  // 2 / pi
  Value t = ir.op("fadd", turns, magic);
  Value s = ir.cast("fptrunc", ir.op("fsub", turns, ir.op("fsub", t, magic)), "float");
  s = ir.select(ir.compare("fcmp ogt", s, f32(0x3f000000)), f32(0x3f000000), s);
  s = ir.select(ir.compare("fcmp olt", s, f32(0xbf000000)), f32(0xbf000000), s);
  Value quarter = ir.resize(ir.bits_to(t, "i64"), "i32", false);
  if (cosine) quarter = ir.op("add", quarter, i32(1));
  Value u = ir.op("fmul", s, s);
  Value sine = ir.op("fmul", s, polynomial(u, {0xbb96cd5c, 0x3da32f60, 0xbf255ddd, 0x3fc90fdb}));
  Value other = polynomial(u, {0x3a6db1f3, 0xbcaae5cb, 0x3e81e0f5, 0xbf9de9e6, kOne});
  Value odd = ir.compare("icmp ne", ir.op("and", quarter, i32(1)), i32(0));
  Value r = ir.bits_to(ir.select(odd, other, sine), "i32");
  Value sign = ir.op("shl", ir.op("and", quarter, i32(2)), i32(30));
  return ir.bits_to(ir.op("xor", r, sign), "float");
}

// 1 - 2 / (e^2x + 1), and a polynomial where that would cancel. Relative error 2^-21.
Value Emit::hyperbolic_tangent(const Value& x) {
  Value a = ir.intrinsic("llvm.fabs", {x});
  Value far = ir.select(ir.compare("fcmp ogt", a, f32(0x41200000)), f32(0x41200000), a);  // 10
  Value e = exponential(ir.op("fmul", far, f32(0x4038aa3b)));                             // 2 / ln 2
  Value large = ir.op("fsub", f32(kOne), ir.op("fdiv", f32(0x40000000), ir.op("fadd", e, f32(kOne))));
  Value u = ir.op("fmul", a, a);
  Value p = polynomial(u, {0xbbcd6d30, 0x3cacf0e4, 0xbd5caaee, 0x3e088770, 0xbeaaaaaa});
  Value small = ir.intrinsic("llvm.fma", {ir.op("fmul", a, u), p, a});
  Value r = ir.select(ir.compare("fcmp olt", a, f32(0x3f19999a)), small, large);  // 0.6
  return ir.intrinsic("llvm.copysign", {r, x});
}

// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 take and give the high words of doubles.
void Emit::high_word_function() {
  auto i64 = [](int64_t n) { return Ir::number("i64", n); };
  constexpr int64_t kHigh = -0x100000000;
  auto flushed_double = [&](const Value& bits) {
    Value size = ir.op("and", bits, i64(INT64_MAX));
    Value small = ir.compare("icmp ult", size, i64(0x0010000000000000));
    return ir.select(small, ir.op("and", bits, i64(INT64_MIN)), bits);
  };
  Value a = ir.bits_to(flushed_double(ir.op("and", read_bits(in->operands[1], 64), i64(kHigh))), "double");
  Value one = Ir::real("double", 0x3ff0000000000000u);
  Value r = ir.op("fdiv", one, in->op == Op::k_rcp ? a : ir.intrinsic("llvm.sqrt", {a}));
  Value nan = ir.compare("fcmp uno", r, r);
  Value bits = ir.op("and", flushed_double(ir.bits_to(r, "i64")), i64(kHigh));
  write(0, ir.select(nan, i64(0x7fffffff00000000), bits));
}

void Emit::special_function() {
  Type t = in->type();
  if (ptx::row(t).bits == 16) return half_arithmetic();
  if (t == Type::k_f64 && in->has(Modifier::kFtz)) return high_word_function();
  Round round = round_of(*in);
  Value a = float_operand(1);
  switch (in->op) {
    case Op::k_rcp:
    case Op::k_sqrt: return write(0, float_result(rounded(in->op, {a}, round)));
    case Op::k_rsqrt: return write(0, float_result(rounded(Op::k_rcp, {ir.intrinsic("llvm.sqrt", {a})}, round)));
    case Op::k_sin: return write(0, float_result(sine(a, false)));
    case Op::k_cos: return write(0, float_result(sine(a, true)));
    case Op::k_lg2: return write(0, float_result(logarithm(a)));
    case Op::k_ex2: return write(0, float_result(exponential(a)));
    case Op::k_tanh: return write(0, float_result(hyperbolic_tangent(a)));
    default: unsupported();
  }
}

}  // namespace quern::vgpu
