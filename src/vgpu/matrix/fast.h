// The table of a level, from what its vectors can do; included by a file for each level, after which V is known.
#pragma once

#include "vgpu/matrix/bytes.h"
#include "vgpu/matrix/doubles.h"
#include "vgpu/matrix/steps.h"

namespace quern::vgpu {
namespace {

// Two accumulators a row and vector must be enough to hide the latency of a multiply-add: eight vectors at least.
template <class V>
inline constexpr int kBlocks = V::kLanes >= 16 ? 2 : 1;

template <class V, class Number>
[[gnu::always_inline]] inline void multiply_steps(const Steps<Number>& s, int m, int n, int k, Number* c) {
  if (m % 16 == 0) {
    multiply_steps<V, kBlocks<V>>(s, m, n, k, c);
  } else {
    multiply_steps<V, 1>(s, m, n, k, c);
  }
}

// Both operands of one product, which may be of two kinds.
template <class V, bool kBrain>
[[gnu::always_inline]] inline void unpack_pairs(const MatrixRegisters& t, int m, int n, int k, Steps<float>& s) {
  for (int block = 0; block < m / 8; ++block) {
    for (int eight = 0; eight < k / 8; ++eight)
      V::template rows<kBrain>(t.ra + (block + m / 8 * eight) * 32, s.a[block][2 * eight], s.a[block][2 * eight + 1]);
  }
  for (int block = 0; block < n / 8; ++block) {
    for (int eight = 0; eight < k / 8; ++eight)
      V::template columns<kBrain>(t.rb + (eight + k / 8 * block) * 32, s.b[block] + eight * 8);
  }
}

// tf32: a register of A has four steps of eight rows, as they are wanted; one of B is turned round.
inline void unpack_words(const MatrixRegisters& t, Steps<float>& s) {
  constexpr uint32_t kBits = 0xffffe000;
  for (int block = 0; block < t.m / 8; ++block) {
    for (int four = 0; four < t.k / 4; ++four) {
      const uint32_t* from = t.ra + (block + t.m / 8 * four) * 32;
      for (int l = 0; l < 32; ++l) s.a[block][four][l] = __builtin_bit_cast(float, from[l] & kBits);
    }
  }
  auto column = [](const uint32_t* p) {
    return _mm_and_si128(_mm_load_si128(reinterpret_cast<const __m128i*>(p)), _mm_set1_epi32(static_cast<int>(kBits)));
  };
  for (int block = 0; block < t.n / 8; ++block) {
    for (int four = 0; four < t.k / 4; ++four) {
      for (int odd = 0; odd < 2; ++odd) {
        const uint32_t* from = t.rb + (four + t.k / 4 * block) * 32 + odd * 4;  // columns odd, odd + 2 and so on
        auto* to = reinterpret_cast<int32_t*>(s.b[block][four * 4] + odd * 4);
        store_turned(column(from), column(from + 8), column(from + 16), column(from + 24), to, 8);
      }
    }
  }
}

template <class V>
void unpack(const MatrixRegisters& t, Steps<float>& s) {
  switch (t.a) {
    case Element::kF16: return unpack_pairs<V, false>(t, t.m, t.n, t.k, s);
    case Element::kBf16: return unpack_pairs<V, true>(t, t.m, t.n, t.k, s);
    case Element::kTf32: return unpack_words(t, s);
    default: {
      const float *a = narrow_reals(t.a), *b = narrow_reals(t.b);
      unpack_a<8>(t, s, [&](uint32_t code) { return a[code]; });
      unpack_b<8>(t, s, [&](uint32_t code) { return b[code]; });
    }
  }
}

// A register of bytes is four steps in each lane.
template <bool kSigned>
void unpack_bytes_a(const MatrixRegisters& t, Steps<int32_t>& s) {
  for (int block = 0; block < t.m / 8; ++block) {
    for (int wide = 0; wide < t.k / 16; ++wide) {
      const uint32_t* from = t.ra + (block + t.m / 8 * wide) * 32;
      for (int l = 0; l < 32; ++l) store_four(s.a[block][wide * 4 + l % 4] + l / 4 * 4, expand<kSigned>(from[l]));
    }
  }
}

template <bool kSigned>
void unpack_bytes_b(const MatrixRegisters& t, Steps<int32_t>& s) {
  for (int block = 0; block < t.n / 8; ++block) {
    for (int wide = 0; wide < t.k / 16; ++wide) {
      const uint32_t* from = t.rb + (wide + t.k / 16 * block) * 32;
      for (int four = 0; four < 4; ++four) {
        for (int odd = 0; odd < 2; ++odd) {
          const uint32_t* at = from + four + odd * 4;  // columns odd, odd + 2 and so on
          int32_t* to = s.b[block][wide * 16 + four * 4] + odd * 4;
          turn<kSigned>(at, 8, to, 8);
        }
      }
    }
  }
}

void unpack(const MatrixRegisters& t, Steps<int32_t>& s) {
  auto s4 = [](uint32_t code) { return static_cast<int32_t>(code << 28) >> 28; };
  auto plain = [](uint32_t code) { return static_cast<int32_t>(code); };
  switch (t.a) {
    case Element::kS8: unpack_bytes_a<true>(t, s); break;
    case Element::kU8: unpack_bytes_a<false>(t, s); break;
    case Element::kS4: unpack_a<4>(t, s, s4); break;
    default: unpack_a<4>(t, s, plain);
  }
  switch (t.b) {
    case Element::kS8: unpack_bytes_b<true>(t, s); break;
    case Element::kU8: unpack_bytes_b<false>(t, s); break;
    case Element::kS4: unpack_b<4>(t, s, s4); break;
    default: unpack_b<4>(t, s, plain);
  }
}

template <class V, bool kBrain>
[[gnu::always_inline]] inline void multiply_pairs(MatrixRegisters& t, int m, int n, int k) {
  Steps<float> s;
  unpack_pairs<V, kBrain>(t, m, n, k, s);
  multiply_steps<V>(s, m, n, k, reinterpret_cast<float*>(t.rc));
}

template <class V>
void other_pairs(MatrixRegisters& t) {
  if (t.a == Element::kBf16) return multiply_pairs<V, true>(t, t.m, t.n, t.k);
  multiply_pairs<V, false>(t, t.m, t.n, t.k);
}

template <class V>
void pairs(const MatrixCall* calls, uint8_t* base, int32_t count) {
  const MatrixShape& t = calls->shape;
  if (t.m != 16 || t.n != 8 || t.k != 16) return gathered<other_pairs<V>>(calls, base, count);
  t.a == Element::kBf16 ? V::template usual<true>(calls, base, count) : V::template usual<false>(calls, base, count);
}

template <class V>
void reals(MatrixRegisters& t) {
  Steps<float> s;
  unpack<V>(t, s);
  auto* c = reinterpret_cast<float*>(t.rc);
  // A register of f16 becomes two of f32, and back.
  alignas(64) float wide[512];
  int registers = t.m / 8 * (t.n / 8);
  float* from = t.c == Element::kF16 ? wide : c;
  for (int q = 0; q < registers && t.c == Element::kF16; ++q) V::widen_register(t.rc + q * 32, wide + q * 64);
  multiply_steps<V>(s, t.m, t.n, t.k, from);
  for (int q = 0; q < registers; ++q) {
    if (t.d == Element::kF16) {
      V::narrow_register(from + q * 64, t.rc + q * 32);
    } else if (from == wide) {
      for (int l = 0; l < 64; ++l) c[q * 64 + l] = wide[q * 64 + l];
    }
  }
}

template <class V>
void numbers(MatrixRegisters& t) {
  Steps<int32_t> s;
  unpack(t, s);
  auto* c = reinterpret_cast<int32_t*>(t.rc);
  if (!t.saturate) return multiply_steps<typename V::Integers>(s, t.m, t.n, t.k, c);
  // The products' sum fits; only adding C can leave the range.
  alignas(64) int32_t sums[512] = {};
  multiply_steps<typename V::Integers>(s, t.m, t.n, t.k, sums);
  for (int i = 0; i < t.m * t.n; ++i) {
    int64_t sum = int64_t{c[i]} + sums[i];
    c[i] = static_cast<int32_t>(sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum);
  }
}

template <class V>
inline constexpr Multiply kTable[kMultipliers] = {&multiply_any, &gathered<reals<V>>, &pairs<V>, &gathered<numbers<V>>,
                                                  &doubles<typename V::Doubles>};

}  // namespace
}  // namespace quern::vgpu
