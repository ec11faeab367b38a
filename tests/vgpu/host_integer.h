// What functions.def names of integers, as the manual tells it, a bit or a byte at a time (PTX ISA 9.7.1, 9.7.2, 9.7.8,
// 9.7.9, 9.7.19).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "types.h"

namespace quern::oracle {

__extension__ using s128 = __int128;
__extension__ using u128 = unsigned __int128;

template <class T>
constexpr u32 kBits = sizeof(T) * 8;

template <class T>
T clamped(s128 v) {
  return static_cast<T>(std::clamp<s128>(v, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

template <class T>
T mul_hi(T a, T b) {
  using Wide = std::conditional_t<std::is_signed_v<T>, s128, u128>;
  return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b) >> kBits<T>);
}
inline s32 low24(s32 a) { return static_cast<s32>(static_cast<u32>(a) << 8) >> 8; }
inline u32 mul24(u32 a, u32 b) { return static_cast<u32>(static_cast<u64>(a & 0xffffff) * (b & 0xffffff)); }
inline s32 mul24(s32 a, s32 b) { return static_cast<s32>(static_cast<s64>(low24(a)) * low24(b)); }
inline s32 mad24_hi(s32 a, s32 b, s32 c) {
  return static_cast<s32>(static_cast<u32>(static_cast<s64>(low24(a)) * low24(b) >> 16) + static_cast<u32>(c));
}
inline s32 mad_hi_sat(s32 a, s32 b, s32 c) { return clamped<s32>(s128{mul_hi(a, b)} + c); }
inline s32 add_sat(s32 a, s32 b) { return clamped<s32>(s128{a} + b); }
inline s32 sub_sat(s32 a, s32 b) { return clamped<s32>(s128{a} - b); }
inline u32 absolute(s32 a) { return a < 0 ? 0 - static_cast<u32>(a) : static_cast<u32>(a); }
inline u64 absolute(s64 a) { return a < 0 ? 0 - static_cast<u64>(a) : static_cast<u64>(a); }

template <class T>
u32 bit(T a, u32 at) {
  return static_cast<u32>(static_cast<std::make_unsigned_t<T>>(a) >> at) & 1;
}
template <class T>
u32 clz(T a) {
  u32 n = 0;
  while (n < kBits<T> && !bit(a, kBits<T> - 1 - n)) ++n;
  return n;
}
template <class T>
u32 popc(T a) {
  u32 n = 0;
  for (u32 i = 0; i < kBits<T>; ++i) n += bit(a, i);
  return n;
}
template <class T>
T brev(T a) {
  T r = 0;
  for (u32 i = 0; i < kBits<T>; ++i) r |= static_cast<T>(bit(a, i)) << (kBits<T> - 1 - i);
  return r;
}
template <class T>
u32 ffs(T a) {
  for (u32 i = 0; i < kBits<T>; ++i) {
    if (bit(a, i)) return i + 1;
  }
  return 0;
}
// The highest bit that differs from the sign; all ones where there is none.
template <class T>
u32 bfind(T a) {
  u32 sign = std::is_signed_v<T> ? bit(a, kBits<T> - 1) : 0;
  for (u32 i = kBits<T>; i-- > 0;) {
    if (bit(a, i) != sign) return i;
  }
  return ~0u;
}
template <class T>
u32 bfind_shift(T a) {
  u32 r = bfind(a);
  return r == ~0u ? r : kBits<T> - 1 - r;
}
inline u32 fns(u32 mask, u32 base, s32 offset) {
  if (offset == 0) return bit(mask, base) ? base : ~0u;
  s32 step = offset < 0 ? -1 : 1, left = std::abs(offset);
  for (s32 at = static_cast<s32>(base); at >= 0 && at < 32; at += step) {
    if (bit(mask, static_cast<u32>(at)) && --left == 0) return static_cast<u32>(at);
  }
  return ~0u;
}

inline u64 joined(u32 low, u32 high) { return static_cast<u64>(high) << 32 | low; }
inline u32 funnel_left(u32 low, u32 high, u32 n) { return static_cast<u32>(joined(low, high) << (n & 31) >> 32); }
inline u32 funnel_right(u32 low, u32 high, u32 n) { return static_cast<u32>(joined(low, high) >> (n & 31)); }
inline u32 funnel_left_clamp(u32 low, u32 high, u32 n) {
  return static_cast<u32>(joined(low, high) << std::min(n, 32u) >> 32);
}
inline u32 funnel_right_clamp(u32 low, u32 high, u32 n) {
  return static_cast<u32>(joined(low, high) >> std::min(n, 32u));
}
template <class T>
T shl_any(T a, u32 n) {
  return n >= kBits<T> ? T{0} : static_cast<T>(a << n);
}
template <class T>
T shr_any(T a, u32 n) {
  return static_cast<T>(a >> std::min(n, kBits<T> - 1));
}

inline u32 byte_of(u32 a, u32 b, u32 at) { return static_cast<u32>(joined(a, b) >> at * 8) & 0xff; }
inline u32 prmt_generic(u32 a, u32 b, u32 c) {
  u32 r = 0;
  for (u32 i = 0; i < 4; ++i) {
    u32 which = c >> i * 4 & 15, v = byte_of(a, b, which & 7);
    r |= (which & 8 ? (v & 0x80 ? 0xffu : 0u) : v) << i * 8;
  }
  return r;
}
// The intrinsic masks the selectors' sign bits away.
inline u32 prmt(u32 a, u32 b, u32 c) { return prmt_generic(a, b, c & 0x7777); }
inline u32 prmt_mode(u32 a, u32 b, u32 c, u32 mode) {
  u32 n = c & 3, r = 0;
  for (u32 i = 0; i < 4; ++i) {
    u32 which = 0;
    switch (mode % 6) {
      case 0: which = n + i; break;
      case 1: which = (n - i) & 7; break;
      case 2: which = n; break;
      case 3: which = std::max(n, i); break;
      case 4: which = std::min(n, i); break;
      case 5: which = (n & 1) * 2 + (i & 1); break;
    }
    r |= byte_of(a, b, which) << i * 8;
  }
  return r;
}

template <class T>
T bfe(T a, u32 b, u32 c) {
  u32 at = b & 0xff, length = c & 0xff, most = kBits<T> - 1;
  u32 sign = !std::is_signed_v<T> || length == 0 ? 0 : bit(a, std::min(at + length - 1, most));
  T r = 0;
  for (u32 i = 0; i <= most; ++i) {
    u32 one = i < length && at + i <= most ? bit(a, at + i) : sign;
    r = static_cast<T>(static_cast<std::make_unsigned_t<T>>(r) | static_cast<std::make_unsigned_t<T>>(one) << i);
  }
  return r;
}
template <class T>
T bfi(T a, T b, u32 c, u32 d) {
  u32 at = c & 0xff, length = d & 0xff;
  T r = b;
  for (u32 i = 0; i < length && at + i < kBits<T>; ++i) {
    T one = T{1} << (at + i);
    r = bit(a, i) ? r | one : r & ~one;
  }
  return r;
}
template <class T>
T extended(T a, u32 n) {  // of the low n bits, by their sign
  T r = 0;
  for (u32 i = 0; i < 32; ++i) {
    u32 one = i < n ? bit(a, i) : std::is_signed_v<T> && n ? bit(a, n - 1) : 0;
    r = static_cast<T>(static_cast<u32>(r) | one << i);
  }
  return r;
}
inline s32 szext_wrap(s32 a, u32 n) { return extended(a, n & 31); }
inline u32 szext_clamp(u32 a, u32 n) { return extended(a, std::min(n, 32u)); }
inline u32 bits_from(u32 at, u32 n) {
  u32 r = 0;
  for (u32 i = at; i < 32 && i - at < n; ++i) r |= 1u << i;
  return r;
}
inline u32 bmsk_clamp(u32 a, u32 b) { return bits_from(std::min(a, 32u), std::min(b, 32u)); }
inline u32 bmsk_wrap(u32 a, u32 b) { return bits_from(a & 31, b & 31); }
template <int kTable>
u32 lop3(u32 a, u32 b, u32 c) {
  u32 r = 0;
  for (u32 i = 0; i < 32; ++i) r |= bit(static_cast<u32>(kTable), bit(a, i) * 4 + bit(b, i) * 2 + bit(c, i)) << i;
  return r;
}

// Part i of `bits` bits, with a sign where T has one.
template <class T>
s64 part(T a, u32 i, u32 bits) {
  s64 v = static_cast<s64>(static_cast<u32>(a) >> i * bits & ((u64{1} << bits) - 1));
  return std::is_signed_v<T> && v >> (bits - 1) ? v - (s64{1} << bits) : v;
}
template <class A, class B, class C>
C dp4a(A a, B b, C c) {
  s64 sum = c;
  for (u32 i = 0; i < 4; ++i) sum += part(a, i, 8) * part(b, i, 8);
  return static_cast<C>(sum);
}
template <class T>
T dp2a(T a, T b, T c, u32 first) {
  return static_cast<T>(s64{c} + part(a, 0, 16) * part(b, first, 8) + part(a, 1, 16) * part(b, first + 1, 8));
}
inline s32 dp2a_lo(s32 a, s32 b, s32 c) { return dp2a(a, b, c, 0); }
inline u32 dp2a_hi(u32 a, u32 b, u32 c) { return dp2a(a, b, c, 2); }
template <class T>
u32 sad(T a, T b, u32 c) {
  return static_cast<u32>(std::abs(s64{a} - s64{b})) + c;
}
inline s32 hadd(s32 a, s32 b) { return static_cast<s32>((s64{a} + b) >> 1); }
inline u32 rhadd(u32 a, u32 b) { return static_cast<u32>((u64{a} + b + 1) >> 1); }
inline u32 cnot(u32 a) { return a == 0; }
inline u32 slct(u32 a, u32 b, s32 c) { return c >= 0 ? a : b; }
inline u64 slct(u64 a, u64 b, f32 c) { return c >= 0 ? a : b; }

inline u128 joined(u64 low, u64 high) { return static_cast<u128>(high) << 64 | low; }
inline u64 mixed(u128 v) { return static_cast<u64>(v >> 64) ^ static_cast<u64>(v) * 3; }
inline u64 add128_high(u64 al, u64 ah, u64 bl, u64 bh) { return mixed(joined(al, ah) + joined(bl, bh)); }
inline u64 sub128_high(u64 al, u64 ah, u64 bl, u64 bh) { return mixed(joined(al, ah) - joined(bl, bh)); }
inline u32 add96(u32 a0, u32 a1, u32 a2, u32 b0, u32 b1, u32 b2) {
  u128 r = (static_cast<u128>(a2) << 64 | joined(a0, a1)) + (static_cast<u128>(b2) << 64 | joined(b0, b1));
  auto word = [&](u32 i) { return static_cast<u32>(r >> i * 32); };
  return word(0) ^ word(1) * 3 ^ word(2) * 5 ^ word(3) * 7;
}
inline u64 mul128_high(u64 a, u64 b) { return static_cast<u64>(static_cast<u128>(a) * b * (b | 1) >> 64); }
inline u32 madc(u32 a, u32 b, u32 c) {
  u64 product = static_cast<u64>(a) * b, low = (product & 0xffffffff) + c;
  return static_cast<u32>(low) ^ static_cast<u32>((product >> 32) + c + (low >> 32)) * 3;
}

template <class F>
u32 by_parts(u32 a, u32 b, u32 bits, F f) {
  u32 r = 0;
  for (u32 i = 0; i < 32 / bits; ++i) {
    r |= static_cast<u32>(static_cast<u64>(f(part(s32(a), i, bits), part(s32(b), i, bits))) & ((1u << bits) - 1))
         << i * bits;
  }
  return r;
}
inline u32 vadd4_sat(u32 a, u32 b) {
  return by_parts(a, b, 8, [](s64 x, s64 y) { return clamped<s8>(x + y); });
}
inline u32 vmax2(u32 a, u32 b) {
  return by_parts(a, b, 16, [](s64 x, s64 y) { return std::max(x, y); });
}
inline u32 vabsdiff4_add(u32 a, u32 b, u32 c) {
  for (u32 i = 0; i < 4; ++i) c += static_cast<u32>(std::abs(part(a, i, 8) - part(b, i, 8)));
  return c;
}
inline u32 vshl_clamp(u32 a, u32 b, u32 c) { return shl_any(a, std::min(b, 32u)) + c; }
inline u32 vshl_wrap(u32 a, u32 b, u32 c) { return std::max(a << (b & 31), c); }
inline u32 vshr_clamp(s32 a, u32 b, u32 c) { return std::min(static_cast<u32>(shr_any(a, std::min(b, 32u))), c); }
inline s32 vadd_halves(s32 a, u32 b, s32 c) { return std::max(clamped<s32>(part(a, 1, 16) + part(b, 2, 8)), c); }
inline s32 vmad_shr7(s32 a, s32 b, s32 c) { return static_cast<s32>((s128{a} * b + c) >> 7); }

// `f` with a value of the type that the low bits of `t` name: s8, u8, … u64.
template <class F>
auto with_integer(u8 t, F f) {
  switch (t & 7) {
    case 0: return f(s8{});
    case 1: return f(u8{});
    case 2: return f(s16{});
    case 3: return f(u16{});
    case 4: return f(s32{});
    case 5: return f(u32{});
    case 6: return f(s64{});
    default: return f(u64{});
  }
}
inline u64 convert_saturated(u64 a, u8 from, u8 to) {
  s128 v = with_integer(from, [&](auto x) { return s128{static_cast<decltype(x)>(a)}; });
  return with_integer(to, [&](auto x) { return static_cast<u64>(s128{clamped<decltype(x)>(v)}); });
}
inline u32 pack_u8(s32 a, s32 b, u32 c) { return c << 16 | static_cast<u32>(clamped<u8>(a)) << 8 | clamped<u8>(b); }
inline u32 pack_s16(s32 a, s32 b) {
  return static_cast<u32>(static_cast<u16>(clamped<s16>(a))) << 16 | static_cast<u16>(clamped<s16>(b));
}

}  // namespace quern::oracle
