// Compiled for AVX-512: nothing in here may be shared with code for other processors, so all is in this file alone.
#ifdef __x86_64__
#include <immintrin.h>

#include "vgpu/matrix/fast.h"

namespace quern::vgpu {
namespace {

// Word n * 8 + k of 8 columns of 8 steps, at place 8 * k + (columns 0 2 4 6 1 3 5 7).
struct alignas(64) Order {
  uint16_t at[2][32];
  constexpr Order() : at{} {
    for (int k = 0; k < 8; ++k) {
      for (int i = 0; i < 8; ++i) at[k / 4][k % 4 * 8 + i] = static_cast<uint16_t>((i % 4 * 2 + i / 4) * 8 + k);
    }
  }
};
constexpr Order kOrder;

struct Avx512 {
  static constexpr int kLanes = 16;
  using Vector = __m512;
  static Vector load(const float* p) { return _mm512_load_ps(p); }
  static constexpr bool kReals = true;
  static Vector add(Vector a, Vector b) { return _mm512_add_ps(a, b); }
  static void store(float* p, Vector v) { _mm512_store_ps(p, v); }
  static Vector repeat(const float* p) { return _mm512_broadcast_f32x4(_mm_load_ps(p)); }
  template <int kStep>
  static Vector spread(Vector v) {
    return _mm512_permute_ps(v, kStep * 0x55);
  }
  static Vector multiply_add(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }

  template <bool kBrain>
  static Vector widen(__m256i v) {
    if (kBrain) return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(v), 16));
    return _mm512_cvtph_ps(v);
  }
  // A register of A: 8 rows of 8 steps; 4 steps to each array.
  template <bool kBrain>
  static void rows(const uint32_t* from, float* low, float* high) {
    for (int h = 0; h < 2; ++h) {
      Vector x = widen<kBrain>(_mm256_load_si256(reinterpret_cast<const __m256i*>(from + h * 16)));
      Vector y = widen<kBrain>(_mm256_load_si256(reinterpret_cast<const __m256i*>(from + h * 16 + 8)));
      _mm512_store_ps(low + h * 16, _mm512_shuffle_f32x4(x, y, 0x88));
      _mm512_store_ps(high + h * 16, _mm512_shuffle_f32x4(x, y, 0xdd));
    }
  }
  template <bool kBrain>
  static void columns(const uint32_t* from, float (*to)[8]) {
    __m512i x = _mm512_load_si512(from), y = _mm512_load_si512(from + 16);
    for (int h = 0; h < 2; ++h) {
      __m512i four = _mm512_permutex2var_epi16(x, _mm512_load_si512(kOrder.at[h]), y);
      _mm512_store_ps(to[h * 4], widen<kBrain>(_mm512_castsi512_si256(four)));
      _mm512_store_ps(to[h * 4 + 2], widen<kBrain>(_mm512_extracti64x4_epi64(four, 1)));
    }
  }
  // m16n8k16. What is made of A, each number four times over, serves all calls.
  template <bool kBrain>
  static void usual(const MatrixCall* calls, uint8_t* base, int32_t count) {
    auto reg = [&](int32_t offset) { return reinterpret_cast<const uint32_t*>(base + offset); };
    alignas(64) float a[16][4][16];  // a step, four rows: each number for four columns
    auto half = [](const uint32_t* p) { return widen<kBrain>(_mm256_load_si256(reinterpret_cast<const __m256i*>(p))); };
    for (int i = 0; i < 8; ++i) {
      const uint32_t* from = reg(calls->a[i / 2]) + i % 2 * 16;
      Vector x = half(from), y = half(from + 8);
      Vector four[2] = {_mm512_shuffle_f32x4(x, y, 0x88), _mm512_shuffle_f32x4(x, y, 0xdd)};
      int rows = i / 2 % 2 * 2 + i % 2;
      for (int k = 0; k < 2; ++k) {
        float(*to)[4][16] = a + i / 4 * 8 + k * 4;
        store(to[0][rows], spread<0>(four[k]));
        store(to[1][rows], spread<1>(four[k]));
        store(to[2][rows], spread<2>(four[k]));
        store(to[3][rows], spread<3>(four[k]));
      }
    }
    for (const MatrixCall* call = calls; call < calls + count; ++call) {
      auto real = [&](int32_t offset) { return reinterpret_cast<float*>(base + offset); };
      Vector sums[2][4][2];  // every other eight steps; 4 rows; even or odd columns
      for (int i = 0; i < 8; ++i) {
        sums[0][i / 4 * 2 + i % 2][i / 2 % 2] = load(real(call->c[i / 2]) + i % 2 * 16);
        sums[1][i / 4 * 2 + i % 2][i / 2 % 2] = _mm512_setzero_ps();
      }
#pragma GCC unroll 2
      for (int eight = 0; eight < 2; ++eight) {
        auto& sum = sums[eight];
        __m512i low = _mm512_load_si512(reg(call->b[eight])), high = _mm512_load_si512(reg(call->b[eight]) + 16);
#pragma GCC unroll 2
        for (int four = 0; four < 2; ++four) {
          __m512i steps = _mm512_permutex2var_epi16(low, _mm512_load_si512(kOrder.at[four]), high);
          Vector first = widen<kBrain>(_mm512_castsi512_si256(steps));
          Vector second = widen<kBrain>(_mm512_extracti64x4_epi64(steps, 1));
          auto step = [&]<int kStep>(Vector b) {
            constexpr int kEven = kStep % 2 ? 0xaa : 0x00, kOdd = kStep % 2 ? 0xff : 0x55;
            Vector even = _mm512_shuffle_f32x4(b, b, kEven), odd = _mm512_shuffle_f32x4(b, b, kOdd);
            for (int i = 0; i < 4; ++i) {
              Vector x = load(a[eight * 8 + four * 4 + kStep][i]);
              sum[i][0] = multiply_add(x, even, sum[i][0]);
              sum[i][1] = multiply_add(x, odd, sum[i][1]);
            }
          };
          step.template operator()<0>(first);
          step.template operator()<1>(first);
          step.template operator()<2>(second);
          step.template operator()<3>(second);
        }
      }
      for (int i = 0; i < 8; ++i) {
        int rows = i / 4 * 2 + i % 2, p = i / 2 % 2;
        store(real(call->d[i / 2]) + i % 2 * 16, add(sums[0][rows][p], sums[1][rows][p]));
      }
    }
  }

  // A register of pairs of f16 as two of floats: the low ones, then the high ones.
  static void widen_register(const uint32_t* from, float* to) {
    for (int h = 0; h < 32; h += 16) {
      __m512i v = _mm512_load_si512(from + h);
      _mm512_store_ps(to + h, _mm512_cvtph_ps(_mm512_cvtepi32_epi16(v)));
      _mm512_store_ps(to + 32 + h, _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(v, 16))));
    }
  }
  static void narrow_register(const float* from, uint32_t* to) {
    for (int h = 0; h < 32; h += 16) {
      auto narrow = [](const float* p) {
        return _mm512_cvtepu16_epi32(_mm512_cvtps_ph(_mm512_load_ps(p), _MM_FROUND_TO_NEAREST_INT));
      };
      _mm512_store_si512(to + h, _mm512_or_si512(narrow(from + h), _mm512_slli_epi32(narrow(from + 32 + h), 16)));
    }
  }

  struct Integers {
    static constexpr int kLanes = 16;
    using Vector = __m512i;
    static Vector load(const int32_t* p) { return _mm512_load_si512(p); }
    static constexpr bool kReals = false;
    static Vector add(Vector a, Vector b) { return _mm512_add_epi32(a, b); }
    static void store(int32_t* p, Vector v) { _mm512_store_si512(p, v); }
    static Vector repeat(const int32_t* p) {
      return _mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(p)));
    }
    template <int kStep>
    static Vector spread(Vector v) {
      return _mm512_shuffle_epi32(v, static_cast<_MM_PERM_ENUM>(kStep * 0x55));
    }
    static Vector multiply_add(Vector a, Vector b, Vector c) { return _mm512_add_epi32(_mm512_mullo_epi32(a, b), c); }
  };

  struct Doubles {
    static constexpr int kLanes = 8;
    using Vector = __m512d;
    static Vector load(const double* p) { return _mm512_load_pd(p); }
    static void store(double* p, Vector v) { _mm512_store_pd(p, v); }
    static Vector repeat(const double* p) { return _mm512_broadcast_f64x4(_mm256_load_pd(p)); }
    template <int kStep>
    static Vector spread(Vector v) {
      return _mm512_permutex_pd(v, kStep * 0x55);
    }
    static Vector multiply_add(Vector a, Vector b, Vector c) { return _mm512_fmadd_pd(a, b, c); }
    // A register of B: 8 columns of 4 steps, turned round. A vector is two columns, the even one first.
    static void turn(const double* from, double (*to)[8]) {
      Vector a = load(from), b = load(from + 8), c = load(from + 16), d = load(from + 24);
      auto put = [&](int step, Vector ab, Vector cd) {  // this step and the one after the next
        Vector x = _mm512_shuffle_f64x2(ab, cd, 0x88), y = _mm512_shuffle_f64x2(ab, cd, 0xdd);
        store(to[step], _mm512_shuffle_f64x2(x, x, 0xd8));
        store(to[step + 2], _mm512_shuffle_f64x2(y, y, 0xd8));
      };
      put(0, _mm512_unpacklo_pd(a, b), _mm512_unpacklo_pd(c, d));
      put(1, _mm512_unpackhi_pd(a, b), _mm512_unpackhi_pd(c, d));
    }
  };
};

}  // namespace

const Multiply* multipliers_avx512() { return kTable<Avx512>; }

}  // namespace quern::vgpu
#endif
