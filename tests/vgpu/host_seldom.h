// What functions.def names of forms that compilers write seldom.
#pragma once

#include "host_real.h"

namespace quern::oracle {

inline s16 mad_lo(s16 a, s16 b, s16 c) { return static_cast<s16>(s32{a} * b + c); }
inline u32 mad_wide(u16 a, u16 b, u32 c) { return static_cast<u32>(a) * b + c; }
inline u32 mul24_hi(u32 a, u32 b) { return static_cast<u32>(u64{a & 0xffffff} * (b & 0xffffff) >> 16); }
inline s64 mad_hi(s64 a, s64 b, s64 c) {
  return static_cast<s64>(static_cast<u64>(mul_hi(a, b)) + static_cast<u64>(c));
}
inline u64 sad(s64 a, s64 b, u64 c) { return static_cast<u64>(a < b ? s128{b} - a : s128{a} - b) + c; }
inline u16 sad(u16 a, u16 b, u16 c) { return static_cast<u16>(std::abs(a - b) + c); }
inline s16 negated(s16 a) { return static_cast<s16>(-a); }
inline u64 cnot(u64 a) { return a == 0; }
inline u64 madc(u64 a, u64 b, u64 c) {
  u128 product = static_cast<u128>(a) * b, low = (product & ~u64{0}) + c;
  return static_cast<u64>(low) ^ static_cast<u64>((product >> 64) + c + (low >> 64)) * 3;
}
inline u32 chain(u32 a, u32 b, u32 c) {
  u32 borrow = a < b, next = u64{b} < u64{c} + borrow;
  u32 r0 = a - b, r1 = b - c - borrow, r2 = c - a - next;
  u64 high = u64{mul_hi(a, b)} + c;
  u32 r3 = static_cast<u32>(high) + static_cast<u32>(high >> 32);
  return r0 ^ r1 * 3 ^ r2 * 5 ^ r3 * 7;
}
inline u32 add_u16x2(u32 a, u32 b) {
  return by_parts(a, b, 16, [](s64 x, s64 y) { return x + y; });
}
inline u32 min_s16x2(u32 a, u32 b) {
  return by_parts(a, b, 16, [](s64 x, s64 y) { return std::min(x, y); });
}
inline s32 max_relu(s32 a, s32 b) { return std::max({a, b, 0}); }
inline s32 dp2a_mixed(u32 a, s32 b, s32 c) {
  return static_cast<s32>(s64{c} + part(a, 0, 16) * part(b, 2, 8) + part(a, 1, 16) * part(b, 3, 8));
}
inline u32 vset4(u32 a, u32 b) {
  u32 greater = by_parts(a, b, 8, [](s64 x, s64 y) { return x > y ? -1 : 0; });
  u32 no_more = by_parts(a, b, 16, [](s64 x, s64 y) { return (x & 0xffff) <= (y & 0xffff) ? -1 : 0; });
  return greater ^ no_more * 3;
}
inline u32 vavrg2_add(u32 a, u32 b, u32 c) {
  for (u32 i = 0; i < 2; ++i) c += static_cast<u32>((part(a, i, 16) + part(b, i, 16) + 1) >> 1);
  return c;
}
inline u32 vabsdiff(s32 a, s32 b, u32 c) { return std::min(static_cast<u32>(std::abs(s64{a} - b)), c); }
inline u32 vmad_u8(u32 a, u32 b, u32 c) { return clamped<u32>((s128{part(a, 3, 8)} * part(b, 0, 16) + c) >> 15); }

inline u32 compare_and(s32 a, f64 b, u32 c) {
  bool with = a > 5, is = !(b < 1.5);
  return (is && with ? c : 9) + (!is && with ? 100 : 0);
}
inline u32 compare_xor(f16 a, f16 b, u32 c) {
  bool numbers = !std::isnan(wide(a)) && !std::isnan(wide(b));
  return numbers != (c < 77) ? 1 : 2;
}
inline f32 set_f32(f64 a, f64 b) { return !(a <= b); }
inline u32 set_u32(f32 a, f32 b) { return flushed(a) <= flushed(b) ? ~0u : 0; }
inline f16x2 set_equal(f16x2 a, f16x2 b) {
  return each<f16x2, f16>([](f16 x, f16 y) { return narrowed<f16>(!(wide(x) < wide(y)) && !(wide(x) > wide(y))); }, a,
                          b);
}
inline bf16x2 set_less(bf16x2 a, bf16x2 b) {
  return each<bf16x2, bf16>([](bf16 x, bf16 y) { return narrowed<bf16>(wide(x) < wide(y)); }, a, b);
}

inline f16 flushed(f16 a) { return {static_cast<u16>((a.bits & 0x7c00) ? a.bits : a.bits & 0x8000)}; }
inline f16 saturated(f64 v) { return narrowed<f16>(!(v > 0) ? 0 : v < 1 ? v : 1); }
inline f16 subtract_flushed(f16 a, f16 b) { return flushed(subtract(flushed(a), flushed(b))); }
inline f16x2 multiply_add_flushed(f16x2 a, f16x2 b, f16x2 c) {
  return each<f16x2, f16>([](f16 x, f16 y, f16 z) { return flushed(multiply_add(flushed(x), flushed(y), flushed(z))); },
                          a, b, c);
}
inline f16x2 multiply_saturated(f16x2 a, f16x2 b) {
  return each<f16x2, f16>([](f16 x, f16 y) { return saturated(wide(x) * wide(y)); }, a, b);
}
inline bf16x2 multiply_add_relu(bf16x2 a, bf16x2 b, bf16x2 c) {
  return each<bf16x2, bf16>([](bf16 x, bf16 y, bf16 z) { return multiply_add_relu(x, y, z); }, a, b, c);
}
inline f16 minimum_xorsign(f16 a, f16 b) {
  f64 r = minimum(std::fabs(wide(a)), std::fabs(wide(b)));
  return narrowed<f16>((a.bits ^ b.bits) & 0x8000 ? -r : r);
}
inline bf16x2 minimum_nan(bf16x2 a, bf16x2 b) {
  return each<bf16x2, bf16>([](bf16 x, bf16 y) { return narrowed<bf16>(minimum_nan(wide(x), wide(y))); }, a, b);
}
inline f16x2 negated(f16x2 a) { return {a.bits ^ 0x80008000}; }
inline bf16x2 absolute(bf16x2 a) { return {a.bits & 0x7fff7fff}; }

inline f32 multiply_add_flushed_up(f32 a, f32 b, f32 c) {
  return flushed(multiply_add(flushed(a), flushed(b), flushed(c), way{3}));
}
inline f32 subtract_flushed_saturated_to_zero(f32 a, f32 b) {
  return saturated(flushed(subtract(flushed(a), flushed(b), way{1})));
}
inline f32 divide_flushed(f32 a, f32 b) { return flushed(flushed(a) / flushed(b)); }
inline f32 square_root_flushed_down(f32 a) { return flushed(square_root(flushed(a), way{2})); }
inline f32 maximum_flushed(f32 a, f32 b) { return maximum(flushed(a), flushed(b)); }
inline s32 to_s32_flushed(f32 a) { return static_cast<s32>(to_integer(flushed(a), way{3}, 4)); }
inline f32 narrow_saturated_flushed(f64 a) { return saturated(flushed(narrow(a, way{1}))); }
inline f64 whole_saturated(f64 a) {
  f64 r = std::nearbyint(a);
  return !(r > 0) ? 0 : r < 1 ? r : 1;
}
inline f16 whole_up(f16 a) { return narrowed<f16>(std::ceil(wide(a))); }
inline u32 to_u8_saturated(f32 a) { return static_cast<u32>(to_integer(a, way{0}, 1)); }
inline f16 to_f16_saturated(f32 a) { return saturated(f64{a}); }
inline f64 relu(f64 a) { return a <= 0 ? 0 : a; }
inline f16x2 to_f16x2_relu(f32 a, f32 b) {
  return {to_f16(relu(a)).bits | static_cast<u32>(to_f16(relu(b)).bits) << 16};
}
inline bf16x2 to_bf16x2_relu_to_zero(f32 a, f32 b) {
  return {to_bf16(relu(a), way{1}).bits | static_cast<u32>(to_bf16(relu(b), way{1}).bits) << 16};
}
inline u16 codes(const Format& f, f64 low, f64 high) {
  return static_cast<u16>(encode(f, low, {0}, true) | encode(f, high, {0}, true) << 8);
}
inline u16 to_e4m3x2_relu(f32 a, f32 b) { return codes(kE4m3, relu(a), relu(b)); }
inline u16 to_e5m2x2_relu(f16x2 a) {
  auto half = [&](int i) { return relu(wide(f16{static_cast<u16>(a.bits >> i * 16)})); };
  return codes(kE5m2, half(0), half(1));
}
inline bf16 to_bf16(f16 a) { return to_bf16(wide(a)); }
inline u32 class_of(f32 a) {
  int c = std::fpclassify(a);
  return (c == FP_SUBNORMAL ? 32 : 0) | (c == FP_NORMAL ? 16 : 0);
}

}  // namespace quern::oracle
