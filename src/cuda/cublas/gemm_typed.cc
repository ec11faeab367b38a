// Products whose type is in their name, and those of vectors and matrices that are products of one column.
#include "cuda/api/exports.h"
#include "cuda/cublas/gemm.h"

namespace quern::cuda {
namespace {

template <class T>
Gemm typed(int64_t m, int64_t n, int64_t k, const void* alpha, const void* a, int64_t lda, const void* b, int64_t ldb,
           const void* beta, void* c, int64_t ldc) {
  Gemm g;
  constexpr blas::Number kType = blas::number_of<T>;
  g.product = {{}, {}, m, n, k, kType, kType, a, lda, b, ldb, c, ldc};
  g.scale = kType;
  g.alpha = alpha;
  g.beta = beta;
  return g;
}

template <class T>
struct Typed {
  template <class I>
  static BlasStatus gemm(const BlasHandle* h, BlasOperation ta, BlasOperation tb, I m, I n, I k, const T* alpha,
                         const T* a, I lda, const T* b, I ldb, const T* beta, T* c, I ldc) {
    return submit_gemm(h, blas_name<T>("gemm"), ta, tb, typed<T>(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc));
  }

  template <class I>
  static BlasStatus batched(const BlasHandle* h, BlasOperation ta, BlasOperation tb, I m, I n, I k, const T* alpha,
                            const T* const* a, I lda, const T* const* b, I ldb, const T* beta, T* const* c, I ldc,
                            I batch) {
    Gemm g = typed<T>(m, n, k, alpha, a, lda, b, ldb, beta, const_cast<T**>(c), ldc);
    g.arrays = true;
    g.batch = batch;
    return submit_gemm(h, blas_name<T>("gemmBatched"), ta, tb, g);
  }

  template <class I>
  static BlasStatus strided(const BlasHandle* h, BlasOperation ta, BlasOperation tb, I m, I n, I k, const T* alpha,
                            const T* a, I lda, long long stride_a, const T* b, I ldb, long long stride_b, const T* beta,
                            T* c, I ldc, long long stride_c, I batch) {
    Gemm g = typed<T>(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    g.batch = batch;
    g.stride_a = stride_a;
    g.stride_b = stride_b;
    g.stride_c = stride_c;
    return submit_gemm(h, blas_name<T>("gemmStridedBatched"), ta, tb, g);
  }
};

using C = std::complex<float>;
using Z = std::complex<double>;
using blas::Half;

}  // namespace

std::span<const Export> blas_gemm_exports() {
  static const Export rows[] = {
      QUERN_BLAS("Hgemm", Typed<Half>::gemm),
      QUERN_BLAS("Sgemm_v2", Typed<float>::gemm),
      QUERN_BLAS("Dgemm_v2", Typed<double>::gemm),
      QUERN_BLAS("Cgemm_v2", Typed<C>::gemm),
      QUERN_BLAS("Zgemm_v2", Typed<Z>::gemm),
      QUERN_BLAS("Cgemm3m", Typed<C>::gemm),
      QUERN_BLAS("Zgemm3m", Typed<Z>::gemm),
      QUERN_BLAS("HgemmBatched", Typed<Half>::batched),
      QUERN_BLAS("SgemmBatched", Typed<float>::batched),
      QUERN_BLAS("DgemmBatched", Typed<double>::batched),
      QUERN_BLAS("CgemmBatched", Typed<C>::batched),
      QUERN_BLAS("ZgemmBatched", Typed<Z>::batched),
      QUERN_BLAS("Cgemm3mBatched", Typed<C>::batched),
      QUERN_BLAS("HgemmStridedBatched", Typed<Half>::strided),
      QUERN_BLAS("SgemmStridedBatched", Typed<float>::strided),
      QUERN_BLAS("DgemmStridedBatched", Typed<double>::strided),
      QUERN_BLAS("CgemmStridedBatched", Typed<C>::strided),
      QUERN_BLAS("ZgemmStridedBatched", Typed<Z>::strided),
      QUERN_BLAS("Cgemm3mStridedBatched", Typed<C>::strided),
  };
  return rows;
}

}  // namespace quern::cuda
