// A matrix and vectors: cuBLAS's second level, of matrices that are kept whole or by one half.
#include "cuda/api/exports.h"
#include "cuda/cublas/pieces.h"

namespace quern::cuda {
namespace {

using blas::Matrix;
using blas::Op;
using blas::Triangle;
using blas::Vector;
using C = std::complex<float>;
using Z = std::complex<double>;

template <class T>
struct Of {
  // A += alpha x op(y)
  template <bool kConjugated>
  struct Outer {
    template <class I>
    static BlasStatus ger(const BlasHandle* handle, I m, I n, const T* alpha, const T* x, I step_x, const T* y,
                          I step_y, T* a, I lda) {
      return blas_call(handle, [&](const BlasHandle& h) {
        if (m < 0 || n < 0 || !fits(lda, m) || !step_x || !step_y || !alpha) return BlasStatus::kInvalidValue;
        if (!m || !n) return BlasStatus::kSuccess;
        BlasScalar<T> by(h, "alpha", alpha);
        return blas_submit(h, blas_name<T>("ger"), [=](LibraryAccess& access) {
          T al;
          Piece to = matrix_piece("A", a, m, n, lda);
          bool good = by.get(access, al) && access.reads(vector_piece("x", x, m, step_x)) &&
                      access.reads(vector_piece("y", y, n, step_y)) && access.reads(to) && access.writes(to);
          if (!good) return;
          Vector<const T> xs(x, m, step_x), ys(y, n, step_y);
          for (int64_t j = 0; j < n; ++j) {
            T factor = blas::times(al, kConjugated ? blas::conjugate(ys[j]) : ys[j]);
            for (int64_t i = 0; i < m; ++i) a[i + j * lda] += blas::times(xs[i], factor);
          }
        });
      });
    }
  };

  // op(A) and x, in place; F is what is done with them.
  template <void (*kDo)(const Triangle&, Op, int64_t, Matrix<const T>, Vector<T>)>
  struct InPlace {
    template <class I>
    static BlasStatus call(const BlasHandle* handle, BlasFill fill, BlasOperation operation, BlasDiagonal diagonal, I n,
                           const T* a, I lda, T* x, I step) {
      return blas_call(handle, [&](const BlasHandle& h) {
        Op op;
        Triangle t;
        bool good = blas_triangle(fill, diagonal, t) && blas_op(operation, op) && n >= 0 && fits(lda, n) && step;
        if (!good) return BlasStatus::kInvalidValue;
        if (!n) return BlasStatus::kSuccess;
        bool solves = kDo == &blas::solve<T>;
        return blas_submit(h, blas_name<T>(solves ? "trsv" : "trmv"), [=](LibraryAccess& access) {
          Piece all = vector_piece("x", x, n, step);
          if (!touch_triangle(access, "A", t, a, n, lda, false) || !access.reads(all) || !access.writes(all)) return;
          kDo(t, op, n, {a, lda}, {x, n, step});
        });
      });
    }
  };

  // A mirrored matrix and a vector.
  template <bool kHermitian>
  struct Mirrored {
    template <class I>
    static BlasStatus multiply(const BlasHandle* handle, BlasFill fill, I n, const T* alpha, const T* a, I lda,
                               const T* x, I step_x, const T* beta, T* y, I step_y) {
      return blas_call(handle, [&](const BlasHandle& h) {
        Triangle t;
        bool good = blas_triangle(fill, BlasDiagonal::kNonUnit, t) && n >= 0 && fits(lda, n) && step_x && step_y &&
                    alpha && beta;
        if (!good) return BlasStatus::kInvalidValue;
        if (!n) return BlasStatus::kSuccess;
        BlasScalar<T> by(h, "alpha", alpha), keep(h, "beta", beta);
        return blas_submit(h, blas_name<T>(kHermitian ? "hemv" : "symv"), [=](LibraryAccess& access) {
          T al, be;
          Piece to = vector_piece("y", y, n, step_y);
          bool good = by.get(access, al) && keep.get(access, be) && touch_triangle(access, "A", t, a, n, lda, false) &&
                      access.reads(vector_piece("x", x, n, step_x)) && (be == T{} || access.reads(to)) &&
                      access.writes(to);
          if (!good) return;
          std::vector<T> whole(static_cast<size_t>(n * n));
          Matrix<const T> half{a, lda};
          for (int64_t j = 0; j < n; ++j) {
            for (int64_t i = 0; i < n; ++i)
              whole[static_cast<size_t>(i + j * n)] = blas::mirrored(half, t, kHermitian, i, j);
          }
          blas::multiply_vector<T>(Op::kNone, n, n, al, {whole.data(), n}, {x, n, step_x}, be, {y, n, step_y});
        });
      });
    }

    // A += alpha x x^T, or of x^H with a real alpha.
    template <class I>
    static BlasStatus rank_one(const BlasHandle* handle, BlasFill fill, I n,
                               const std::conditional_t<kHermitian, blas::Real<T>, T>* alpha, const T* x, I step, T* a,
                               I lda) {
      return blas_call(handle, [&](const BlasHandle& h) {
        using S = std::conditional_t<kHermitian, blas::Real<T>, T>;
        Triangle t;
        bool good = blas_triangle(fill, BlasDiagonal::kNonUnit, t) && n >= 0 && fits(lda, n) && step && alpha;
        if (!good) return BlasStatus::kInvalidValue;
        if (!n) return BlasStatus::kSuccess;
        BlasScalar<S> by(h, "alpha", alpha);
        return blas_submit(h, blas_name<T>(kHermitian ? "her" : "syr"), [=](LibraryAccess& access) {
          S al;
          bool good = by.get(access, al) && access.reads(vector_piece("x", x, n, step)) &&
                      touch_triangle(access, "A", t, a, n, lda, false) &&
                      touch_triangle(access, "A", t, a, n, lda, true);
          if (!good) return;
          Vector<const T> xs(x, n, step);
          for (int64_t j = 0; j < n; ++j) {
            T factor = blas::times(T(al), kHermitian ? blas::conjugate(xs[j]) : xs[j]);
            for (int64_t i = t.first(j); i < t.last(j, n); ++i) {
              T& to = a[i + j * lda];
              to += blas::times(xs[i], factor);
              if (kHermitian && i == j) to = std::real(to);
            }
          }
        });
      });
    }
  };
};

}  // namespace

std::span<const Export> blas_level2_exports() {
  static const Export rows[] = {
      QUERN_BLAS("Sger_v2", Of<float>::Outer<false>::ger),
      QUERN_BLAS("Dger_v2", Of<double>::Outer<false>::ger),
      QUERN_BLAS("Cgeru_v2", Of<C>::Outer<false>::ger),
      QUERN_BLAS("Zgeru_v2", Of<Z>::Outer<false>::ger),
      QUERN_BLAS("Cgerc_v2", Of<C>::Outer<true>::ger),
      QUERN_BLAS("Zgerc_v2", Of<Z>::Outer<true>::ger),
      QUERN_BLAS("Strsv_v2", Of<float>::InPlace<&blas::solve<float>>::call),
      QUERN_BLAS("Dtrsv_v2", Of<double>::InPlace<&blas::solve<double>>::call),
      QUERN_BLAS("Ctrsv_v2", Of<C>::InPlace<&blas::solve<C>>::call),
      QUERN_BLAS("Ztrsv_v2", Of<Z>::InPlace<&blas::solve<Z>>::call),
      QUERN_BLAS("Strmv_v2", Of<float>::InPlace<&blas::multiply_triangle<float>>::call),
      QUERN_BLAS("Dtrmv_v2", Of<double>::InPlace<&blas::multiply_triangle<double>>::call),
      QUERN_BLAS("Ctrmv_v2", Of<C>::InPlace<&blas::multiply_triangle<C>>::call),
      QUERN_BLAS("Ztrmv_v2", Of<Z>::InPlace<&blas::multiply_triangle<Z>>::call),
      QUERN_BLAS("Ssymv_v2", Of<float>::Mirrored<false>::multiply),
      QUERN_BLAS("Dsymv_v2", Of<double>::Mirrored<false>::multiply),
      QUERN_BLAS("Csymv_v2", Of<C>::Mirrored<false>::multiply),
      QUERN_BLAS("Zsymv_v2", Of<Z>::Mirrored<false>::multiply),
      QUERN_BLAS("Chemv_v2", Of<C>::Mirrored<true>::multiply),
      QUERN_BLAS("Zhemv_v2", Of<Z>::Mirrored<true>::multiply),
      QUERN_BLAS("Ssyr_v2", Of<float>::Mirrored<false>::rank_one),
      QUERN_BLAS("Dsyr_v2", Of<double>::Mirrored<false>::rank_one),
      QUERN_BLAS("Csyr_v2", Of<C>::Mirrored<false>::rank_one),
      QUERN_BLAS("Zsyr_v2", Of<Z>::Mirrored<false>::rank_one),
      QUERN_BLAS("Cher_v2", Of<C>::Mirrored<true>::rank_one),
      QUERN_BLAS("Zher_v2", Of<Z>::Mirrored<true>::rank_one),
  };
  return rows;
}

}  // namespace quern::cuda
