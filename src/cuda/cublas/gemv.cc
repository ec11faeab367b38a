// A matrix and a vector: one product, many at a fixed distance, many at addresses that an array on the device holds.
#include "cuda/api/exports.h"
#include "cuda/cublas/pieces.h"

namespace quern::cuda {
namespace {

using blas::Op;
using C = std::complex<float>;
using Z = std::complex<double>;

// Steps are the vectors' increments. `arrays`: a, x and y hold addresses.
template <class T>
struct Gemv {
  BlasOperation operation;
  int64_t m, n;
  const void* alpha;
  const void* a;
  int64_t lda;
  const void* x;
  int64_t step_x;
  const void* beta;
  void* y;
  int64_t step_y;
  int64_t batch = 1, stride_a = 0, stride_x = 0, stride_y = 0;
  bool arrays = false;
};

template <class T>
void one(LibraryAccess& access, const Gemv<T>& g, Op op, T alpha, T beta, const T* a, const T* x, T* y) {
  int64_t rows = blas::is_transposed(op) ? g.n : g.m, columns = blas::is_transposed(op) ? g.m : g.n;
  Piece to = vector_piece("y", y, rows, g.step_y);
  bool product = alpha != T{};
  if (product &&
      !(access.reads(matrix_piece("A", a, g.m, g.n, g.lda)) && access.reads(vector_piece("x", x, columns, g.step_x)))) {
    return;
  }
  if ((beta != T{} && !access.reads(to)) || !access.writes(to)) return;
  blas::multiply_vector<T>(op, rows, columns, alpha, {a, g.lda}, {x, columns, g.step_x}, beta, {y, rows, g.step_y});
}

template <class T>
BlasStatus submit(const BlasHandle* handle, const char* name, const Gemv<T>& g) {
  return blas_call(handle, [&](const BlasHandle& h) {
    Op op;
    bool good = blas_op(g.operation, op) && g.m >= 0 && g.n >= 0 && g.batch >= 0 && fits(g.lda, g.m) && g.step_x &&
                g.step_y && g.alpha && g.beta;
    if (!good) return BlasStatus::kInvalidValue;
    if (!g.m || !g.n || !g.batch) return BlasStatus::kSuccess;
    BlasScalar<T> by(h, "alpha", g.alpha), keep(h, "beta", g.beta);
    return blas_submit(h, blas_name<T>(name), [=](LibraryAccess& access) {
      T alpha, beta;
      if (!by.get(access, alpha) || !keep.get(access, beta)) return;
      auto *as = static_cast<const T*const*>(g.a), *xs = static_cast<const T*const*>(g.x);
      auto* ys = static_cast<T* const*>(g.y);
      constexpr int64_t kPointer = sizeof(void*);
      if (g.arrays && !(access.reads({"the array of A", as, kPointer, g.batch}) &&
                        access.reads({"the array of x", xs, kPointer, g.batch}) &&
                        access.reads({"the array of y", ys, kPointer, g.batch}))) {
        return;
      }
      for (int64_t i = 0; i < g.batch; ++i) {
        const T* a = g.arrays ? as[i] : static_cast<const T*>(g.a) + i * g.stride_a;
        const T* x = g.arrays ? xs[i] : static_cast<const T*>(g.x) + i * g.stride_x;
        T* y = g.arrays ? ys[i] : static_cast<T*>(g.y) + i * g.stride_y;
        one<T>(access, g, op, alpha, beta, a, x, y);
      }
    });
  });
}

template <class T>
struct Of {
  template <class I>
  static BlasStatus gemv(const BlasHandle* h, BlasOperation op, I m, I n, const T* alpha, const T* a, I lda, const T* x,
                         I step_x, const T* beta, T* y, I step_y) {
    return submit<T>(h, "gemv", {op, m, n, alpha, a, lda, x, step_x, beta, y, step_y});
  }
  template <class I>
  static BlasStatus batched(const BlasHandle* h, BlasOperation op, I m, I n, const T* alpha, const T* const* a, I lda,
                            const T* const* x, I step_x, const T* beta, T* const* y, I step_y, I batch) {
    return submit<T>(h, "gemvBatched",
                     {op, m, n, alpha, a, lda, x, step_x, beta, const_cast<T**>(y), step_y, batch, 0, 0, 0, true});
  }
  template <class I>
  static BlasStatus strided(const BlasHandle* h, BlasOperation op, I m, I n, const T* alpha, const T* a, I lda,
                            long long stride_a, const T* x, I step_x, long long stride_x, const T* beta, T* y, I step_y,
                            long long stride_y, I batch) {
    return submit<T>(h, "gemvStridedBatched",
                     {op, m, n, alpha, a, lda, x, step_x, beta, y, step_y, batch, stride_a, stride_x, stride_y});
  }
};

}  // namespace

std::span<const Export> blas_gemv_exports() {
#define ALL(rest, member)                                                            \
  QUERN_BLAS("S" rest, Of<float>::member), QUERN_BLAS("D" rest, Of<double>::member), \
      QUERN_BLAS("C" rest, Of<C>::member), QUERN_BLAS("Z" rest, Of<Z>::member)
  static const Export rows[] = {
      ALL("gemv_v2", gemv),
      ALL("gemvBatched", batched),
      ALL("gemvStridedBatched", strided),
  };
#undef ALL
  return rows;
}

}  // namespace quern::cuda
