// The plain way to multiply: element by element, in the order that matrix.h says.
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstring>

#include "jit/cpu_target.h"
#include "vgpu/matrix/levels.h"
#include "vgpu/matrix/matrix.h"

namespace quern::vgpu {
namespace {

float half(uint32_t code) {
  uint32_t sign = (code & 0x8000) << 16, exponent = code >> 10 & 31, mantissa = code & 0x3ff;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000 | mantissa << 13);
  float magnitude = exponent ? std::ldexp(static_cast<float>(mantissa | 0x400), static_cast<int>(exponent) - 25)
                             : std::ldexp(static_cast<float>(mantissa), -24);
  return sign ? -magnitude : magnitude;
}

float e4m3(uint32_t code) {
  uint32_t exponent = code >> 3 & 15, mantissa = code & 7;
  if ((code & 0x7f) == 0x7f) return std::bit_cast<float>(0x7fffffffu);
  float magnitude = exponent ? std::ldexp(static_cast<float>(mantissa | 8), static_cast<int>(exponent) - 10)
                             : std::ldexp(static_cast<float>(mantissa), -9);
  return code & 0x80 ? -magnitude : magnitude;
}

uint32_t to_half(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value), sign = bits >> 16 & 0x8000;
  double magnitude = std::fabs(static_cast<double>(value));
  if (std::isnan(value)) return sign | 0x7e00 | (bits >> 13 & 0x1ff);
  if (magnitude >= 65520) return sign | 0x7c00;
  if (magnitude < std::ldexp(1.0, -14)) {  // multiples of 2^-24; the greatest of them is the least normal number
    return sign | static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, 24)));
  }
  int exponent = std::ilogb(magnitude);
  auto mantissa = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));  // 1024 … 2048
  return sign | ((static_cast<uint32_t>(exponent + 14) << 10) + mantissa);
}

// Where an element is: in which register and lane, and from which bit on.
struct Place {
  int reg = 0, lane = 0, bit = 0;
};

// m8n8k4 of f16: lanes 4q … 4q + 3 hold the first half of product q, those 16 further on the second.
int quad_lane(int quad, int i) { return quad * 4 + (i < 4 ? i : i + 12); }

Place place_a(const MatrixRegisters& t, int quad, int row, int column) {
  if (t.quads) {
    int lane = t.a_columns ? quad_lane(quad, column + (row & 4)) : quad_lane(quad, row);
    int at = t.a_columns ? row & 3 : column;
    return {at / 2, lane, at % 2 * 16};
  }
  int bits = bits_of(t.a), each = bits >= 32 ? 1 : 32 / bits;
  return {row / 8 + t.m / 8 * (column / (4 * each)), row % 8 * 4 + column / each % 4, column % each * bits};
}

Place place_b(const MatrixRegisters& t, int quad, int row, int column) {
  if (t.quads) {
    int lane = t.b_columns ? quad_lane(quad, column) : quad_lane(quad, row + (column & 4));
    int at = t.b_columns ? row : column & 3;
    return {at / 2, lane, at % 2 * 16};
  }
  int bits = bits_of(t.b), each = bits >= 32 ? 1 : 32 / bits, blocks = t.k / (4 * each);
  return {row / (4 * each) % blocks + blocks * (column / 8), column % 8 * 4 + row / each % 4, row % each * bits};
}

Place place_c(const MatrixRegisters& t, Element e, int quad, int row, int column) {
  if (t.quads && e == Element::kF16) return {column / 2, quad_lane(quad, row), column % 2 * 16};
  if (t.quads) {
    int lane = (row & 1) + (column & 2) + (row & 4), reg = (column & 1) + (row & 2) + (column & 4);
    return {reg, quad_lane(quad, lane), 0};
  }
  int q = row / 8 + t.m / 8 * (column / 8), lane = row % 8 * 4 + column % 8 / 2;
  if (e == Element::kF16) return {q, lane, column % 2 * 16};
  return {2 * q + column % 2, lane, 0};
}

uint32_t code_at(const uint32_t* regs, const Place& p, int bits) {
  uint32_t word = regs[p.reg * 32 + p.lane] >> p.bit;
  return bits >= 32 ? word : word & ((1u << bits) - 1);
}

double& wide_at(uint32_t* regs, const Place& p) { return reinterpret_cast<double*>(regs)[p.reg * 32 + p.lane]; }

void put_half(uint32_t* regs, const Place& p, uint32_t code) {
  uint32_t& word = regs[p.reg * 32 + p.lane];
  word = (word & ~(0xffffu << p.bit)) | code << p.bit;
}

// The compiler must not think that it knows the rounding.
double fused(double a, double b, double c) {
  volatile double x = a, y = b, z = c;
  volatile double r = std::fma(x, y, z);
  return r;
}

void multiply_doubles(MatrixRegisters& t) {
  constexpr int kModes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
  int before = std::fegetround();
  std::fesetround(kModes[t.round]);
  for (int row = 0; row < t.m; ++row) {
    for (int column = 0; column < t.n; ++column) {
      double& sum = wide_at(t.rc, place_c(t, t.c, 0, row, column));
      for (int k = 0; k < t.k; ++k)
        sum = fused(wide_at(t.ra, place_a(t, 0, row, k)), wide_at(t.rb, place_b(t, 0, k, column)), sum);
    }
  }
  std::fesetround(before);
}

void multiply_reals(MatrixRegisters& t) {
  uint32_t out[512] = {};
  for (int quad = 0; quad < (t.quads ? 4 : 1); ++quad) {
    for (int row = 0; row < t.m; ++row) {
      for (int column = 0; column < t.n; ++column) {
        float sums[2] = {real_of(t.c, code_at(t.rc, place_c(t, t.c, quad, row, column), bits_of(t.c))), 0};
        for (int k = 0; k < t.k; ++k) {
          float x = real_of(t.a, code_at(t.ra, place_a(t, quad, row, k), bits_of(t.a)));
          float y = real_of(t.b, code_at(t.rb, place_b(t, quad, k, column), bits_of(t.b)));
          sums[k / 8 % 2] = std::fmaf(x, y, sums[k / 8 % 2]);
        }
        float sum = t.k > 8 ? sums[0] + sums[1] : sums[0];
        Place to = place_c(t, t.d, quad, row, column);
        if (t.d == Element::kF16) {
          put_half(out, to, to_half(sum));
        } else {
          out[to.reg * 32 + to.lane] = std::bit_cast<uint32_t>(sum);
        }
      }
    }
  }
  std::memcpy(t.rc, out, sizeof out);
}

void multiply_integers(MatrixRegisters& t) {
  for (int row = 0; row < t.m; ++row) {
    for (int column = 0; column < t.n; ++column) {
      Place at = place_c(t, t.c, 0, row, column);
      uint32_t& cell = t.rc[at.reg * 32 + at.lane];
      int64_t sum = static_cast<int32_t>(cell);
      for (int k = 0; k < t.k; ++k) {
        uint32_t x = code_at(t.ra, place_a(t, 0, row, k), bits_of(t.a));
        uint32_t y = code_at(t.rb, place_b(t, 0, k, column), bits_of(t.b));
        sum += t.a == Element::kB1 ? static_cast<int64_t>(t.combine ? x & y : x ^ y)
                                   : int64_t{integer_of(t.a, x)} * integer_of(t.b, y);
      }
      if (t.saturate) sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
      cell = static_cast<uint32_t>(sum);
    }
  }
}

void multiply(MatrixRegisters& t) {
  switch (t.a) {
    case Element::kF64: return multiply_doubles(t);
    case Element::kS8:
    case Element::kU8:
    case Element::kS4:
    case Element::kU4:
    case Element::kB1: return multiply_integers(t);
    default: return multiply_reals(t);
  }
}

constexpr Multiply kPlain[kMultipliers] = {&multiply_any, &multiply_any, &multiply_any, &multiply_any, &multiply_any};

}  // namespace

float real_of(Element e, uint32_t code) {
  switch (e) {
    case Element::kF16: return half(code);
    case Element::kBf16: return std::bit_cast<float>(code << 16);
    case Element::kTf32: return std::bit_cast<float>(code & 0xffffe000);
    case Element::kE4m3: return e4m3(code);
    case Element::kE5m2: return half(code << 8);  // the high byte of an f16
    default: return std::bit_cast<float>(code);
  }
}

uint32_t half_code(float value) { return to_half(value); }

int32_t integer_of(Element e, uint32_t code) {
  switch (e) {
    case Element::kS8: return static_cast<int8_t>(code);
    case Element::kS4: return static_cast<int32_t>(code << 28) >> 28;
    default: return static_cast<int32_t>(code);
  }
}

void multiply_any(const MatrixCall* calls, uint8_t* base, int32_t count) { gathered<multiply>(calls, base, count); }

const float* narrow_reals(Element e) {
  struct Table {
    float of[2][256];
    Table() {
      for (uint32_t code = 0; code < 256; ++code) {
        of[0][code] = real_of(Element::kE4m3, code);
        of[1][code] = real_of(Element::kE5m2, code);
      }
    }
  };
  static const Table table;
  return table.of[e == Element::kE5m2];
}

Multiplier multiplier_of(const MatrixShape& t) {
  if (t.quads) return Multiplier::kAny;
  bool f32 = t.c == Element::kF32 && t.d == Element::kF32;
  switch (t.a) {
    case Element::kF16:
    case Element::kBf16: return f32 ? Multiplier::kPairs : Multiplier::kReals;
    case Element::kTf32:
    case Element::kE4m3:
    case Element::kE5m2: return Multiplier::kReals;
    case Element::kS8:
    case Element::kU8:
    case Element::kS4:
    case Element::kU4: return Multiplier::kNumbers;
    case Element::kF64: return t.round == 0 ? Multiplier::kDoubles : Multiplier::kAny;
    default: return Multiplier::kAny;
  }
}

const Multiply* multipliers([[maybe_unused]] jit::VectorLevel level) {
#ifdef __x86_64__
  if (level == jit::VectorLevel::kAvx512) return multipliers_avx512();
  if (level == jit::VectorLevel::kAvx2) return multipliers_avx2();
#endif
  return kPlain;
}

}  // namespace quern::vgpu
