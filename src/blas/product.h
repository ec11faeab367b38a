// C = alpha * op(A) * op(B) + beta * C, for matrices of many types: what cuBLAS calls gemm.
//
// Each element of the product is a sum over k in ascending order, from zero on, by fused operations (of complex
// numbers: first with the real part of op(B), then with the imaginary one), in f32, f64 or integers that wrap. So every
// way to compute it gives the same bits, whatever the processor and however many threads; where a processor has no
// fused operation, it is slow. As in BLAS, C isn't read where beta is 0, and A and B aren't where alpha is 0.
#pragma once

#include <complex>
#include <cstdint>

#include "blas/number.h"

namespace quern::jit {
enum class VectorLevel : uint8_t;
}

namespace quern::blas {

enum class Op : uint8_t { kNone, kTransposed, kAdjoint, kConjugate };

constexpr bool is_transposed(Op op) { return op == Op::kTransposed || op == Op::kAdjoint; }
constexpr bool is_conjugate(Op op) { return op == Op::kAdjoint || op == Op::kConjugate; }

struct Product {
  Op op_a = Op::kNone, op_b = Op::kNone;
  int64_t m = 0, n = 0, k = 0;  // op(A): m x k, op(B): k x n, C: m x n
  // f16, bf16, s8 with results of their own type or f32, s8 with s32; else the same.
  Number factors = Number::kF32, result = Number::kF32;
  const void* a = nullptr;
  int64_t lda = 0;
  const void* b = nullptr;
  int64_t ldb = 0;
  void* c = nullptr;
  int64_t ldc = 0;
  std::complex<double> alpha = 1, beta = 0;  // holds what is of a lesser type as it is
};

// On up to `threads` threads, 0: as many as there are processors.
void multiply(const Product& p, int threads = 0);
// By the loops for a level that this processor has.
void multiply(const Product& p, int threads, jit::VectorLevel level);
// Element by element: the truth, and quick enough for little ones.
void multiply_plain(const Product& p);

}  // namespace quern::blas
