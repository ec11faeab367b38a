// Compiled for AVX2, FMA and F16C: nothing in here may be shared with code for other processors, so all is in this file
// alone.
#ifdef __x86_64__
#include <immintrin.h>

#include "vgpu/matrix/fast.h"

namespace quern::vgpu {
namespace {

struct Avx2 {
  static constexpr int kLanes = 8;
  using Vector = __m256;
  static Vector load(const float* p) { return _mm256_load_ps(p); }
  static constexpr bool kReals = true;
  static Vector add(Vector a, Vector b) { return _mm256_add_ps(a, b); }
  static void store(float* p, Vector v) { _mm256_store_ps(p, v); }
  static Vector repeat(const float* p) { return _mm256_broadcast_ps(reinterpret_cast<const __m128*>(p)); }
  template <int kStep>
  static Vector spread(Vector v) {
    return _mm256_permute_ps(v, kStep * 0x55);
  }
  static Vector multiply_add(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }

  template <bool kBrain>
  static Vector widen(const uint32_t* from) {
    __m128i v = _mm_load_si128(reinterpret_cast<const __m128i*>(from));
    if (kBrain) return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(v), 16));
    return _mm256_cvtph_ps(v);
  }
  // A register of A: 8 rows of 8 steps; 4 steps to each array.
  template <bool kBrain>
  static void rows(const uint32_t* from, float* low, float* high) {
    for (int r = 0; r < 8; r += 2) {
      Vector x = widen<kBrain>(from + r * 4), y = widen<kBrain>(from + r * 4 + 4);
      _mm256_store_ps(low + r * 4, _mm256_permute2f128_ps(x, y, 0x20));
      _mm256_store_ps(high + r * 4, _mm256_permute2f128_ps(x, y, 0x31));
    }
  }
  // A register of B: 8 columns of 8 steps, turned round.
  template <bool kBrain>
  static void columns(const uint32_t* from, float (*to)[8]) {
    constexpr int kOrder[] = {0, 2, 4, 6, 1, 3, 5, 7};
    Vector r[8], t[8];
    for (int i = 0; i < 8; ++i) r[i] = widen<kBrain>(from + kOrder[i] * 4);
    for (int i = 0; i < 8; i += 2) {
      t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
      t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
      r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
      r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
      r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
      r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
    }
    for (int i = 0; i < 4; ++i) {
      _mm256_store_ps(to[i], _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
      _mm256_store_ps(to[i + 4], _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
    }
  }
  // m16n8k16, whose loops have constant lengths.
  template <bool kBrain>
  static void usual(const MatrixCall* calls, uint8_t* base, int32_t count);

  // A register of pairs of f16 as two of floats: the low ones, then the high ones.
  static void widen_register(const uint32_t* from, float* to) {
    for (int h = 0; h < 32; h += 8) {
      __m256i v = _mm256_load_si256(reinterpret_cast<const __m256i*>(from + h));
      __m256i low = _mm256_and_si256(v, _mm256_set1_epi32(0xffff)), high = _mm256_srli_epi32(v, 16);
      __m256i both = _mm256_packus_epi32(low, high);  // four and four of the first half, then of the second
      Vector first = _mm256_cvtph_ps(_mm256_castsi256_si128(both));
      Vector second = _mm256_cvtph_ps(_mm256_extracti128_si256(both, 1));
      _mm256_store_ps(to + h, _mm256_permute2f128_ps(first, second, 0x20));
      _mm256_store_ps(to + 32 + h, _mm256_permute2f128_ps(first, second, 0x31));
    }
  }
  static void narrow_register(const float* from, uint32_t* to) {
    for (int h = 0; h < 32; h += 8) {
      auto narrow = [](const float* p) {
        return _mm256_cvtepu16_epi32(_mm256_cvtps_ph(_mm256_load_ps(p), _MM_FROUND_TO_NEAREST_INT));
      };
      __m256i both = _mm256_or_si256(narrow(from + h), _mm256_slli_epi32(narrow(from + 32 + h), 16));
      _mm256_store_si256(reinterpret_cast<__m256i*>(to + h), both);
    }
  }

  struct Integers {
    static constexpr int kLanes = 8;
    using Vector = __m256i;
    static Vector load(const int32_t* p) { return _mm256_load_si256(reinterpret_cast<const __m256i*>(p)); }
    static constexpr bool kReals = false;
    static Vector add(Vector a, Vector b) { return _mm256_add_epi32(a, b); }
    static void store(int32_t* p, Vector v) { _mm256_store_si256(reinterpret_cast<__m256i*>(p), v); }
    static Vector repeat(const int32_t* p) {
      return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(p)));
    }
    template <int kStep>
    static Vector spread(Vector v) {
      return _mm256_shuffle_epi32(v, kStep * 0x55);
    }
    static Vector multiply_add(Vector a, Vector b, Vector c) { return _mm256_add_epi32(_mm256_mullo_epi32(a, b), c); }
  };

  struct Doubles {
    static constexpr int kLanes = 4;
    using Vector = __m256d;
    static Vector load(const double* p) { return _mm256_load_pd(p); }
    static void store(double* p, Vector v) { _mm256_store_pd(p, v); }
    static Vector repeat(const double* p) { return _mm256_load_pd(p); }
    template <int kStep>
    static Vector spread(Vector v) {
      return _mm256_permute4x64_pd(v, kStep * 0x55);
    }
    static Vector multiply_add(Vector a, Vector b, Vector c) { return _mm256_fmadd_pd(a, b, c); }
    // A register of B: 8 columns of 4 steps, turned round.
    static void turn(const double* from, double (*to)[8]) {
      for (int odd = 0; odd < 2; ++odd) {
        const double* at = from + odd * 4;
        Vector a = load(at), b = load(at + 8), c = load(at + 16), d = load(at + 24);
        Vector ab = _mm256_unpacklo_pd(a, b), cd = _mm256_unpacklo_pd(c, d);  // steps 0 and 2
        store(to[0] + odd * 4, _mm256_permute2f128_pd(ab, cd, 0x20));
        store(to[2] + odd * 4, _mm256_permute2f128_pd(ab, cd, 0x31));
        ab = _mm256_unpackhi_pd(a, b), cd = _mm256_unpackhi_pd(c, d);
        store(to[1] + odd * 4, _mm256_permute2f128_pd(ab, cd, 0x20));
        store(to[3] + odd * 4, _mm256_permute2f128_pd(ab, cd, 0x31));
      }
    }
  };
};

template <bool kBrain>
void Avx2::usual(const MatrixCall* calls, uint8_t* base, int32_t count) {
  Steps<float> s;
  auto reg = [&](int32_t offset) { return reinterpret_cast<const uint32_t*>(base + offset); };
  auto real = [&](int32_t offset) { return reinterpret_cast<float*>(base + offset); };
  for (int i = 0; i < 4; ++i) rows<kBrain>(reg(calls->a[i]), s.a[i % 2][i / 2 * 2], s.a[i % 2][i / 2 * 2 + 1]);
  for (const MatrixCall* call = calls; call < calls + count; ++call) {
    const MatrixCall& t = *call;
    for (int i = 0; i < 2; ++i) columns<kBrain>(reg(t.b[i]), s.b[0] + i * 8);
    Vector sum[2][1][2][4];  // all of C before any of D, which may lie where C does
    for (int i = 0; i < 16; ++i) sum[i / 8][0][i / 4 % 2][i % 4] = load(real(t.c[i / 4]) + i % 4 * 8);
    for (int half = 0; half < 2; ++half) add_products<Avx2, 1>(s, half, 0, 16, sum[half]);
    for (int i = 0; i < 16; ++i) store(real(t.d[i / 4]) + i % 4 * 8, sum[i / 8][0][i / 4 % 2][i % 4]);
  }
}

}  // namespace

const Multiply* multipliers_avx2() { return kTable<Avx2>; }

}  // namespace quern::vgpu
#endif
