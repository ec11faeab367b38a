// sin and cos. Errors in units of the last place: f32 1, f64 1.5, over the whole range.
//
// x = q pi/2 + r, |r| <= pi/4. f32 is reduced in f64, whose pi/2 in two parts leaves 2^-54 of x / (pi/2) of error for
// |x| < 2^27. f64 uses pi/2 in three parts, of which two have exact products with q, for |x| < 10^6. Beyond, or where a
// lane is beyond, all lanes go the long way (M. Payne, R. Hanek, "Radian reduction for trigonometric functions", 1983):
// the significand, an integer, times those 192 bits of 2/pi that are neither multiples of 4 nor too small to matter.
#include <algorithm>

#include "target/arithmetic.h"

namespace quern::target {
namespace {

// (sin(r) / r - 1) / r^2 and (cos(r) - 1 + r^2 / 2) / r^4, in r^2.
constexpr double kSin32[] = {-0.166666666638440495, 0.0083333318703413485, -0.000198400843764227035,
                             2.72496200800753295e-6};
constexpr double kCos32[] = {0.0416666666643118234, -0.00138888876683706632, 0.000024800598408350121,
                             -2.7300704038086652e-7};
constexpr double kSin64[] = {-0.166666666666666667,   0.00833333333333333148,  -0.00019841269841265041,
                             2.75573192193205798e-6,  -2.50521062259944007e-8, 1.60585305966459547e-10,
                             -7.58663688282515966e-13};
constexpr double kCos64[] = {0.0416666666666666667,   -0.00138888888888888879, 0.0000248015873015846331,
                             -2.75573192213924907e-7, 2.08767557874926059e-9,  -1.14704603192095118e-11,
                             4.74583841253102297e-14};

// 2/pi: two words before the point, then the bits behind it.
constexpr const char* kTwoOverPi =
    "@two_over_pi = internal constant [44 x i32] [i32 0, i32 0, i32 u0xa2f9836e, i32 u0x4e441529, i32 u0xfc2757d1, i32 "
    "u0xf534ddc0, "
    "i32 u0xdb629599, i32 u0x3c439041, i32 u0xfe5163ab, i32 u0xdebbc561, i32 u0xb7246e3a, i32 u0x424dd2e0, "
    "i32 u0x06492eea, i32 u0x09d1921c, i32 u0xfe1deb1c, i32 u0xb129a73e, i32 u0xe88235f5, i32 u0x2ebb4484, "
    "i32 u0xe99c7026, i32 u0xb45f7e41, i32 u0x3991d639, i32 u0x835339f4, i32 u0x9c845f8b, i32 u0xbdf9283b, "
    "i32 u0x1ff897ff, i32 u0xde05980f, i32 u0xef2f118b, i32 u0x5a0a6d1f, i32 u0x6d367ecf, i32 u0x27cb09b7, "
    "i32 u0x4f463f66, i32 u0x9e5fea2d, i32 u0x7527bac7, i32 u0xebe5f17b, i32 u0x3d0739f7, i32 u0x8a5292ea, "
    "i32 u0x6bfb5fb1, i32 u0x1f8d5d08, i32 u0x56033046, i32 u0xfc7b6bab, i32 u0xf0cfbc20, i32 u0x9af4361d, "
    "i32 u0xa9e39161, i32 u0x5ee61b08], align 64";

struct Reduced {
  Value rest, quarter;  // f64; i64, of which two bits matter
};

// Any finite f64 of at least 2^20: exact to 2^-66 of the rest. NaN for infinities and NaN.
Reduced far(const Reals& r, const Value& x) {
  Writer& w = r.w;
  w.module().globals["two_over_pi"] = kTwoOverPi;
  auto low32 = [&](const Value& v) { return w.binary("and", v, r.n(0xffffffff)); };
  auto high32 = [&](const Value& v) { return w.binary("lshr", v, r.n(32)); };
  Value word = r.bits(r.abs(x));
  Value field = w.binary("lshr", word, r.n(52));
  Value m = w.binary("or", w.binary("and", word, r.n((int64_t{1} << 52) - 1)), r.n(int64_t{1} << 52));
  // x = m 2^e. Bit j behind the point of 2/pi counts 2^(e - j): bits up to j = e - 2 give multiples of 4. The first one
  // that matters, counted from the table's beginning:
  Value first = w.smax(w.sub(field, r.n(1075 + 2 - 64)), r.n(0));
  Value index = w.binary("lshr", first, r.n(5)), bit = w.binary("and", first, r.n(31));
  Value table{"@two_over_pi", {Base::ptr}};
  Value words[7];
  for (int i = 0; i < 7; ++i) {
    Value at = w.offset(table, w.binary("shl", w.add(index, r.n(i)), r.n(2)));
    Type type = with(r.integers(), Base::i32);
    Value v = type.lanes > 0 ? w.gather(type, at, 4, true) : w.load(type, at, 4, true);
    words[i] = w.convert("zext", v, Base::i64);
  }
  Value limbs[6];  // most significant first
  for (int i = 0; i < 6; ++i) {
    Value pair = w.binary("or", w.binary("shl", words[i], r.n(32)), words[i + 1]);
    limbs[i] = high32(w.binary("shl", pair, bit));
  }
  // limbs * m modulo 2^192; the point stands two bits below the top.
  Value m_low = low32(m), m_high = high32(m);
  Value out[6], carry = r.n(0);
  for (int i = 5; i >= 0; --i) {
    Value p = w.mul(limbs[i], m_low);
    Value sum = w.add(low32(p), carry);
    carry = w.add(high32(p), high32(sum));
    out[i] = low32(sum);
  }
  carry = r.n(0);
  for (int i = 4; i >= 0; --i) {
    Value p = w.mul(limbs[i + 1], m_high);
    Value sum = w.add(w.add(low32(p), out[i]), carry);
    carry = w.add(high32(p), high32(sum));
    out[i] = low32(sum);
  }
  auto word64 = [&](int i) { return w.binary("or", w.binary("shl", out[i], r.n(32)), out[i + 1]); };
  Value top = word64(0), next = word64(2), third = word64(4);
  Value fraction = w.binary("or", w.binary("shl", top, r.n(2)), w.binary("lshr", next, r.n(62)));
  Value tail = w.binary("or", w.binary("shl", next, r.n(2)), w.binary("lshr", third, r.n(62)));
  Value quarter = w.add(w.binary("lshr", top, r.n(62)), w.binary("lshr", fraction, r.n(63)));  // to the nearest
  Value a = r.mul(w.convert("sitofp", w.binary("ashr", fraction, r.n(32)), Base::f64), r.c(0x1p-32));
  Value b = r.mul(w.convert("sitofp", low32(fraction), Base::f64), r.c(0x1p-64));
  Value c = r.mul(w.convert("sitofp", w.binary("lshr", tail, r.n(1)), Base::f64), r.c(0x1p-127));
  Pair sum = fast_sum(r, a, b);
  Value low = r.add(sum.low, c);
  sum = fast_sum(r, sum.high, low);
  Pair angle = product(r, sum.high, r.c(0x1.921fb54442d18p+0));
  Value rest = r.fma(sum.high, r.c(0x1.1a62633145c07p-54), r.fma(sum.low, r.c(0x1.921fb54442d18p+0), angle.low));
  rest = r.add(angle.high, rest);
  Value negative = r.below(x, r.c(0));
  rest = r.pick(negative, w.neg(rest), rest);
  quarter = w.select(negative, w.sub(r.n(0), quarter), quarter);
  return {r.pick(r.below(r.abs(x), r.infinity()), rest, r.nan()), quarter};
}

// The same for all lanes, by a function of its own, lane after lane: inline it would be most of a kernel's code.
Reduced far_lanes(const Reals& r, const Value& x) {
  Module& module = r.w.module();
  Type scalar{Base::f64};
  if (!module.helpers.contains("far_angles")) {
    module.helpers["far_angles"] = "";
    // %slot: the angles, and behind them room for the rests and the quarters
    Writer w(module, "define internal void @far_angles(ptr %slot, i64 %bytes)");
    Writer::Loop loop = w.open_loop(i64(0), {"%bytes", {Base::i64}}, i64(8), true);
    Value at = w.offset({"%slot", {Base::ptr}}, loop.index);
    Reduced out = far({w, r.has, scalar}, w.load(scalar, at, 8, false));
    at = w.offset(at, {"%bytes", {Base::i64}});
    w.store(out.rest, at, 8);
    w.store(out.quarter, w.offset(at, {"%bytes", {Base::i64}}), 8);
    w.close_loop(loop);
    w.finish();
  }
  // The slot is each thread's own.
  auto own = [](Value v) {
    if (!is_vector(v.type)) v.type.lanes = 0;
    return v;
  };
  int64_t bytes = is_vector(x.type) ? 8 * x.type.lanes : 8;
  Value slot = r.w.stack(3 * bytes);
  r.w.store(own(x), slot, 8);
  r.w.effect("call void @far_angles(ptr " + slot.name + ", i64 " + std::to_string(bytes) + ")");
  auto result = [&](Type type, int64_t at) {
    Type memory = is_vector(type) ? type : Type{type.base};
    return r.w.splat(r.w.load(memory, r.w.offset(slot, i64(at)), 8, false), type.lanes);
  };
  return {result(x.type, bytes), result(r.integers(), 2 * bytes)};
}

Reduced reduced(const Reals& r, const Value& x, bool from_f32) {
  Writer& w = r.w;
  Value shifted = r.fma(x, r.c(0x1.45f306dc9c883p-1), r.c(r.magic()));
  Value k = r.sub(shifted, r.c(r.magic()));
  Value rest;
  if (from_f32) {
    rest = r.fma(k, r.c(-0x1.921fb5p+0), x);
    rest = r.fma(k, r.c(-0x1.110b4611a6263p-26), rest);
  } else {
    rest = r.fma(k, r.c(-0x1.921fb544p+0), x);
    rest = r.fma(k, r.c(-0x1.0b4611a6p-34), rest);
    rest = r.fma(k, r.c(-0x1.3198a2e037073p-69), rest);
  }
  Value quarter = r.bits(shifted);
  Value beyond = w.compare("uge", r.abs(x), r.c(from_f32 ? 0x1p27 : 1e6));
  Writer::Branch b = w.open_if(w.any(beyond), true);
  Reduced slow = far_lanes(r, x);
  std::vector<Value> chosen = {r.pick(beyond, slow.rest, rest), w.select(beyond, slow.quarter, quarter)};
  w.open_else(b, chosen);
  std::vector<Value> out = w.close_if(b, {rest, quarter});
  return {out[0], out[1]};
}

}  // namespace

Value sine_of(const Reals& r, const Value& x, bool cosine) {
  Writer& w = r.w;
  Reals wide{w, r.has, with(r.t, Base::f64)};
  auto [rest, quarter] = reduced(wide, w.convert("fpext", x, Base::f64), !r.wide());
  Value y = w.convert("fptrunc", rest, r.t.base);
  Value q = r.wide() ? quarter : w.convert("trunc", quarter, Base::i32);
  if (cosine) q = w.add(q, r.n(1));
  Value z = r.mul(y, y);
  std::span<const double> sines = kSin32, cosines = kCos32;
  if (r.wide()) sines = kSin64, cosines = kCos64;
  Value sine = r.fma(r.mul(y, z), r.polynomial(z, sines), y);
  // 1 - z / 2 is rounded; what it lost comes back with the small terms.
  Value half = r.mul(z, r.c(0.5)), near = r.sub(r.c(1), half);
  Value lost = r.sub(r.sub(r.c(1), near), half);
  Value cosine_value = r.add(near, r.fma(r.mul(z, z), r.polynomial(z, cosines), lost));
  Value odd = w.compare("ne", w.binary("and", q, r.n(1)), r.n(0));
  Value out = r.pick(odd, cosine_value, sine);
  Value turned = w.binary("shl", w.binary("and", q, r.n(2)), r.n(r.wide() ? 62 : 30));
  return r.real(w.binary("xor", r.bits(out), turned));
}

}  // namespace quern::target
