// The fast way to multiply, for vectors of V::kLanes floats or 32-bit integers; included by a file for each level.
//
// Accumulators stay as fragments: a register of C is 8 rows of 4 columns, every other one. A step of k takes a column
// of A, each row four times over (one permutation within groups of four lanes of a vector that holds 4 steps), and a
// row of B, its four even or odd columns over and over (one load that repeats). So nothing of C is ever rearranged.
#pragma once

#include <cstdint>

#include "vgpu/matrix/levels.h"

namespace quern::vgpu {
namespace {

// A and B in that form.
template <class Number>
struct alignas(64) Steps {
  Number a[4][16][32];  // 8 rows each; 4 steps of k each: lane 4 * row + step
  Number b[4][64][8];   // 8 columns each; a step each: columns 0 2 4 6, 1 3 5 7
};

// Which steps are added: all, or every other eight.
inline constexpr int kAll = 2;

// Rows 8 * first … of C, `Blocks` times eight of them, and eight columns.
template <class V, int Blocks, class Number>
[[gnu::always_inline]] inline void accumulate(const Steps<Number>& s, int first, int columns, int k,
                                              typename V::Vector (&sum)[Blocks][2][32 / V::kLanes], int part) {
  constexpr int kParts = 32 / V::kLanes;
  for (int four = 0; four < k / 4; ++four) {
    if (part != kAll && four / 2 % 2 != part) continue;
    typename V::Vector a[Blocks][kParts];
    for (int r = 0; r < Blocks; ++r) {
      for (int h = 0; h < kParts; ++h) a[r][h] = V::load(s.a[first + r][four] + h * V::kLanes);
    }
    auto step = [&]<int kStep>() {
      typename V::Vector even = V::repeat(s.b[columns][four * 4 + kStep]);
      typename V::Vector odd = V::repeat(s.b[columns][four * 4 + kStep] + 4);
      for (int r = 0; r < Blocks; ++r) {
        for (int h = 0; h < kParts; ++h) {
          typename V::Vector x = V::template spread<kStep>(a[r][h]);
          sum[r][0][h] = V::multiply_add(x, even, sum[r][0][h]);
          sum[r][1][h] = V::multiply_add(x, odd, sum[r][1][h]);
        }
      }
    };
    step.template operator()<0>();
    step.template operator()<1>();
    step.template operator()<2>();
    step.template operator()<3>();
  }
}

template <class V, int Blocks, class Number>
[[gnu::always_inline]] inline void add_products(const Steps<Number>& s, int first, int columns, int k,
                                                typename V::Vector (&sum)[Blocks][2][32 / V::kLanes]) {
  constexpr int kParts = 32 / V::kLanes;
  if (!V::kReals || k <= 8) return accumulate<V, Blocks>(s, first, columns, k, sum, kAll);
  accumulate<V, Blocks>(s, first, columns, k, sum, 0);
  typename V::Vector other[Blocks][2][kParts] = {};
  accumulate<V, Blocks>(s, first, columns, k, other, 1);
  for (int r = 0; r < Blocks; ++r) {
    for (int i = 0; i < 2 * kParts; ++i)
      sum[r][i / kParts][i % kParts] = V::add(sum[r][i / kParts][i % kParts], other[r][i / kParts][i % kParts]);
  }
}

// All of C where it is of 32 bits; `c`: its registers.
template <class V, int Blocks, class Number>
[[gnu::always_inline]] inline void multiply_steps(const Steps<Number>& s, int m, int n, int k, Number* c) {
  constexpr int kParts = 32 / V::kLanes;
  for (int columns = 0; columns < n / 8; ++columns) {
    for (int first = 0; first < m / 8; first += Blocks) {
      typename V::Vector sum[Blocks][2][kParts];
      Number* at = c + (columns * (m / 8) + first) * 64;
      auto each = [&](auto what) {
        for (int r = 0; r < Blocks; ++r) {
          for (int p = 0; p < 2; ++p) {
            for (int h = 0; h < kParts; ++h) what(sum[r][p][h], at + r * 64 + p * 32 + h * V::kLanes);
          }
        }
      };
      each([](typename V::Vector& v, Number* p) { v = V::load(p); });
      add_products<V, Blocks>(s, first, columns, k, sum);
      each([](typename V::Vector& v, Number* p) { V::store(p, v); });
    }
  }
}

// Fragments with elements of `Bits` bits.
template <int Bits, class Number, class Get>
[[gnu::always_inline]] inline void unpack_a(const MatrixRegisters& t, Steps<Number>& s, Get get) {
  constexpr int kEach = 32 / Bits, kWidth = 4 * kEach;
  constexpr uint32_t kMask = (1u << Bits) - 1;
  for (int block = 0; block < t.m / 8; ++block) {
    for (int wide = 0; wide < t.k / kWidth; ++wide) {
      const uint32_t* from = t.ra + (block + t.m / 8 * wide) * 32;
      for (int l = 0; l < 32; ++l) {
        for (int i = 0; i < kEach; ++i) {
          int k = l % 4 * kEach + i;
          s.a[block][wide * kEach + k / 4][l / 4 * 4 + k % 4] = get(from[l] >> (i * Bits) & kMask);
        }
      }
    }
  }
}

template <int Bits, class Number, class Get>
[[gnu::always_inline]] inline void unpack_b(const MatrixRegisters& t, Steps<Number>& s, Get get) {
  constexpr int kEach = 32 / Bits, kWidth = 4 * kEach;
  constexpr uint32_t kMask = (1u << Bits) - 1;
  for (int block = 0; block < t.n / 8; ++block) {
    for (int wide = 0; wide < t.k / kWidth; ++wide) {
      const uint32_t* from = t.rb + (wide + t.k / kWidth * block) * 32;
      for (int l = 0; l < 32; ++l) {
        for (int i = 0; i < kEach; ++i) {
          s.b[block][wide * kWidth + l % 4 * kEach + i][l / 4 % 2 * 4 + l / 8] =
              get(from[l] >> (i * Bits) & kMask);
        }
      }
    }
  }
}

}  // namespace
}  // namespace quern::vgpu
