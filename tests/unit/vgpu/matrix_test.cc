// Products of matrices: every fast way against the plain one, on random and hostile numbers.
#include "vgpu/matrix/matrix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "jit/cpu_target.h"

namespace quern::vgpu {
namespace {

using Extents = std::array<int, 3>;

std::vector<MatrixShape> kinds() {
  std::vector<MatrixShape> out;
  auto add = [&](Extents e, Element a, Element b, Element c, Element d, int saturate = 0) {
    MatrixShape t;
    t.m = e[0], t.n = e[1], t.k = e[2];
    t.a = a, t.b = b, t.c = c, t.d = d;
    t.saturate = saturate;
    out.push_back(t);
  };
  const Extents pairs[] = {{16, 8, 8}, {16, 8, 16}, {16, 16, 16}, {32, 8, 16}, {8, 32, 16}};
  for (Extents e : pairs) {
    add(e, Element::kBf16, Element::kBf16, Element::kF32, Element::kF32);
    for (Element c : {Element::kF16, Element::kF32}) {
      for (Element d : {Element::kF16, Element::kF32}) add(e, Element::kF16, Element::kF16, c, d);
    }
  }
  for (Extents e : {Extents{16, 8, 4}, Extents{16, 8, 8}, Extents{16, 16, 8}})
    add(e, Element::kTf32, Element::kTf32, Element::kF32, Element::kF32);
  for (Element a : {Element::kE4m3, Element::kE5m2}) {
    for (Element b : {Element::kE4m3, Element::kE5m2}) {
      add({16, 8, 32}, a, b, Element::kF32, Element::kF32);
      add({16, 8, 16}, a, b, Element::kF16, Element::kF16);
    }
  }
  const Extents bytes[] = {{8, 8, 16}, {16, 8, 16}, {16, 8, 32}, {16, 16, 16}, {32, 8, 16}, {8, 32, 16}};
  for (Extents e : {Extents{8, 8, 4}, Extents{16, 8, 4}, Extents{16, 8, 8}, Extents{16, 8, 16}})
    add(e, Element::kF64, Element::kF64, Element::kF64, Element::kF64);
  for (int saturate : {0, 1}) {
    for (Element a : {Element::kS8, Element::kU8}) {
      for (Element b : {Element::kS8, Element::kU8}) {
        for (Extents e : bytes) add(e, a, b, Element::kS32, Element::kS32, saturate);
      }
    }
    for (Element a : {Element::kS4, Element::kU4}) {
      for (Element b : {Element::kS4, Element::kU4}) {
        for (Extents e : {Extents{8, 8, 32}, Extents{16, 8, 32}, Extents{16, 8, 64}})
          add(e, a, b, Element::kS32, Element::kS32, saturate);
      }
    }
  }
  return out;
}

bool is_nan(Element e, uint64_t code) {
  if (e == Element::kF64) return (code & ~(uint64_t{1} << 63)) > uint64_t{0x7ff} << 52;
  return e == Element::kF16 ? (code & 0x7fff) > 0x7c00 : e == Element::kF32 && (code & 0x7fffffff) > 0x7f800000;
}

// Calls it with registers that lie one behind the other, A's first.
void multiply(MatrixRegisters& t, jit::VectorLevel level, Multiplier multiplier) {
  MatrixCall call{};
  call.shape = t;
  auto offsets = [&](int32_t* to, const uint32_t* registers, Element e) {
    for (int r = 0; r < kMostRegisters; ++r) {
      auto first = reinterpret_cast<const uint8_t*>(registers) - reinterpret_cast<const uint8_t*>(&t);
      to[r] = static_cast<int32_t>(first) + r * std::max(32, bits_of(e)) * 4;
    }
  };
  offsets(call.a, t.ra, t.a), offsets(call.b, t.rb, t.b), offsets(call.c, t.rc, t.c), offsets(call.d, t.rc, t.d);
  multipliers(level)[static_cast<int>(multiplier)](&call, reinterpret_cast<uint8_t*>(&t), 1);
}

void compare(const MatrixRegisters& of, jit::VectorLevel level) {
  MatrixRegisters plain = of, fast = of;
  multiply(plain, jit::VectorLevel::kSse2, Multiplier::kAny);
  multiply(fast, level, multiplier_of(of));
  int bits = bits_of(of.d);
  for (int i = 0; i < of.m * of.n; ++i) {
    auto element = [&](const MatrixRegisters& t) {
      uint64_t word = t.rc[i * bits / 32];
      if (bits == 64) word |= uint64_t{t.rc[i * 2 + 1]} << 32;
      return bits == 16 ? word >> (i % 2 * 16) & 0xffff : word;
    };
    if (is_nan(of.d, element(plain)) && is_nan(of.d, element(fast))) continue;
    ASSERT_EQ(element(plain), element(fast))
        << "m" << of.m << "n" << of.n << "k" << of.k << " of " << static_cast<int>(of.a) << " and "
        << static_cast<int>(of.b) << ", " << jit::name(level) << ", element " << i;
  }
}

TEST(Matrix, EveryWayGivesTheSameBits) {
  std::mt19937 random(1);
  for (jit::VectorLevel level : {jit::VectorLevel::kAvx2, jit::VectorLevel::kAvx512}) {
    if (!jit::runs_here(jit::cpu_of(level))) continue;
    for (const MatrixShape& shape : kinds()) {
      MatrixRegisters t;
      static_cast<MatrixShape&>(t) = shape;
      for (int round = 0; round < 30; ++round) {
        for (auto* registers : {t.ra, t.rb, t.rc}) {
          for (int i = 0; i < 512; ++i) registers[i] = static_cast<uint32_t>(random());
        }
        // All bits at random are infinities, NaNs and overflows before long: most rounds have moderate exponents.
        bool reals = t.c == Element::kF32 || t.c == Element::kF16;
        for (int i = 0; reals && round % 10 && i < 512; ++i) {
          uint32_t moderate = t.a == Element::kF16 ? 0xbfffbfff : 0xbfbfbfbf;
          t.ra[i] &= moderate, t.rb[i] &= moderate;
          t.rc[i] &= t.c == Element::kF16 ? 0xbfffbfff : 0xbfffffff;
        }
        compare(t, level);
      }
    }
  }
}

// D may lie where C does, in another order.
TEST(Matrix, ResultsMayLieInCTurnedRound) {
  std::mt19937 random(2);
  auto turned = [&](const MatrixRegisters& of, jit::VectorLevel level, Multiplier multiplier) {
    MatrixRegisters t = of;
    MatrixCall call{};
    call.shape = t;
    auto first = [&](const uint32_t* registers) {
      return static_cast<int32_t>(reinterpret_cast<const uint8_t*>(registers) - reinterpret_cast<const uint8_t*>(&t));
    };
    for (int r = 0; r < 4; ++r) {
      call.a[r] = first(t.ra) + r * 128, call.b[r] = first(t.rb) + r * 128;
      call.c[r] = first(t.rc) + r * 128, call.d[r] = first(t.rc) + (3 - r) * 128;
    }
    multipliers(level)[static_cast<int>(multiplier)](&call, reinterpret_cast<uint8_t*>(&t), 1);
    return std::vector<uint32_t>(t.rc, t.rc + 128);
  };
  MatrixRegisters t{};
  t.m = 16, t.n = 8, t.k = 16;
  t.a = t.b = Element::kF16;
  t.c = t.d = Element::kF32;
  for (auto* registers : {t.ra, t.rb, t.rc}) {
    for (int i = 0; i < 512; ++i) registers[i] = static_cast<uint32_t>(random()) & 0xbbffbbff;
  }
  for (jit::VectorLevel level : {jit::VectorLevel::kAvx2, jit::VectorLevel::kAvx512}) {
    if (!jit::runs_here(jit::cpu_of(level))) continue;
    EXPECT_EQ(turned(t, level, Multiplier::kPairs), turned(t, jit::VectorLevel::kSse2, Multiplier::kAny));
  }
}

// Of numbers that every order adds to the same: what a product is at all.
TEST(Matrix, IdentityTimesMatrix) {
  MatrixRegisters t{};
  t.m = 16, t.n = 8, t.k = 16;
  t.a = t.b = Element::kF16;
  t.c = t.d = Element::kF32;
  // A: ones at row = column: registers 0 (rows and columns below 8) and 3 (the rest), lane 4 * row + column / 2.
  for (int r = 0; r < 8; ++r) {
    uint32_t one = 0x3c00u << (r % 2 * 16);
    t.ra[r * 4 + r / 2] = one;
    t.ra[3 * 32 + r * 4 + r / 2] = one;
  }
  for (int l = 0; l < 32; ++l) {
    // f16 of the integers 2k and 2k + 1 at rows of k, the same in every column
    const uint32_t halves[] = {0x0000, 0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600, 0x4700};
    t.rb[l] = halves[l % 4 * 2] | halves[l % 4 * 2 + 1] << 16;
    t.rb[32 + l] = t.rb[l];
  }
  multiply(t, jit::VectorLevel::kSse2, Multiplier::kAny);
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 8; ++column) {
      uint32_t code = t.rc[(row / 8 * 2 + column % 2) * 32 + row % 8 * 4 + column / 2];
      EXPECT_EQ(real_of(Element::kF32, code), static_cast<float>(row % 8)) << row << ", " << column;
    }
  }
}

}  // namespace
}  // namespace quern::vgpu
