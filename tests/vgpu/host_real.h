// What functions.def names of reals (PTX ISA 9.7.3, 9.7.4, 9.7.9.21). f32 and f64 are this processor's own, under the
// rounding that is asked for; a conversion goes by way of long double, which holds every operand; narrow reals by way
// of f64 that is rounded to odd, and from there once.
#pragma once

#include <bit>
#include <cfenv>
#include <cmath>

#include "host_integer.h"

namespace quern::oracle {

// Sets the processor's rounding. What is computed under it passes volatiles, or the compiler would move it away.
class Rounding {
 public:
  explicit Rounding(way w) : before_(std::fegetround()) {
    constexpr int kModes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    std::fesetround(kModes[w.bits & 3]);
  }
  ~Rounding() { std::fesetround(before_); }
  Rounding(const Rounding&) = delete;
  Rounding& operator=(const Rounding&) = delete;

 private:
  int before_;
};

template <class R, class F, class... A>
R rounded(way w, F f, A... a) {
  Rounding set(w);
  volatile R r = f(*const_cast<volatile A*>(&a)...);
  return r;
}

template <class T>
concept Wide = std::is_floating_point_v<T>;

template <Wide T>
T add(T a, T b, way w) {
  return rounded<T>(
      w, [](T x, T y) { return x + y; }, a, b);
}
template <Wide T>
T subtract(T a, T b, way w) {
  return rounded<T>(
      w, [](T x, T y) { return x - y; }, a, b);
}
template <Wide T>
T multiply(T a, T b, way w) {
  return rounded<T>(
      w, [](T x, T y) { return x * y; }, a, b);
}
template <Wide T>
T divide(T a, T b, way w) {
  return rounded<T>(
      w, [](T x, T y) { return x / y; }, a, b);
}
template <Wide T>
T multiply_add(T a, T b, T c, way w = {0}) {
  return rounded<T>(
      w, [](T x, T y, T z) { return std::fma(x, y, z); }, a, b, c);
}
template <Wide T>
T square_root(T a, way w = {0}) {
  return rounded<T>(
      w, [](T x) { return std::sqrt(x); }, a);
}
template <Wide T>
T reciprocal(T a, way w) {
  return divide(T{1}, a, w);
}
template <Wide T>
T to_whole(T a, way w) {
  return rounded<T>(
      w, [](T x) { return std::nearbyint(x); }, a);
}
inline f32 narrow(f64 a, way w) {
  return rounded<f32>(
      w, [](f64 x) { return static_cast<f32>(x); }, a);
}

inline f32 remainder_to_zero(f32 a, f32 b) { return std::fmod(a, b); }
inline f64 remainder_to_zero(f64 a, f64 b) { return std::fmod(a, b); }
inline f64 remainder_to_nearest(f64 a, f64 b) { return std::remainder(a, b); }
template <Wide T>
T next_after(T a, T b) {
  return std::nextafter(a, b);
}
template <Wide T>
T scaled(T a, int b) {
  return std::ldexp(a, b);
}
template <Wide T>
T round_away(T a) {
  return std::round(a);
}
inline f64 exponent_of(f64 a) { return std::logb(a); }
template <Wide T>
T copy_sign(T a, T b) {
  return std::copysign(a, b);
}
inline f64 absolute(f64 a) { return std::fabs(a); }
inline u32 bits_of(f32 a) { return std::bit_cast<u32>(a); }
inline u64 bits_of(f64 a) { return std::bit_cast<u64>(a); }

template <Wide T>
T least(T a, T b) {  // of numbers; -0 is below +0
  return a < b || (a == b && std::signbit(a)) ? a : b;
}
template <Wide T>
T minimum(T a, T b) {
  return std::isnan(a) ? b : std::isnan(b) ? a : least(a, b);
}
template <Wide T>
T maximum(T a, T b) {
  return -minimum(-a, -b);
}
template <Wide T>
T minimum_nan(T a, T b) {
  return std::isnan(a) || std::isnan(b) ? std::numeric_limits<T>::quiet_NaN() : least(a, b);
}
inline f32 maximum_xorsign(f32 a, f32 b) {
  f32 r = maximum(std::fabs(a), std::fabs(b));
  return std::copysign(r, std::signbit(a) != std::signbit(b) ? -1.0f : 1.0f);
}
inline f32 flushed(f32 a) { return std::fpclassify(a) == FP_SUBNORMAL ? std::copysign(0.0f, a) : a; }
inline f32 saturated(f32 a) { return !(a > 0) ? 0.0f : a < 1 ? a : 1.0f; }
inline f32 add_flushed(f32 a, f32 b) { return flushed(flushed(a) + flushed(b)); }
inline f32 multiply_flushed(f32 a, f32 b) { return flushed(flushed(a) * flushed(b)); }
inline f32 multiply_add_saturated(f32 a, f32 b, f32 c) { return saturated(std::fma(a, b, c)); }
inline f32 multiply_add_flushed_saturated(f32 a, f32 b, f32 c) {
  return saturated(flushed(std::fma(flushed(a), flushed(b), flushed(c))));
}
inline f32 add_saturated(f32 a, f32 b) { return saturated(a + b); }
inline u32 class_of(f64 a) {
  int c = std::fpclassify(a);
  u32 r = (std::isfinite(a) ? 1 : 0) | (std::isinf(a) ? 2 : 0) | (std::isnan(a) ? 8 : 4);
  return r | (c == FP_NORMAL ? 16 : 0) | (c == FP_SUBNORMAL ? 32 : 0);
}

// A narrow format: its codes without the sign, in order of what they stand for.
struct Format {
  int mantissa, least_exponent;  // of normal numbers
  u32 most;                      // the greatest finite code
  u32 infinity, nan;             // infinity: 0 where there is none
  int bits;
};
constexpr Format kF16{10, -14, 0x7bff, 0x7c00, 0x7fff, 16}, kBf16{7, -126, 0x7f7f, 0x7f80, 0x7fff, 16};
constexpr Format kE4m3{3, -6, 0x7e, 0, 0x7f, 8}, kE5m2{2, -14, 0x7b, 0x7c, 0x7f, 8};
constexpr Format kTf32{10, -126, 0x3fbff, 0x3fc00, 0x3ffff, 19};

inline f64 decode(const Format& f, u32 code) {
  u32 size = code & ((1u << (f.bits - 1)) - 1);
  f64 sign = code >> (f.bits - 1) & 1 ? -1 : 1;
  if (f.infinity && size == f.infinity) return sign * std::numeric_limits<f64>::infinity();
  if (size > f.most) return std::numeric_limits<f64>::quiet_NaN();
  int exponent = static_cast<int>(size >> f.mantissa), m = static_cast<int>(size & ((1u << f.mantissa) - 1));
  if (exponent) m += 1 << f.mantissa;
  return sign * std::ldexp(m, std::max(exponent - 1, 0) + f.least_exponent - f.mantissa);
}

// `to_most`: what is too large becomes the greatest number, infinities too. `away`: ties away from zero.
inline u32 encode(const Format& f, f64 v, way w = {0}, bool to_most = false, bool away = false) {
  u32 sign = std::signbit(v) ? 1u << (f.bits - 1) : 0;
  if (std::isnan(v)) return f.nan;
  u32 beyond = to_most || !f.infinity ? f.most : f.infinity;
  if (std::isinf(v)) return sign | beyond;
  if (v == 0) return sign;
  int exponent = std::max(std::ilogb(v), f.least_exponent);
  f64 steps = std::ldexp(v, f.mantissa - exponent);  // exact: v is no smaller than f64's own steps
  steps = std::fabs(away ? std::round(steps) : to_whole(steps, w));
  u64 code = (static_cast<u64>(exponent - f.least_exponent) << f.mantissa) + static_cast<u64>(steps);
  if (code <= f.most) return sign | static_cast<u32>(code);
  bool inward = (w.bits & 3) == 1 || ((w.bits & 3) == 2 && v > 0) || ((w.bits & 3) == 3 && v < 0);
  return sign | (inward ? f.most : beyond);
}

// a * b + c of narrow reals: the product is exact, the sum cut to odd.
inline f64 sum_to_odd(f64 a, f64 b, f64 c) {
  volatile f64 product = a * b;
  std::feclearexcept(FE_INEXACT);
  f64 sum = add(static_cast<f64>(product), c, way{1});
  if (std::fetestexcept(FE_INEXACT)) sum = std::bit_cast<f64>(std::bit_cast<u64>(sum) | 1);
  if (sum == 0) return product + c;  // the sign that rounding to nearest gives it
  return sum;
}

template <class T>
constexpr Format kFormat{};
template <>
inline constexpr Format kFormat<f16> = kF16;
template <>
inline constexpr Format kFormat<bf16> = kBf16;
template <class T>
concept Narrow = std::is_same_v<T, f16> || std::is_same_v<T, bf16>;

template <Narrow T>
f64 wide(T a) {
  return decode(kFormat<T>, a.bits);
}
template <Narrow T>
T narrowed(f64 v) {
  return {static_cast<u16>(encode(kFormat<T>, v))};
}
template <Narrow T>
T add(T a, T b) {
  return narrowed<T>(sum_to_odd(wide(a), 1, wide(b)));
}
template <Narrow T>
T subtract(T a, T b) {
  return narrowed<T>(sum_to_odd(wide(a), 1, -wide(b)));
}
template <Narrow T>
T multiply(T a, T b) {
  return narrowed<T>(wide(a) * wide(b));
}
template <Narrow T>
T multiply_add(T a, T b, T c) {
  return narrowed<T>(sum_to_odd(wide(a), wide(b), wide(c)));
}
template <Narrow T>
T multiply_add_relu(T a, T b, T c) {
  f64 v = sum_to_odd(wide(a), wide(b), wide(c));
  return narrowed<T>(v <= 0 ? 0 : v);
}
inline f16 add_saturated(f16 a, f16 b) {
  f64 v = wide(a) + wide(b);  // exact
  return narrowed<f16>(!(v > 0) ? 0 : v < 1 ? v : 1);
}
template <Narrow T>
T minimum(T a, T b) {
  return narrowed<T>(minimum(wide(a), wide(b)));
}
template <Narrow T>
T maximum(T a, T b) {
  return narrowed<T>(maximum(wide(a), wide(b)));
}
inline f16 maximum_nan(f16 a, f16 b) { return narrowed<f16>(-minimum_nan(-wide(a), -wide(b))); }
template <Narrow T>
u32 compared(T x, T y) {
  f64 a = wide(x), b = wide(y);
  bool nan = std::isnan(a) || std::isnan(b);
  u32 r = 0, at = 0;
  for (bool one :
       {a < b, a <= b, a == b, !nan && a != b, a > b, a >= b, nan || a < b, nan || a >= b, nan || a == b, a != b})
    r |= u32{one} << at++;
  return r;
}

// Pairs.
template <class Pair, class One, class F, class... A>
Pair each(F f, A... a) {
  One low = f(One{static_cast<u16>(a.bits)}...), high = f(One{static_cast<u16>(a.bits >> 16)}...);
  return {low.bits | static_cast<u32>(high.bits) << 16};
}
template <class T>
struct OneOf {};
template <>
struct OneOf<f16x2> {
  using Type = f16;
};
template <>
struct OneOf<bf16x2> {
  using Type = bf16;
};
template <class T>
requires requires { typename OneOf<T>::Type; }
T add(T a, T b) {
  return each<T, typename OneOf<T>::Type>([](auto x, auto y) { return add(x, y); }, a, b);
}
inline f16x2 multiply(f16x2 a, f16x2 b) {
  return each<f16x2, f16>([](f16 x, f16 y) { return multiply(x, y); }, a, b);
}
template <class T>
requires requires { typename OneOf<T>::Type; }
T multiply_add(T a, T b, T c) {
  return each<T, typename OneOf<T>::Type>([](auto x, auto y, auto z) { return multiply_add(x, y, z); }, a, b, c);
}
inline f16x2 minimum(f16x2 a, f16x2 b) {
  return each<f16x2, f16>([](f16 x, f16 y) { return minimum(x, y); }, a, b);
}
inline bf16x2 maximum(bf16x2 a, bf16x2 b) {
  return each<bf16x2, bf16>([](bf16 x, bf16 y) { return maximum(x, y); }, a, b);
}

// Conversions.
template <Narrow T>
f32 to_f32(T a) {
  return static_cast<f32>(wide(a));
}
inline f16 to_f16(f64 a, way w = {0}) { return {static_cast<u16>(encode(kF16, a, w))}; }
inline bf16 to_bf16(f64 a, way w = {0}) { return {static_cast<u16>(encode(kBf16, a, w))}; }
inline f16x2 to_f16x2(f32 a, f32 b) { return {to_f16(a).bits | static_cast<u32>(to_f16(b).bits) << 16}; }
inline bf16x2 to_bf16x2(f32 a, f32 b) { return {to_bf16(a).bits | static_cast<u32>(to_bf16(b).bits) << 16}; }
inline e4m3 to_e4m3(f32 a) { return {static_cast<u8>(encode(kE4m3, a, {0}, true))}; }
inline e5m2 to_e5m2(f32 a) { return {static_cast<u8>(encode(kE5m2, a, {0}, true))}; }
inline e4m3 to_e4m3(f16 a) { return to_e4m3(to_f32(a)); }
inline e5m2 to_e5m2(f16 a) { return to_e5m2(to_f32(a)); }
inline f16 to_f16(e4m3 a) { return to_f16(decode(kE4m3, a.bits)); }
inline f16 to_f16(e5m2 a) { return to_f16(decode(kE5m2, a.bits)); }
inline f32 to_tf32(f32 a) { return std::bit_cast<f32>(encode(kTf32, a, {0}, false, true) << 13); }

// NaN gives 0 or, of f64 and as s64 or u64, the highest bit alone.
template <class T>
u64 real_to_integer(long double v, way w, T, bool of_f64) {
  if (std::isnan(v)) {
    bool zero = !of_f64 && sizeof(T) < 8;
    return zero ? 0 : static_cast<u64>(s128{static_cast<T>(u64{1} << (kBits<T> - 1))});
  }
  long double whole = rounded<long double>(
      w, [](long double x) { return std::nearbyint(x); }, v);
  long double low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  T r = whole <= low    ? std::numeric_limits<T>::min()
        : whole >= high ? std::numeric_limits<T>::max()
                        : static_cast<T>(whole);
  return static_cast<u64>(s128{r});
}
inline u64 to_integer(f32 a, way w, u8 t) {
  return with_integer(t, [&](auto x) { return real_to_integer(a, w, x, false); });
}
inline u64 to_integer(f64 a, way w, u8 t) {
  return with_integer(t, [&](auto x) { return real_to_integer(a, w, x, true); });
}
inline u64 to_integer(f16 a, way w, u8 t) { return to_integer(to_f32(a), w, t); }
// There are no conversions between bf16 and integers of 8 bits: u64 stands for them.
inline u8 without_8(u8 t) { return (t & 7) < 2 ? 7 : t; }
inline u64 to_integer(bf16 a, way w, u8 t) { return to_integer(to_f32(a), w, without_8(t)); }
inline s64 f16_to_s64_down(f16 a) { return static_cast<s64>(to_integer(a, way{2}, 6)); }
inline s64 bf16_to_s64_down(bf16 a) { return static_cast<s64>(to_integer(a, way{2}, 6)); }

inline long double integer_value(u64 a, u8 t) {
  return with_integer(t, [&](auto x) { return static_cast<long double>(static_cast<decltype(x)>(a)); });
}
inline f32 integer_to_f32(u64 a, way w, u8 t) {
  return rounded<f32>(
      w, [](long double x) { return static_cast<f32>(x); }, integer_value(a, t));
}
inline f64 integer_to_f64(u64 a, way w, u8 t) {
  return rounded<f64>(
      w, [](long double x) { return static_cast<f64>(x); }, integer_value(a, t));
}
inline f64 odd_f64(long double v) {
  f64 r = rounded<f64>(
      way{1}, [](long double x) { return static_cast<f64>(x); }, v);
  return r == v ? r : std::bit_cast<f64>(std::bit_cast<u64>(r) | 1);
}
inline f16 integer_to_f16(u64 a, way w, u8 t) { return to_f16(odd_f64(integer_value(a, t)), w); }
inline bf16 integer_to_bf16(u64 a, way w, u8 t) { return to_bf16(odd_f64(integer_value(a, without_8(t))), w); }

}  // namespace quern::oracle
