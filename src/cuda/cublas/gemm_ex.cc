// Products that say the types of their matrices and of what they are computed in (cublasGemmEx and its kind).
#include "cuda/api/exports.h"
#include "cuda/cublas/gemm.h"

namespace quern::cuda {
namespace {

using blas::Number;

// What may be computed in what: table of cublasGemmEx in the manual of cuBLAS. Less precise ways that a compute type
// allows (kFast…) are not taken.
struct GemmTypes {
  Number work;  // alpha's and beta's
  DataType factors, result;
};
constexpr GemmTypes kTypes[] = {
    {Number::kF16, DataType::kR16F, DataType::kR16F},   {Number::kS32, DataType::kR8I, DataType::kR32I},
    {Number::kF32, DataType::kR16BF, DataType::kR16BF}, {Number::kF32, DataType::kR16F, DataType::kR16F},
    {Number::kF32, DataType::kR8I, DataType::kR32F},    {Number::kF32, DataType::kR16BF, DataType::kR32F},
    {Number::kF32, DataType::kR16F, DataType::kR32F},   {Number::kF32, DataType::kR32F, DataType::kR32F},
    {Number::kC32, DataType::kC32F, DataType::kC32F},   {Number::kF64, DataType::kR64F, DataType::kR64F},
    {Number::kC64, DataType::kC64F, DataType::kC64F},
};

Number number_of(DataType type) {
  switch (type) {
    case DataType::kR16F: return Number::kF16;
    case DataType::kR16BF: return Number::kBf16;
    case DataType::kR64F: return Number::kF64;
    case DataType::kR8I: return Number::kS8;
    case DataType::kC32F: return Number::kC32;
    case DataType::kC64F: return Number::kC64;
    case DataType::kR32I: return Number::kS32;
    case DataType::kR32F: break;
  }
  return Number::kF32;
}

bool work_of(BlasCompute compute, bool complex, Number& out) {
  switch (compute) {
    case BlasCompute::k16F:
    case BlasCompute::k16FPedantic: out = Number::kF16; return true;
    case BlasCompute::k32I:
    case BlasCompute::k32IPedantic: out = Number::kS32; return true;
    case BlasCompute::k64F:
    case BlasCompute::k64FPedantic:
    case BlasCompute::k64FEmulatedFixedPoint: out = complex ? Number::kC64 : Number::kF64; return true;
    case BlasCompute::k32F:
    case BlasCompute::k32FPedantic:
    case BlasCompute::k32FFast16F:
    case BlasCompute::k32FFast16BF:
    case BlasCompute::k32FFastTF32:
    case BlasCompute::k32FEmulated16BFX9: out = complex ? Number::kC32 : Number::kF32; return true;
  }
  return false;
}

struct Matrix {
  const void* at;
  DataType type;
  int64_t ld;
  int64_t stride = 0;
};

// kInvalidValue: there is no such compute type; kNotSupported: it can't be had for these matrices.
BlasStatus set_types(Gemm& g, const Matrix& a, const Matrix& b, const Matrix& c, BlasCompute compute) {
  bool complex = c.type == DataType::kC32F || c.type == DataType::kC64F;
  Number work;
  if (!work_of(compute, complex, work)) return BlasStatus::kInvalidValue;
  for (const GemmTypes& t : kTypes) {
    if (t.work != work || t.factors != a.type || t.factors != b.type || t.result != c.type) continue;
    g.product.factors = number_of(a.type);
    g.product.result = number_of(c.type);
    g.scale = work;
    return BlasStatus::kSuccess;
  }
  return BlasStatus::kNotSupported;
}

struct Sizes {
  int64_t m, n, k;
};

BlasStatus submit(const BlasHandle* h, const char* function, BlasOperation ta, BlasOperation tb, Sizes s,
                  const void* alpha, const Matrix& a, const Matrix& b, const void* beta, const Matrix& c,
                  BlasCompute compute, int64_t batch = 1, bool arrays = false) {
  Gemm g;
  g.product = {{}, {}, s.m, s.n, s.k, {}, {}, a.at, a.ld, b.at, b.ld, const_cast<void*>(c.at), c.ld};
  g.alpha = alpha;
  g.beta = beta;
  g.batch = batch;
  g.arrays = arrays;
  g.stride_a = a.stride;
  g.stride_b = b.stride;
  g.stride_c = c.stride;
  if (BlasStatus e = set_types(g, a, b, c, compute); e != BlasStatus::kSuccess) return e;
  return submit_gemm(h, function, ta, tb, g);
}

// The last argument chooses an algorithm, of which there is one.
template <class I>
BlasStatus gemm_ex(const BlasHandle* h, BlasOperation ta, BlasOperation tb, I m, I n, I k, const void* alpha,
                   const void* a, DataType type_a, I lda, const void* b, DataType type_b, I ldb, const void* beta,
                   void* c, DataType type_c, I ldc, BlasCompute compute, int) {
  return submit(h, "cublasGemmEx", ta, tb, {m, n, k}, alpha, {a, type_a, lda}, {b, type_b, ldb}, beta, {c, type_c, ldc},
                compute);
}

template <class I>
BlasStatus batched_ex(const BlasHandle* h, BlasOperation ta, BlasOperation tb, I m, I n, I k, const void* alpha,
                      const void* const* a, DataType type_a, I lda, const void* const* b, DataType type_b, I ldb,
                      const void* beta, void* const* c, DataType type_c, I ldc, I batch, BlasCompute compute, int) {
  return submit(h, "cublasGemmBatchedEx", ta, tb, {m, n, k}, alpha, {a, type_a, lda}, {b, type_b, ldb}, beta,
                {c, type_c, ldc}, compute, batch, true);
}

template <class I>
BlasStatus strided_ex(const BlasHandle* h, BlasOperation ta, BlasOperation tb, I m, I n, I k, const void* alpha,
                      const void* a, DataType type_a, I lda, long long stride_a, const void* b, DataType type_b, I ldb,
                      long long stride_b, const void* beta, void* c, DataType type_c, I ldc, long long stride_c,
                      I batch, BlasCompute compute, int) {
  return submit(h, "cublasGemmStridedBatchedEx", ta, tb, {m, n, k}, alpha, {a, type_a, lda, stride_a},
                {b, type_b, ldb, stride_b}, beta, {c, type_c, ldc, stride_c}, compute, batch);
}

// Computed in f32, whatever the matrices hold.
template <class I>
BlasStatus sgemm_ex(const BlasHandle* h, BlasOperation ta, BlasOperation tb, I m, I n, I k, const void* alpha,
                    const void* a, DataType type_a, I lda, const void* b, DataType type_b, I ldb, const void* beta,
                    void* c, DataType type_c, I ldc) {
  return submit(h, "cublasSgemmEx", ta, tb, {m, n, k}, alpha, {a, type_a, lda}, {b, type_b, ldb}, beta,
                {c, type_c, ldc}, BlasCompute::k32F);
}

template <class I>
BlasStatus cgemm_ex(const BlasHandle* h, BlasOperation ta, BlasOperation tb, I m, I n, I k, const void* alpha,
                    const void* a, DataType type_a, I lda, const void* b, DataType type_b, I ldb, const void* beta,
                    void* c, DataType type_c, I ldc) {
  return submit(h, "cublasCgemmEx", ta, tb, {m, n, k}, alpha, {a, type_a, lda}, {b, type_b, ldb}, beta,
                {c, type_c, ldc}, BlasCompute::k32F);
}

}  // namespace

std::span<const Export> blas_gemm_ex_exports() {
  static const Export rows[] = {
      QUERN_BLAS("GemmEx", gemm_ex),
      QUERN_BLAS("GemmBatchedEx", batched_ex),
      QUERN_BLAS("GemmStridedBatchedEx", strided_ex),
      QUERN_BLAS("SgemmEx", sgemm_ex),
      QUERN_BLAS("CgemmEx", cgemm_ex),
  };
  return rows;
}

}  // namespace quern::cuda
