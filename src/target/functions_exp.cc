// exp, exp2, and what follows from them: tanh, erf. Errors, in units of the last place, measured in tests/unit/target:
// f32 exp 1.2, exp2 1, tanh 2.5, erf 2.5; f64 all below 3. Without fma up to one more.
//
// exp: x = k ln 2 + r, |r| <= ln 2 / 2, with ln 2 in two parts so that r is exact; a polynomial for e^r; 2^k as two
// factors, since k may be below the exponents of normal numbers while the result is still a number. exp_at is the same
// with g taken off k, so it is as good as exp.
#include "target/arithmetic.h"

namespace quern::target {
namespace {

// e^r on |r| <= 0.3466, constant term 1: error 1e-8 relative (f32).
constexpr double kExp32[] = {1, 1.00000005, 0.500000043, 0.166663654, 0.0416647771, 0.00837901293, 0.00140612476};
// 2^r on |r| <= 0.5: 1.9e-9.
constexpr double kExp2_32[] = {1, 0.693147206, 0.240226469, 0.0555032878, 0.00961848896, 0.00133999312, 0.000153458122};
// (e^r - 1 - r) / r^2: 1.4e-18 absolute.
constexpr double kExp64[] = {0.5,
                             0.16666666666666671,
                             0.0416666666666666698,
                             0.00833333333332612985,
                             0.00138888888888837445,
                             0.000198412698748390798,
                             0.0000248015873255609198,
                             2.75572553768004568e-6,
                             2.75572736263958932e-7,
                             2.51052267453451212e-8,
                             2.09146939239347273e-9};
// (2^r - 1 - r ln 2) / r^2: 8e-21.
constexpr double kExp2_64[] = {0.240226506959100712,    0.05550410866482158,     0.0096181291076284795,
                               0.00133335581464284445,  0.00015403530393370716,  0.0000152527338040548071,
                               1.32154868087278577e-6,  1.01780860178257237e-7,  7.05489729269162732e-9,
                               4.44553165184605309e-10, 2.57293445537867541e-11, 1.37150110054800954e-12};
// (tanh(x) / x - 1) / x^2 in x^2: x <= 0.625, 4.4e-8; x <= 0.6, 5e-20.
constexpr double kTanh32[] = {-0.333333289441342546, 0.133327697369763279, -0.0538509095785135808,
                              0.0209971789990747506, -0.00609671416590819757};
constexpr double kTanh64[] = {-0.333333333333333333,    0.133333333333333283,      -0.053968253968246057,
                              0.0218694885356697906,    -0.00886323551439734129,   0.00359212774113512551,
                              -0.00145583076242446987,  0.000589997513426251684,   -0.000238958882224577596,
                              0.0000962435984783182131, -0.0000374550261333158141, 0.0000126060825062310257,
                              -2.62222399240035886e-6};
// erf(x) / x in x^2 on [0, 1]: 3.4e-11, 5e-25.
constexpr double kErf32[] = {1.12837916706154342,    -0.376126384680287104,  0.112837824952368445,
                             -0.0268654307276702429, 0.0052210318078580228,  -0.000848408040553510629,
                             0.00011265959025606609, -9.66704457148699642e-6};
constexpr double kErf64[] = {
    1.12837916709551257,     -0.376126389031837525,    0.112837916709551257,    -0.026866170645131251,
    0.00522397762544217516,  -0.000854832702344949706, 0.000120553329816944951, -0.0000149256503537878664,
    1.64621142057980448e-6,  -1.6365840648222766e-7,   1.48071177197313286e-8,  -1.22895294199602936e-9,
    9.41255859499282917e-11, -6.63929490131611762e-12, 4.11730946097065714e-13, -1.74660927931806891e-14};
// erfc(x) e^(x x) in (x - 3) / (x + 3) on [1, 6]: 6e-11, 2e-19.
constexpr double kErfc32[] = {0.17900115119260013,   -0.326233560200858391,   0.245603799508033036,
                              -0.150115909341374478, 0.0716659124106954462,   -0.0243934310463658796,
                              0.0042678255631698813, 0.000718873970519253197, -0.000582799708852911778};
constexpr double kErfc64[] = {0.17900115118138995,      -0.326233560043037233,   0.245603801712330913,
                              -0.150115936500775814,    0.0716658371979733082,   -0.0243924993187907348,
                              0.00426913633307786864,   0.000707746443561197235, -0.000597061953181535196,
                              0.0000452552014057953603, 0.000064056577940516657, -0.0000128593473514552894,
                              -7.97769657964407286e-6,  2.1124428949403866e-6,   1.24596208471740918e-6,
                              -2.69151575928501248e-7,  -2.03555756422008592e-7};

// x within [low, high]; a NaN stays.
Value clamped(const Reals& r, Value x, double low, double high) {
  x = r.pick(r.below(x, r.c(low)), r.c(low), x);
  return r.pick(r.above(x, r.c(high)), r.c(high), x);
}

Value exp2_polynomial(const Reals& r, const Value& x) {
  if (!r.wide()) return r.polynomial(x, kExp2_32);
  Value tail = r.mul(x, r.polynomial(x, kExp2_64));
  return r.add(r.c(1), r.fma(x, r.c(0x1.62e42fefa39efp-1), r.mul(x, tail)));
}

}  // namespace

// AVX-512 scales by a power of two in one instruction, as rounded as the products below. Sixteen lanes at a time.
Value scaled_at_once(const Reals& r, const Value& p, const Value& k) {
  Writer& w = r.w;
  int part = r.wide() ? 8 : 16;
  Type type{r.t.base, part};
  std::string name = r.wide() ? "llvm.x86.avx512.mask.scalef.pd.512" : "llvm.x86.avx512.mask.scalef.ps.512";
  std::string all = r.wide() ? "i8 -1" : "i16 -1", mask = r.wide() ? "i8" : "i16", v = text(type);
  w.module().declarations.insert("declare " + v + " @" + name + "(" + v + ", " + v + ", " + v + ", " + mask + ", i32)");
  Value out;
  for (int from = 0; from < r.t.lanes; from += part) {
    std::vector<int> lanes, joined;
    for (int i = 0; i < part; ++i) lanes.push_back(from + i);
    Value a = w.shuffle(p, p, lanes), b = w.shuffle(k, k, lanes);
    Value scaled = w.pure(type,
                          "call " + v + " @" + name + "(" + a.typed() + ", " + b.typed() + ", " + v +
                              " zeroinitializer, " + all + ", i32 4)",
                          {a, b});
    if (from == 0) {
      out = scaled;
      continue;
    }
    // Both sides of a shuffle are equally long: what is new is lengthened first.
    std::vector<int> longer;
    for (int i = 0; i < from; ++i) longer.push_back(i % part), joined.push_back(i);
    for (int i = 0; i < part; ++i) joined.push_back(from + i);
    out = w.shuffle(out, from == part ? scaled : w.shuffle(scaled, scaled, longer), joined);
  }
  return out;
}

Value scaled(const Reals& r, const Value& p, const Value& shifted) {
  if (r.has.avx512 && r.t.lanes > 0 && r.t.lanes % (r.wide() ? 8 : 16) == 0) {
    return scaled_at_once(r, p, r.sub(shifted, r.c(r.magic())));
  }
  // Halves of k; what stands above k in the word falls off at the top.
  int mantissa = r.wide() ? 52 : 23;
  Value k = r.bits(shifted);
  Value half = r.w.binary("lshr", k, r.n(1));
  Value rest = r.w.sub(k, half);
  Value one = r.n(r.wide() ? int64_t{0x3ff} << 52 : 0x3f800000);
  auto power = [&](const Value& e) { return r.real(r.w.add(r.w.binary("shl", e, r.n(mantissa)), one)); };
  return r.mul(r.mul(p, power(half)), power(rest));
}

Value exp_of(const Reals& r, const Value& x) {
  Value a = r.wide() ? clamped(r, x, -746, 710) : clamped(r, x, -104, 89);
  Value shifted = r.fma(a, r.c(1.4426950408889634), r.c(r.magic()));
  Value k = r.sub(shifted, r.c(r.magic()));
  // The high parts have so few bits that their products with k are exact.
  Value rest = r.fma(k, r.c(r.wide() ? -0x1.62e42feep-1 : -0.693359375), a);
  rest = r.fma(k, r.c(r.wide() ? -0x1.a39ef35793c76p-33 : 2.12194440e-4), rest);
  if (!r.wide()) return scaled(r, r.polynomial(rest, kExp32), shifted);
  Value tail = r.mul(rest, r.polynomial(rest, kExp64));
  return scaled(r, r.add(r.c(1), r.fma(rest, tail, rest)), shifted);
}

Value exp2_of(const Reals& r, const Value& x) {
  Value a = r.wide() ? clamped(r, x, -1076, 1025) : clamped(r, x, -151, 129);
  Value shifted = r.add(a, r.c(r.magic()));
  Value rest = r.sub(a, r.sub(shifted, r.c(r.magic())));
  return scaled(r, exp2_polynomial(r, rest), shifted);
}

// Like exp, with g taken off k: x may be far from 0 as long as x and g ln 2 are near each other. Products of the high
// part of ln 2 with k are exact while k has no more bits than 24 (53) less those of that part: 15 (20).
Value exp_at_of(const Reals& r, const Value& x, const Value& g) {
  Reals one{r.w, r.has, g.type};
  double most = r.wide() ? 0x1p40 : 0x1p21, ln2 = 0.6931471805599453;
  Value unit = clamped(one, g, -most, most);
  Value low = one.fma(unit, one.c(ln2), one.c(r.wide() ? -746 : -105));
  Value high = one.fma(unit, one.c(ln2), one.c(r.wide() ? 710 : 89));
  high = one.pick(one.below(g, one.c(most)), high, low);
  Value zero = one.sub(one.c(r.magic()), unit);  // what stands for k = g
  auto all = [&](const Value& v) { return r.w.splat(v, r.t.lanes); };
  low = all(low), high = all(high), zero = all(zero);
  Value a = r.pick(r.below(x, low), low, x);
  a = r.pick(r.above(a, high), high, a);
  Value shifted = r.fma(a, r.c(1.4426950408889634), zero);
  Value k = r.sub(shifted, zero), rest = r.fma(k, r.c(r.wide() ? -0x1.62e42feep-1 : -0.693359375), a);
  if (r.wide()) {
    rest = r.fma(k, r.c(-0x1.a39ef35793c76p-33), rest);
  } else if (r.has.fma) {
    rest = r.fma(k, r.c(2.12194440e-4), rest);
  } else {
    // The low part, too, has a product that must not be rounded.
    rest = r.add(rest, r.mul(k, r.c(0x1.bdp-13)));
    rest = r.add(rest, r.mul(k, r.c(0x1.05c610p-29)));
  }
  if (!r.wide()) return scaled(r, r.polynomial(rest, kExp32), shifted);
  Value tail = r.mul(rest, r.polynomial(rest, kExp64));
  return scaled(r, r.add(r.c(1), r.fma(rest, tail, rest)), shifted);
}

Value exp2_of_pair(const Reals& r, const Pair& x) {
  Value a = r.wide() ? clamped(r, x.high, -1076, 1025) : clamped(r, x.high, -151, 129);
  Value shifted = r.add(a, r.c(r.magic()));
  Value rest = r.add(r.sub(a, r.sub(shifted, r.c(r.magic()))), r.pick(r.same(a, x.high), x.low, r.c(0)));
  return scaled(r, exp2_polynomial(r, rest), shifted);
}

// Odd; near 0 a polynomial, else 1 - 2 / (e^2x + 1), which loses nothing once it is above a half.
Value tanh_of(const Reals& r, const Value& x) {
  Value magnitude = r.abs(x), square = r.mul(x, x);
  std::span<const double> coefficients = kTanh32;
  if (r.wide()) coefficients = kTanh64;
  Value near = r.fma(r.mul(x, square), r.polynomial(square, coefficients), x);
  Value e = exp_of(r, r.add(magnitude, magnitude));
  Value far = r.sub(r.c(1), r.div(r.c(2), r.add(e, r.c(1))));
  return r.pick(r.below(magnitude, r.c(r.wide() ? 0.6 : 0.625)), near, r.sign_of(far, x));
}

// Odd; below 1 a polynomial, else 1 - erfc, whose error counts for less the smaller it is.
Value erf_of(const Reals& r, const Value& x) {
  Value magnitude = r.abs(x);
  Value square = r.mul(x, x);
  std::span<const double> small = kErf32, large = kErfc32;
  if (r.wide()) small = kErf64, large = kErfc64;
  Value near = r.mul(x, r.polynomial(r.pick(r.below(magnitude, r.c(1)), square, r.c(0)), small));
  Value a = r.pick(r.above(magnitude, r.c(6)), r.c(6), magnitude);
  Value t = r.div(r.sub(a, r.c(3)), r.add(a, r.c(3)));
  Value complement = r.mul(exp_of(r, r.w.neg(r.mul(a, a))), r.polynomial(t, large));
  Value far = r.sign_of(r.sub(r.c(1), complement), x);
  return r.pick(r.w.compare("uge", magnitude, r.c(1)), r.pick(r.w.compare("uno", x, x), x, far), near);
}

}  // namespace quern::target
