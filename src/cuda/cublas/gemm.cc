#include "cuda/cublas/gemm.h"

#include "blas/parallel.h"

namespace quern::cuda {
namespace {

const std::byte* offset(const void* p, int64_t elements, blas::Number type) {
  return static_cast<const std::byte*>(p) + elements * blas::bytes_of(type);
}

// The products of a batch, each with its matrices.
bool expand(LibraryAccess& access, const Gemm& g, const blas::Product& first, std::vector<blas::Product>& out) {
  out.assign(static_cast<size_t>(g.batch), first);
  auto* a = static_cast<const void* const*>(first.a);
  auto* b = static_cast<const void* const*>(first.b);
  auto* c = static_cast<void* const*>(first.c);
  constexpr int64_t kPointer = sizeof(void*);
  if (g.arrays && !(access.reads({"the array of A", a, kPointer, g.batch}) &&
                    access.reads({"the array of B", b, kPointer, g.batch}) &&
                    access.reads({"the array of C", c, kPointer, g.batch}))) {
    return false;
  }
  for (int64_t i = 0; i < g.batch; ++i) {
    blas::Product& p = out[static_cast<size_t>(i)];
    p.a = g.arrays ? a[i] : offset(first.a, i * g.stride_a, first.factors);
    p.b = g.arrays ? b[i] : offset(first.b, i * g.stride_b, first.factors);
    p.c = g.arrays ? c[i] : const_cast<std::byte*>(offset(first.c, i * g.stride_c, first.result));
    if (!touch(access, p)) return false;
  }
  return true;
}

void run(LibraryAccess& access, const Gemm& g, const GemmScalar& alpha, const GemmScalar& beta) {
  blas::Product first = g.product;
  std::vector<blas::Product> all;
  if (!alpha.get(access, first.alpha) || !beta.get(access, first.beta) || !expand(access, g, first, all)) return;
  int threads = Process::get().config.threads;
  if (all.size() == 1) return blas::multiply(all[0], threads);
  constexpr double kAlone = 1 << 20;
  double products = static_cast<double>(g.batch) * static_cast<double>(first.m) * static_cast<double>(first.n) *
                    static_cast<double>(first.k);
  blas::parallel(g.batch, products < kAlone ? 1 : threads,
                 [&](int64_t i) { blas::multiply(all[static_cast<size_t>(i)], 1); });
}

}  // namespace

GemmScalar::GemmScalar(const BlasHandle& h, const char* what, const void* at, blas::Number type) {
  blas::with_type(type, [&]<class T>(T) {
    get_ = [scalar = BlasScalar<T>(h, what, at)](LibraryAccess& access, std::complex<double>& out) {
      T value;
      if (!scalar.get(access, value)) return false;
      if constexpr (blas::is_complex(blas::number_of<T>)) {
        out = value;
      } else if constexpr (std::is_integral_v<T>) {
        out = static_cast<double>(value);
      } else {
        out = static_cast<double>(blas::widen(value));
      }
      return true;
    };
  });
}

bool has_good_sizes(const blas::Product& p) {
  int64_t rows_a = blas::is_transposed(p.op_a) ? p.k : p.m, rows_b = blas::is_transposed(p.op_b) ? p.n : p.k;
  auto fits = [](int64_t ld, int64_t rows) { return ld >= std::max<int64_t>(rows, 1); };
  return p.m >= 0 && p.n >= 0 && p.k >= 0 && fits(p.lda, rows_a) && fits(p.ldb, rows_b) && fits(p.ldc, p.m);
}

bool blas_op(BlasOperation operation, blas::Op& out) {
  switch (operation) {
    case BlasOperation::kN: out = blas::Op::kNone; return true;
    case BlasOperation::kT: out = blas::Op::kTransposed; return true;
    case BlasOperation::kC: out = blas::Op::kAdjoint; return true;
    case BlasOperation::kConjugate: out = blas::Op::kConjugate; return true;
  }
  return false;
}

bool touch(LibraryAccess& access, const blas::Product& p) {
  int64_t in = blas::bytes_of(p.factors), out = blas::bytes_of(p.result);
  bool ta = blas::is_transposed(p.op_a), tb = blas::is_transposed(p.op_b);
  bool nothing = p.m == 0 || p.n == 0;
  bool product = !nothing && p.k > 0 && p.alpha != 0.0;
  if (product && !(access.reads({"A", p.a, in, ta ? p.k : p.m, ta ? p.m : p.k, p.lda}) &&
                   access.reads({"B", p.b, in, tb ? p.n : p.k, tb ? p.k : p.n, p.ldb}))) {
    return false;
  }
  Piece c = {"C", p.c, out, p.m, p.n, p.ldc};
  return nothing || ((p.beta == 0.0 || access.reads(c)) && access.writes(c));
}

BlasStatus submit_gemm(const BlasHandle* handle, const std::string& function, BlasOperation op_a, BlasOperation op_b,
                       Gemm g) {
  return blas_call(handle, [&](const BlasHandle& h) {
    bool good = blas_op(op_a, g.product.op_a) && blas_op(op_b, g.product.op_b) && has_good_sizes(g.product) &&
                g.batch >= 0 && g.alpha && g.beta;
    if (!good) return BlasStatus::kInvalidValue;
    if (!g.product.m || !g.product.n || !g.batch) return BlasStatus::kSuccess;
    GemmScalar alpha(h, "alpha", g.alpha, g.scale), beta(h, "beta", g.beta, g.scale);
    return blas_submit(h, function, [=](LibraryAccess& access) { run(access, g, alpha, beta); });
  });
}

}  // namespace quern::cuda
