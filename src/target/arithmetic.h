// Shorthand for writing formulas over reals of one type, for the files functions*.cc.
#pragma once

#include <bit>
#include <limits>
#include <span>

#include "target/functions.h"

namespace quern::target {

struct Reals {
  Writer& w;
  const Features& has;
  Type t;

  bool wide() const { return t.base == Base::f64; }
  Type integers() const { return with(t, wide() ? Base::i64 : Base::i32); }
  Value c(double v) const { return real_constant(t, v); }
  Value n(int64_t v) const { return constant(integers(), v); }
  Value infinity() const { return c(std::numeric_limits<double>::infinity()); }
  Value nan() const { return c(std::numeric_limits<double>::quiet_NaN()); }
  Value add(const Value& a, const Value& b) const { return w.binary("fadd", a, b); }
  Value sub(const Value& a, const Value& b) const { return w.binary("fsub", a, b); }
  Value mul(const Value& a, const Value& b) const { return w.binary("fmul", a, b); }
  Value div(const Value& a, const Value& b) const { return w.binary("fdiv", a, b); }
  Value fma(const Value& a, const Value& b, const Value& x) const { return multiply_add(w, has, a, b, x); }
  Value abs(const Value& a) const { return w.intrinsic("fabs", t, {a}); }
  Value sign_of(const Value& magnitude, const Value& sign) const {
    return w.intrinsic("copysign", t, {magnitude, sign});
  }
  Value bits(const Value& a) const { return w.bitcast(a, integers()); }
  Value real(const Value& bits) const { return w.bitcast(bits, t); }
  Value below(const Value& a, const Value& b) const { return w.compare("olt", a, b); }
  Value above(const Value& a, const Value& b) const { return w.compare("ogt", a, b); }
  Value same(const Value& a, const Value& b) const { return w.compare("oeq", a, b); }
  Value pick(const Value& condition, const Value& a, const Value& b) const { return w.select(condition, a, b); }
  // Coefficients in ascending order.
  Value polynomial(const Value& x, std::span<const double> coefficients) const {
    Value out = c(coefficients.back());
    for (size_t i = coefficients.size() - 1; i-- > 0;) out = fma(out, x, c(coefficients[i]));
    return out;
  }
  // 1.5 * 2^23 (2^52): what is added to it is rounded to an integer, which then stands in the low bits.
  double magic() const { return wide() ? 0x1.8p52 : 0x1.8p23; }
};

// A number as the unevaluated sum of two.
struct Pair {
  Value high, low;
};

// p * 2^k; `shifted` is k + magic, |k| <= 2 * the largest exponent. Rounded once, below the normal numbers too.
Value scaled(const Reals& r, const Value& p, const Value& shifted);
// 2^(high + low), for |high| up to 2^20 and a low part below its last bit; infinities and 0 where it is out of range.
Value exp2_of_pair(const Reals& r, const Pair& x);
// a * b exactly, where nothing over- or underflows.
Pair product(const Reals& r, const Value& a, const Value& b);
// a + b exactly, where |a| >= |b| or a is 0.
Pair fast_sum(const Reals& r, const Value& a, const Value& b);

Value exp_of(const Reals& r, const Value& x);
Value exp2_of(const Reals& r, const Value& x);
// e^x / 2^g; g is of x's type, or one number.
Value exp_at_of(const Reals& r, const Value& x, const Value& g);
Value log_of(const Reals& r, const Value& x);
Value log2_of(const Reals& r, const Value& x);
Value tanh_of(const Reals& r, const Value& x);
Value erf_of(const Reals& r, const Value& x);
Value sine_of(const Reals& r, const Value& x, bool cosine);

}  // namespace quern::target
