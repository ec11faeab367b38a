// All of cuBLAS's products of matrices: one, many at a fixed distance, many at addresses that an array on the device
// holds.
#pragma once

#include "blas/product.h"
#include "cuda/cublas/handle.h"

namespace quern::cuda {

// A number as f16, f32 …, by what the call says.
class GemmScalar {
 public:
  GemmScalar() = default;
  GemmScalar(const BlasHandle& h, const char* what, const void* at, blas::Number type);
  bool get(LibraryAccess& access, std::complex<double>& out) const { return get_(access, out); }

 private:
  std::function<bool(LibraryAccess&, std::complex<double>&)> get_;
};

struct Gemm {
  blas::Product product;  // its a, b, c are the first of many, or arrays of pointers; alpha and beta are below
  blas::Number scale = blas::Number::kF32;
  const void* alpha = nullptr;
  const void* beta = nullptr;
  int64_t batch = 1;
  bool arrays = false;
  int64_t stride_a = 0, stride_b = 0, stride_c = 0;  // in elements
};

// op as a call gives it; false: there is no such.
bool blas_op(BlasOperation operation, blas::Op& out);

// Sizes and leading dimensions, by the operations.
bool has_good_sizes(const blas::Product& p);

// Reads what `p` reads and writes what it writes, all of it within one allocation each.
bool touch(LibraryAccess& access, const blas::Product& p);

BlasStatus submit_gemm(const BlasHandle* handle, const std::string& function, BlasOperation op_a, BlasOperation op_b,
                       Gemm gemm);

}  // namespace quern::cuda
