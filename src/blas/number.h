// The element types of matrices, and how each becomes the type that it is computed in: f32 for reals of up to 32 bits
// and for integers that are added up as f32, f64, and 32-bit integers that wrap. f16 and bf16 are rounded to nearest
// even, with overflow to infinity, as IEEE 754 has it.
#pragma once

#include <bit>
#include <complex>
#include <cstdint>

namespace quern::blas {

struct Half {
  uint16_t bits = 0;
};
struct Brain {  // bf16
  uint16_t bits = 0;
};

enum class Number : uint8_t { kF16, kBf16, kF32, kF64, kS8, kS32, kC32, kC64 };

constexpr float widen(Half h) {
  uint32_t sign = uint32_t{h.bits & 0x8000u} << 16, magnitude = h.bits & 0x7fffu;
  if (magnitude >= 0x7c00) return std::bit_cast<float>(sign | 0x7f800000u | magnitude << 13);
  if (magnitude >= 0x0400) return std::bit_cast<float>(sign | ((magnitude << 13) + (112u << 23)));
  float small = static_cast<float>(magnitude) * 0x1p-24f;
  return sign ? -small : small;
}
constexpr float widen(Brain b) { return std::bit_cast<float>(uint32_t{b.bits} << 16); }
constexpr float widen(int8_t v) { return v; }
constexpr float widen(int32_t v) { return static_cast<float>(v); }
constexpr float widen(float v) { return v; }
constexpr double widen(double v) { return v; }

constexpr Half to_half(float v) {
  uint32_t bits = std::bit_cast<uint32_t>(v), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  auto make = [&](uint32_t code) { return Half{static_cast<uint16_t>(sign | code)}; };
  if (magnitude > 0x7f800000u) return make(0x7e00u | (magnitude >> 13 & 0x3ffu));
  if (magnitude >= 0x477ff000u) return make(0x7c00u);  // 65520 and more
  if (magnitude < 0x38800000u) {                       // below 2^-14: multiples of 2^-24
    // Adding a number whose last place is 2^-24 rounds to it, ties to even.
    float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return make(std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(0.5f));
  }
  uint32_t odd = magnitude >> 13 & 1;
  return make((magnitude - (112u << 23) + 0xfffu + odd) >> 13);
}
constexpr Brain to_brain(float v) {
  uint32_t bits = std::bit_cast<uint32_t>(v);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {static_cast<uint16_t>(bits >> 16 | 0x40u)};
  return {static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16)};
}

template <class T>
struct NumberOf;
#define QUERN_NUMBER(type, number)          \
  template <>                               \
  struct NumberOf<type> {                   \
    static constexpr Number value = number; \
  };
QUERN_NUMBER(Half, Number::kF16)
QUERN_NUMBER(Brain, Number::kBf16)
QUERN_NUMBER(float, Number::kF32)
QUERN_NUMBER(double, Number::kF64)
QUERN_NUMBER(int8_t, Number::kS8)
QUERN_NUMBER(int32_t, Number::kS32)
QUERN_NUMBER(std::complex<float>, Number::kC32)
QUERN_NUMBER(std::complex<double>, Number::kC64)
#undef QUERN_NUMBER
template <class T>
inline constexpr Number number_of = NumberOf<T>::value;

constexpr int64_t bytes_of(Number n) {
  switch (n) {
    case Number::kS8: return 1;
    case Number::kF16:
    case Number::kBf16: return 2;
    case Number::kF32:
    case Number::kS32: return 4;
    case Number::kF64:
    case Number::kC32: return 8;
    case Number::kC64: return 16;
  }
  return 0;
}
constexpr bool is_complex(Number n) { return n == Number::kC32 || n == Number::kC64; }

// Calls f with a value of the type.
template <class F>
decltype(auto) with_type(Number n, F&& f) {
  switch (n) {
    case Number::kF16: return f(Half{});
    case Number::kBf16: return f(Brain{});
    case Number::kF32: return f(float{});
    case Number::kF64: return f(double{});
    case Number::kS8: return f(int8_t{});
    case Number::kS32: return f(int32_t{});
    case Number::kC32: return f(std::complex<float>{});
    case Number::kC64: break;
  }
  return f(std::complex<double>{});
}

}  // namespace quern::blas
