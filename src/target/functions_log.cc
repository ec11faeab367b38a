// log, log2, pow. Errors in units of the last place: f32 log 1.5, log2 2.5, pow 1; f64 log 1.5, log2 2.5, pow 2.
//
// x = 2^e m, m between the roots of a half and of 2. In f32 log(1 + f) = f - f^2 / 2 + f^3 P(f); in f64 it is
// 2 atanh(f / (2 + f)). Powers need y log2(x) to more bits than the result has, since its absolute error becomes the
// relative error of the result: f32 is done in f64, f64 in pairs.
#include <tuple>

#include "target/arithmetic.h"

namespace quern::target {
namespace {

// (log(1 + f) - f + f^2 / 2) / f^3 on [0.7071 - 1, 1.4143 - 1]: 3e-8 absolute.
constexpr double kLog32[] = {0.333333311800300481,  -0.24999996957950882,  0.200007157488921017,
                             -0.166678023195012541, 0.142490576456974804,  -0.124256873314511061,
                             0.116854199234867393,  -0.114797338466376356, 0.0697161147145117783};
// (2 atanh(s) - 2 s) / s^3 in s^2: 2e-18.
constexpr double kAtanh64[] = {0.666666666666666665, 0.400000000000008832, 0.28571428570799785,  0.222222223925810451,
                               0.181817955475211362, 0.153862447376216666, 0.132686383692668239, 0.130880348509275537};
// (atanh(s) - s - s^3 / 3) / s^5 in s^2: 1.4e-16.
constexpr double kAtanhTail64[] = {0.200000000000000136,  0.142857142856690054,  0.111111111356634041,
                                   0.0909090410546094071, 0.0769278873165407213, 0.0664293441877287079,
                                   0.0645735609196754522};

struct Parts {
  Value exponent, mantissa;  // both reals
};

// x > 0 and finite.
Parts parts_of(const Reals& r, Value x) {
  int mantissa = r.wide() ? 52 : 23;
  // Numbers below the normal ones are brought up first.
  Value tiny = r.below(x, r.c(r.wide() ? 0x1p-1022 : 0x1p-126));
  x = r.pick(tiny, r.mul(x, r.c(r.wide() ? 0x1p52 : 0x1p23)), x);
  int64_t root = r.wide() ? 0x3fe6a09e667f3bcd : 0x3f3504f3;  // of a half
  Value shifted = r.w.sub(r.bits(x), r.n(root));
  // The exponent's low bits, biased to be positive, as a real: set as the mantissa of the magic number.
  Value e =
      r.w.binary("lshr", r.w.add(shifted, r.n(r.wide() ? int64_t{1023} << 52 : int64_t{127} << 23)), r.n(mantissa));
  Value biased = r.sub(r.real(r.w.binary("or", e, r.n(r.wide() ? 0x4330000000000000 : 0x4b000000))),
                       r.c(r.wide() ? 0x1p52 : 0x1p23));
  Value exponent = r.sub(biased, r.pick(tiny, r.c(r.wide() ? 1023 + 52 : 127 + 23), r.c(r.wide() ? 1023 : 127)));
  Value low = r.w.binary("and", shifted, r.n((int64_t{1} << mantissa) - 1));
  return {exponent, r.real(r.w.add(low, r.n(root)))};
}

// log(m) for m near 1.
Value log_near_one(const Reals& r, const Value& m) {
  Value f = r.sub(m, r.c(1));
  if (!r.wide()) {
    Value square = r.mul(f, f);
    Value tail = r.mul(r.mul(square, f), r.polynomial(f, kLog32));
    return r.add(f, r.fma(square, r.c(-0.5), tail));
  }
  // 2 s = f - s f keeps f exact: log = f - s (f - s^2 P).
  Value s = r.div(f, r.add(r.c(2), f));
  Value z = r.mul(s, s);
  Value tail = r.mul(z, r.polynomial(z, kAtanh64));
  return r.sub(f, r.mul(s, r.sub(f, tail)));
}

// What the logarithm is where x is not a positive finite number.
Value with_ends(const Reals& r, const Value& x, const Value& inside) {
  Value out = r.pick(r.same(x, r.c(0)), r.w.neg(r.infinity()), inside);
  out = r.pick(r.w.compare("ult", x, r.c(0)), r.nan(), out);  // NaN too
  return r.pick(r.same(x, r.infinity()), x, out);
}

// log2(x) to about 2^-65, x > 0 and finite; f64.
Pair log2_pair(const Reals& r, const Value& x) {
  auto [e, m] = parts_of(r, x);
  Value f = r.sub(m, r.c(1));
  Pair d = fast_sum(r, r.c(2), f);
  Value s = r.div(f, d.high);
  Pair back = product(r, s, d.high);
  Value s_low = r.div(r.sub(r.sub(r.sub(f, back.high), back.low), r.mul(s, d.low)), d.high);
  // atanh(s) = s + s^3 / 3 + s^5 R
  Pair z = product(r, s, s);
  Value z_low = r.fma(r.add(s, s), s_low, z.low);
  Pair cube = product(r, z.high, s);
  Value cube_low = r.add(r.fma(z.high, s_low, r.mul(z_low, s)), cube.low);
  Pair third = product(r, cube.high, r.c(0x1.5555555555555p-2));
  Value third_low =
      r.add(third.low, r.fma(cube_low, r.c(0x1.5555555555555p-2), r.mul(cube.high, r.c(0x1.5555555555555p-56))));
  Value tail = r.mul(r.mul(cube.high, z.high), r.polynomial(z.high, kAtanhTail64));
  Pair a = fast_sum(r, s, third.high);
  a = fast_sum(r, a.high, r.add(a.low, r.add(s_low, r.add(third_low, tail))));
  // times 2 / ln 2
  Pair p = product(r, a.high, r.c(0x1.71547652b82fep+1));
  Value p_low = r.add(p.low, r.fma(a.low, r.c(0x1.71547652b82fep+1), r.mul(a.high, r.c(0x1.777d0ffda0d24p-55))));
  Pair sum = fast_sum(r, e, p.high);  // |e| >= 1 > |p|, or e = 0
  return fast_sum(r, sum.high, r.add(sum.low, p_low));
}

}  // namespace

Value log_of(const Reals& r, const Value& x) {
  auto [e, m] = parts_of(r, x);
  Value y = log_near_one(r, m);
  Value out;
  if (r.wide()) {
    out = r.fma(e, r.c(0x1.62e42feep-1), r.fma(e, r.c(0x1.a39ef35793c76p-33), y));
  } else {
    out = r.fma(e, r.c(0.693359375), r.fma(e, r.c(-2.12194440e-4), y));
  }
  return with_ends(r, x, out);
}

Value log2_of(const Reals& r, const Value& x) {
  auto [e, m] = parts_of(r, x);
  Value y = log_near_one(r, m);
  // log2(e) in two parts: its rounding is worth up to half a unit.
  Value high = r.c(r.wide() ? 0x1.71547652b82fep+0 : 0x1.715476p+0);
  Value low = r.c(r.wide() ? 0x1.777d0ffda0d24p-56 : 0x1.4ae0c0p-26);
  return with_ends(r, x, r.add(e, r.fma(y, high, r.mul(y, low))));
}

Value power(Writer& w, const Features& has, const Value& base, const Value& exponent) {
  Type narrow = base.type;
  Value x = w.convert("fpext", base, Base::f64), y = w.convert("fpext", exponent, Base::f64);
  Reals r{w, has, with(narrow, Base::f64)};
  Value magnitude = r.abs(x);
  Value ordinary = w.binary("and", r.above(magnitude, r.c(0)), r.below(magnitude, r.infinity()));
  Value a = r.pick(ordinary, magnitude, r.c(1));
  Value inside, estimate;
  if (narrow.base == Base::f32) {
    estimate = r.mul(y, log2_of(r, magnitude));
    inside = exp2_of(r, estimate);
  } else {
    Pair l = log2_pair(r, a);
    // Beyond this every power is 0, 1 or infinite, and products of halves would overflow.
    Value limited = r.pick(r.below(r.abs(y), r.c(0x1p70)), y, r.c(0));
    Pair p = product(r, limited, l.high);
    p.low = r.fma(limited, l.low, p.low);
    inside = exp2_of_pair(r, p);
    Value rough = r.pick(ordinary, l.high, r.pick(r.same(magnitude, r.c(0)), w.neg(r.infinity()), magnitude));
    estimate = r.mul(y, rough);
    Value huge = w.compare("uge", r.abs(estimate), r.c(2000));
    inside = r.pick(huge, exp2_of(r, estimate), inside);
    inside = r.pick(w.compare("uno", estimate, estimate), r.nan(), inside);
  }
  // The sign: negative for a negative base and an odd exponent; no real number for one that is no integer.
  Value whole = r.same(rounded(w, has, tile::Op::kFloor, y), y);
  Value half = r.mul(y, r.c(0.5));
  Value odd = w.binary("and", whole, w.compare("une", rounded(w, has, tile::Op::kFloor, half), half));
  Value out = r.pick(odd, r.sign_of(inside, x), inside);
  Value invalid = w.binary("and", r.below(x, r.c(0)), w.compare("une", rounded(w, has, tile::Op::kFloor, y), y));
  invalid = w.binary("and", invalid, r.below(magnitude, r.infinity()));
  out = r.pick(invalid, r.nan(), out);
  // x^0 = 1^y = 1, NaN or not; and (-1)^inf = 1.
  Value one = w.binary("or", r.same(y, r.c(0)), r.same(x, r.c(1)));
  one = w.binary("or", one, w.binary("and", r.same(x, r.c(-1)), r.same(r.abs(y), r.infinity())));
  return w.convert("fptrunc", r.pick(one, r.c(1), out), narrow.base);
}

}  // namespace quern::target
