// Systems with a triangular matrix and many right sides: one, or many at addresses that an array on the device holds.
#include "cuda/api/exports.h"
#include "cuda/cublas/pieces.h"

namespace quern::cuda {
namespace {

using blas::Op;
using blas::Triangle;
using blas::Vector;
using C = std::complex<float>;
using Z = std::complex<double>;

// What op(A)^T is of A.
Op turned(Op op) {
  switch (op) {
    case Op::kNone: return Op::kTransposed;
    case Op::kTransposed: return Op::kNone;
    case Op::kAdjoint: return Op::kConjugate;
    case Op::kConjugate: break;
  }
  return Op::kAdjoint;
}

struct System {
  bool left = true;
  Triangle triangle;
  Op op = Op::kNone;
  int64_t m = 0, n = 0, lda = 0, ldb = 0;
  int64_t order() const { return left ? m : n; }
};

// op(A) X = alpha B, or X op(A) = alpha B; X in place of B.
template <class T>
void solve(LibraryAccess& access, const System& s, T alpha, const T* a, T* b) {
  Piece all = matrix_piece("B", b, s.m, s.n, s.ldb);
  if (!touch_triangle(access, "A", s.triangle, a, s.order(), s.lda, false)) return;
  if ((alpha != T{} && !access.reads(all)) || !access.writes(all)) return;
  for (int64_t j = 0; j < s.n; ++j) {
    for (int64_t i = 0; i < s.m; ++i) {
      T& v = b[i + j * s.ldb];
      v = alpha == T{} ? T{} : blas::times(alpha, v);
    }
  }
  if (alpha == T{}) return;
  // X op(A) = B is op(A)^T X^T = B^T: there it is the rows of B.
  for (int64_t line = 0; line < (s.left ? s.n : s.m); ++line) {
    Vector<T> x(b + (s.left ? line * s.ldb : line), s.order(), s.left ? 1 : s.ldb);
    blas::solve<T>(s.triangle, s.left ? s.op : turned(s.op), s.order(), {a, s.lda}, x);
  }
}

template <class T>
struct Of {
  template <class I>
  static BlasStatus trsm(const BlasHandle* handle, BlasSide side, BlasFill fill, BlasOperation operation,
                         BlasDiagonal diagonal, I m, I n, const T* alpha, const T* a, I lda, T* b, I ldb) {
    return submit(handle, "trsm", side, fill, operation, diagonal, {true, {}, {}, m, n, lda, ldb}, alpha, 1,
                  [=](LibraryAccess& access, const System& s, T by) { solve<T>(access, s, by, a, b); });
  }

  template <class I>
  static BlasStatus batched(const BlasHandle* handle, BlasSide side, BlasFill fill, BlasOperation operation,
                            BlasDiagonal diagonal, I m, I n, const T* alpha, const T* const* a, I lda, T* const* b,
                            I ldb, I batch) {
    auto work = [=](LibraryAccess& access, const System& s, T by) {
      constexpr int64_t kPointer = sizeof(void*);
      bool good =
          access.reads({"the array of A", a, kPointer, batch}) && access.reads({"the array of B", b, kPointer, batch});
      for (I i = 0; good && i < batch; ++i) solve<T>(access, s, by, a[i], b[i]);
    };
    return submit(handle, "trsmBatched", side, fill, operation, diagonal, {true, {}, {}, m, n, lda, ldb}, alpha, batch,
                  work);
  }

 private:
  template <class F>
  static BlasStatus submit(const BlasHandle* handle, const char* name, BlasSide side, BlasFill fill,
                           BlasOperation operation, BlasDiagonal diagonal, System s, const T* alpha, int64_t batch,
                           F work) {
    return blas_call(handle, [&](const BlasHandle& h) {
      s.left = side == BlasSide::kLeft;
      bool good = blas_triangle(fill, diagonal, s.triangle) && blas_op(operation, s.op) &&
                  (s.left || side == BlasSide::kRight) && s.m >= 0 && s.n >= 0 && batch >= 0 &&
                  fits(s.lda, s.order()) && fits(s.ldb, s.m) && alpha;
      if (!good) return BlasStatus::kInvalidValue;
      if (!s.m || !s.n || !batch) return BlasStatus::kSuccess;
      BlasScalar<T> scalar(h, "alpha", alpha);
      return blas_submit(h, blas_name<T>(name), [=](LibraryAccess& access) {
        T by;
        if (scalar.get(access, by)) work(access, s, by);
      });
    });
  }
};

}  // namespace

std::span<const Export> blas_trsm_exports() {
  static const Export rows[] = {
      QUERN_BLAS("Strsm_v2", Of<float>::trsm),
      QUERN_BLAS("Dtrsm_v2", Of<double>::trsm),
      QUERN_BLAS("Ctrsm_v2", Of<C>::trsm),
      QUERN_BLAS("Ztrsm_v2", Of<Z>::trsm),
      QUERN_BLAS("StrsmBatched", Of<float>::batched),
      QUERN_BLAS("DtrsmBatched", Of<double>::batched),
      QUERN_BLAS("CtrsmBatched", Of<C>::batched),
      QUERN_BLAS("ZtrsmBatched", Of<Z>::batched),
  };
  return rows;
}

}  // namespace quern::cuda
