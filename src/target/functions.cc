// Rounding, and which function is where: exponentials in functions_exp.cc, logarithms and powers in functions_log.cc,
// sine and cosine in functions_trig.cc. Polynomials interpolate at Chebyshev points, in 50 digits, which is within a
// few per cent of the best possible.
#include "target/functions.h"

#include "target/arithmetic.h"

namespace quern::target {

using tile::Op;

Value multiply_add(Writer& w, const Features& has, const Value& a, const Value& b, const Value& c) {
  if (has.fma) return w.intrinsic("fma", a.type, {a, b, c});
  return w.binary("fadd", w.binary("fmul", a, b), c);
}

Value rounded(Writer& w, const Features& has, Op op, const Value& x) {
  if (has.rounding) {
    std::string_view name = op == Op::kFloor ? "floor" : op == Op::kCeil ? "ceil" : "roundeven";
    return w.intrinsic(name, x.type, {x});
  }
  // Adding 2^23 (2^52) leaves no bits for a fraction; what is as large has none.
  Value limit = real_constant(x.type, x.type.base == Base::f32 ? 0x1p23 : 0x1p52);
  Value magnitude = w.intrinsic("fabs", x.type, {x});
  Value near = w.binary("fsub", w.binary("fadd", magnitude, limit), limit);
  near = w.intrinsic("copysign", x.type, {near, x});
  Value one = real_constant(x.type, 1), zero = real_constant(x.type, 0);
  if (op == Op::kFloor) near = w.binary("fsub", near, w.select(w.compare("ogt", near, x), one, zero));
  if (op == Op::kCeil) near = w.binary("fadd", near, w.select(w.compare("olt", near, x), one, zero));
  near = w.intrinsic("copysign", x.type, {near, x});
  return w.select(w.compare("olt", magnitude, limit), near, x);
}

Value function_of(Writer& w, const Features& has, Op op, const Value& x) {
  Reals r{w, has, x.type};
  switch (op) {
    case Op::kExp: return exp_of(r, x);
    case Op::kExp2: return exp2_of(r, x);
    case Op::kLog: return log_of(r, x);
    case Op::kLog2: return log2_of(r, x);
    case Op::kTanh: return tanh_of(r, x);
    case Op::kErf: return erf_of(r, x);
    case Op::kSin: return sine_of(r, x, false);
    case Op::kCos: return sine_of(r, x, true);
    case Op::kRsqrt: return r.div(r.c(1), w.intrinsic("sqrt", x.type, {x}));
    default: return w.intrinsic("sqrt", x.type, {x});
  }
}

Value function_of(Writer& w, const Features& has, Op op, const Value& x, const Value& y) {
  Value a = w.splat(x, y.type.lanes);
  if (op == Op::kExpAt) return exp_at_of(Reals{w, has, a.type}, a, y);
  return power(w, has, a, w.splat(y, a.type.lanes));
}

Pair fast_sum(const Reals& r, const Value& a, const Value& b) {
  Value high = r.add(a, b);
  return {high, r.sub(b, r.sub(high, a))};
}

Pair product(const Reals& r, const Value& a, const Value& b) {
  Value high = r.mul(a, b);
  if (r.has.fma) return {high, r.fma(a, b, r.w.neg(high))};
  // Dekker: halves whose products are exact.
  Value splitter = r.c(r.wide() ? 0x1p27 + 1 : 0x1p12 + 1);
  auto halves = [&](const Value& x) {
    Value t = r.mul(splitter, x);
    Value upper = r.sub(t, r.sub(t, x));
    return Pair{upper, r.sub(x, upper)};
  };
  Pair x = halves(a), y = halves(b);
  Value low = r.sub(r.mul(x.high, y.high), high);
  low = r.add(low, r.mul(x.high, y.low));
  low = r.add(low, r.mul(x.low, y.high));
  return {high, r.add(low, r.mul(x.low, y.low))};
}

}  // namespace quern::target
