// Random and hostile values of each type of types.h.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <random>
#include <type_traits>
#include <vector>

#include "types.h"

namespace quern::oracle {

using Random = std::mt19937_64;

inline u64 below(Random& random, u64 n) { return random() % n; }

// How many bits of mantissa a real has; 0: it is no real. A pair's are its halves'.
template <class T>
constexpr int kMantissa = 0;
template <>
inline constexpr int kMantissa<f32> = 23;
template <>
inline constexpr int kMantissa<f64> = 52;
template <>
inline constexpr int kMantissa<f16> = 10;
template <>
inline constexpr int kMantissa<bf16> = 7;
template <>
inline constexpr int kMantissa<e4m3> = 3;
template <>
inline constexpr int kMantissa<e5m2> = 2;
template <class T>
constexpr bool kPair = std::is_same_v<T, f16x2> || std::is_same_v<T, bf16x2>;

template <class T>
T of_bits(u64 bits) {
  T v;
  std::memcpy(&v, &bits, sizeof v);
  return v;
}
template <class T>
u64 code_of(const T& v) {
  u64 bits = 0;
  std::memcpy(&bits, &v, sizeof v);
  return bits;
}

// What is at the edges: zeros, ones, what lies beside powers of two; of reals also subnormals, infinities and NaNs.
template <class T>
const std::vector<T>& edges() {
  static const std::vector<T> all = [] {
    std::vector<T> out;
    int bits = static_cast<int>(sizeof(T)) * 8;
    if constexpr (kPair<T>) {
      int m = std::is_same_v<T, f16x2> ? 10 : 7;
      std::vector<u64> some = {0, 1, 0x7fff, 0x8000, 0x3c00, 0x3f80, 0xbf80, 0xffff};
      u64 infinity = (u64{0x7fff} >> m) << m;
      for (u64 v : {infinity, infinity - 1, infinity | 0x8000, (u64{1} << m) - 1, u64{1} << m}) some.push_back(v);
      for (u64 v : some) {
        for (u64 w : some) out.push_back(of_bits<T>(v | w << 16));
      }
    } else if constexpr (kMantissa<T> > 0) {
      int m = kMantissa<T>;
      u64 sign = u64{1} << (bits - 1), infinity = ((sign - 1) >> m) << m, unit = u64{1} << m;
      u64 one = ((infinity >> m) / 2) << m;
      std::vector<u64> some = {0, 1, 2, unit - 1, unit, unit + 1, infinity, infinity - 1, infinity + 1, sign - 1};
      for (int power :
           {-m - 3, -m - 2, -m - 1, -m, -2, -1, 0, 1, m - 1, m, m + 1, m + 2, 7, 8, 15, 16, 31, 32, 63, 64}) {
        s64 at = static_cast<s64>(one) + static_cast<s64>(power) * static_cast<s64>(unit);
        if (at <= 1 || at >= static_cast<s64>(infinity)) continue;
        for (s64 beside : {-1, 0, 1}) some.push_back(static_cast<u64>(at + beside));
      }
      some.push_back(one + unit / 2);                   // 1.5
      some.push_back(one + unit + unit / 4);            // 2.5
      some.push_back(one - unit / 2);                   // 0.75
      if (m > 10) some.push_back(one + unit * 16 - 2);  // what narrower reals have no room for
      for (u64 v : some) {
        out.push_back(of_bits<T>(v));
        out.push_back(of_bits<T>(v | sign));
      }
    } else {
      for (int i = 0; i<bits; i += bits> 16 ? 4 : 2) {
        for (u64 beside : {~u64{0}, u64{0}, u64{1}}) out.push_back(of_bits<T>((u64{1} << i) + beside));
      }
      for (u64 v : {~u64{0}, ~u64{1}, u64{1} << (bits - 1), (u64{1} << (bits - 1)) - 1, (u64{1} << (bits - 1)) + 1}) {
        out.push_back(of_bits<T>(v));
      }
    }
    return out;
  }();
  return all;
}

template <class T>
T random_value(Random& random) {
  if constexpr (kPair<T>) {
    using One = std::conditional_t<std::is_same_v<T, f16x2>, f16, bf16>;
    return T{random_value<One>(random).bits | static_cast<u32>(random_value<One>(random).bits) << 16};
  } else {
    u64 bits = random();
    constexpr int kBitsOf = sizeof(T) * 8;
    switch (below(random, 8)) {
      case 0: return edges<T>()[below(random, edges<T>().size())];
      case 1:  // near an edge
        return of_bits<T>(code_of(edges<T>()[below(random, edges<T>().size())]) + below(random, 7) - 3);
      case 2:
        if constexpr (kMantissa < T >> 0 && sizeof(T) >= 4) return static_cast<T>(static_cast<s64>(bits % 2001) - 1000);
        return of_bits<T>(bits % 41 - 20);
      case 3:  // of few bits
        return of_bits<T>(random() & random() & random());
      case 4:
      case 5:
        if constexpr (kMantissa < T >> 0) {  // near one, so that results of two are numbers
          u64 unit = u64{1} << kMantissa<T>, one = ((u64{1} << (kBitsOf - 2 - kMantissa<T>)) - 1) * unit;
          u64 range = kMantissa<T> > 7 ? 16 * unit : 3 * unit;
          return of_bits<T>((one + bits % range - range / 2) | (random() & 1) << (kBitsOf - 1));
        }
        return of_bits<T>(bits);
      default: return of_bits<T>(bits);
    }
  }
}

template <class T>
bool is_nan(const T& v) {
  if constexpr (std::is_floating_point_v<T>) {
    return v != v;
  } else if constexpr (std::is_same_v<T, e4m3>) {
    return (v.bits & 0x7f) == 0x7f;
  } else if constexpr (kMantissa<T> > 0) {
    u64 size = code_of(v) & ((u64{1} << (sizeof(T) * 8 - 1)) - 1);
    u64 infinity = ((u64{1} << (sizeof(T) * 8 - 1)) - 1) >> kMantissa<T> << kMantissa<T>;
    return size > infinity;
  } else {
    return false;
  }
}

// The same bits, or two NaNs.
template <class T>
bool agrees(const T& a, const T& b) {
  if constexpr (kPair<T>) {
    using One = std::conditional_t<std::is_same_v<T, f16x2>, f16, bf16>;
    auto half = [](const T& v, int i) { return One{static_cast<u16>(v.bits >> i * 16)}; };
    return agrees(half(a, 0), half(b, 0)) && agrees(half(a, 1), half(b, 1));
  } else {
    return code_of(a) == code_of(b) || (is_nan(a) && is_nan(b));
  }
}

}  // namespace quern::oracle
