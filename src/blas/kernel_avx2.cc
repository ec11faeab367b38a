// Compiled for AVX2 and FMA: nothing in here may be shared with code for other processors.
#ifdef __x86_64__
#include <immintrin.h>

#include "blas/kernel_tile.h"

namespace quern::blas {
namespace {

struct Floats {
  using Number = float;
  using Vector = __m256;
  static constexpr int kLanes = 8, kColumns = 6;
  static Vector load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(float* p, Vector v) { _mm256_storeu_ps(p, v); }
  static Vector repeat(float v) { return _mm256_set1_ps(v); }
  static Vector fused(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
};

struct Doubles {
  using Number = double;
  using Vector = __m256d;
  static constexpr int kLanes = 4, kColumns = 6;
  static Vector load(const double* p) { return _mm256_loadu_pd(p); }
  static void store(double* p, Vector v) { _mm256_storeu_pd(p, v); }
  static Vector repeat(double v) { return _mm256_set1_pd(v); }
  static Vector fused(Vector a, Vector b, Vector c) { return _mm256_fmadd_pd(a, b, c); }
};

struct Integers {
  using Number = uint32_t;
  using Vector = __m256i;
  static constexpr int kLanes = 8, kColumns = 6;
  static Vector load(const uint32_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  static void store(uint32_t* p, Vector v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v); }
  static Vector repeat(uint32_t v) { return _mm256_set1_epi32(static_cast<int>(v)); }
  static Vector fused(Vector a, Vector b, Vector c) { return _mm256_add_epi32(_mm256_mullo_epi32(a, b), c); }
};

}  // namespace

const Kernels& kernels_avx2() {
  static constexpr Kernels kAll = {kKernel<Floats>, kKernel<Doubles>, kKernel<Integers>};
  return kAll;
}

}  // namespace quern::blas
#endif
