// Products with matrices of which one half counts (symm, syrk, trmm and their kind), and sums of
// matrices (geam, dgmm). Such a matrix is written out whole where a product needs it.
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
using Whole = std::vector<T>;

template <class T, class F>
Whole<T> fill_whole(int64_t n, F f) {
  Whole<T> out(static_cast<size_t>(n * n));
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i < n; ++i) out[static_cast<size_t>(i + j * n)] = f(i, j);
  }
  return out;
}

template <class T>
void product(Op op_a, Op op_b, int64_t m, int64_t n, int64_t k, T alpha, Matrix<const T> a, Matrix<const T> b, T beta,
             Matrix<T> c) {
  constexpr blas::Number kType = blas::number_of<T>;
  blas::Product p{op_a, op_b, m, n, k, kType, kType, a.data, a.ld, b.data, b.ld, c.data, c.ld, alpha, beta};
  blas::multiply(p, Process::get().config.threads);
}

template <class T>
struct Of {
  // C = alpha A B + beta C, or of B A
  template <bool kHermitian>
  struct Mirrored {
    template <class I>
    static BlasStatus symm(const BlasHandle* handle, BlasSide side, BlasFill fill, I m, I n, const T* alpha, const T* a,
                           I lda, const T* b, I ldb, const T* beta, T* c, I ldc) {
      return blas_call(handle, [&](const BlasHandle& h) {
        Triangle t;
        bool left = side == BlasSide::kLeft;
        int64_t order = left ? m : n;
        bool good = blas_triangle(fill, BlasDiagonal::kNonUnit, t) && (left || side == BlasSide::kRight) && m >= 0 &&
                    n >= 0 && fits(lda, order) && fits(ldb, m) && fits(ldc, m) && alpha && beta;
        if (!good) return BlasStatus::kInvalidValue;
        if (!m || !n) return BlasStatus::kSuccess;
        BlasScalar<T> by(h, "alpha", alpha), keep(h, "beta", beta);
        return blas_submit(h, blas_name<T>(kHermitian ? "hemm" : "symm"), [=](LibraryAccess& access) {
          T al, be;
          Piece to = matrix_piece("C", c, m, n, ldc);
          bool good =
              by.get(access, al) && keep.get(access, be) && touch_triangle(access, "A", t, a, order, lda, false) &&
              access.reads(matrix_piece("B", b, m, n, ldb)) && (be == T{} || access.reads(to)) && access.writes(to);
          if (!good) return;
          auto whole = fill_whole<T>(order, [&](int64_t i, int64_t j) {
            return blas::mirrored(Matrix<const T>{a, lda}, t, kHermitian, i, j);
          });
          Matrix<const T> full{whole.data(), order}, other{b, ldb};
          product<T>(Op::kNone, Op::kNone, m, n, order, al, left ? full : other, left ? other : full, be, {c, ldc});
        });
      });
    }

    // C = alpha A A^T + beta C: one half of it. For Hermitian ones alpha and beta are real.
    using S = std::conditional_t<kHermitian, blas::Real<T>, T>;
    template <class I>
    static BlasStatus syrk(const BlasHandle* handle, BlasFill fill, BlasOperation operation, I n, I k, const S* alpha,
                           const T* a, I lda, const S* beta, T* c, I ldc) {
      return rank(handle, kHermitian ? "herk" : "syrk", fill, operation, n, k, alpha, a, lda, a, lda, beta, c, ldc,
                  false);
    }
    // C = alpha A B^T + beta C, of which the caller knows that it is symmetric.
    template <class I>
    static BlasStatus syrkx(const BlasHandle* handle, BlasFill fill, BlasOperation operation, I n, I k, const T* alpha,
                            const T* a, I lda, const T* b, I ldb, const S* beta, T* c, I ldc) {
      return rank(handle, kHermitian ? "herkx" : "syrkx", fill, operation, n, k, alpha, a, lda, b, ldb, beta, c, ldc,
                  false);
    }
    // C = alpha A B^T + alpha B A^T + beta C
    template <class I>
    static BlasStatus syr2k(const BlasHandle* handle, BlasFill fill, BlasOperation operation, I n, I k, const T* alpha,
                            const T* a, I lda, const T* b, I ldb, const S* beta, T* c, I ldc) {
      return rank(handle, kHermitian ? "her2k" : "syr2k", fill, operation, n, k, alpha, a, lda, b, ldb, beta, c, ldc,
                  true);
    }

   private:
    template <class By>
    static BlasStatus rank(const BlasHandle* handle, const char* name, BlasFill fill, BlasOperation operation,
                           int64_t n, int64_t k, const By* alpha, const T* a, int64_t lda, const T* b, int64_t ldb,
                           const S* beta, T* c, int64_t ldc, bool twice) {
      return blas_call(handle, [&](const BlasHandle& h) {
        Triangle t;
        Op op;
        bool known = blas_triangle(fill, BlasDiagonal::kNonUnit, t) && blas_op(operation, op);
        bool transposed = known && blas::is_transposed(op);
        int64_t rows = transposed ? k : n, columns = transposed ? n : k;
        bool good = known && n >= 0 && k >= 0 && fits(lda, rows) && fits(ldb, rows) && fits(ldc, n) && alpha && beta;
        if (!good) return BlasStatus::kInvalidValue;
        if (!n) return BlasStatus::kSuccess;
        BlasScalar<By> by(h, "alpha", alpha);
        BlasScalar<S> keep(h, "beta", beta);
        return blas_submit(h, blas_name<T>(name), [=](LibraryAccess& access) {
          By al;
          S be;
          bool good = by.get(access, al) && keep.get(access, be) &&
                      access.reads(matrix_piece("A", a, rows, columns, lda)) &&
                      access.reads(matrix_piece("B", b, rows, columns, ldb)) &&
                      (be == S{} || touch_triangle(access, "C", t, c, n, ldc, false)) &&
                      touch_triangle(access, "C", t, c, n, ldc, true);
          if (!good) return;
          Op other = kHermitian ? Op::kAdjoint : Op::kTransposed;
          Op op_a = transposed ? other : Op::kNone, op_b = transposed ? Op::kNone : other;
          Whole<T> sum(static_cast<size_t>(n * n));
          T first = T(al), second = kHermitian ? blas::conjugate(first) : first;
          product<T>(op_a, op_b, n, n, k, first, {a, lda}, {b, ldb}, T{}, {sum.data(), n});
          if (twice) product<T>(op_a, op_b, n, n, k, second, {b, ldb}, {a, lda}, T{1}, {sum.data(), n});
          for (int64_t j = 0; j < n; ++j) {
            for (int64_t i = t.first(j); i < t.last(j, n); ++i) {
              T& to = c[i + j * ldc];
              T v = sum[static_cast<size_t>(i + j * n)];
              to = be == S{} ? v : v + blas::times(T(be), to);
              if (kHermitian && i == j) to = std::real(to);
            }
          }
        });
      });
    }
  };

  // C = alpha op(A) B, or of B op(A), for a triangular A.
  template <class I>
  static BlasStatus trmm(const BlasHandle* handle, BlasSide side, BlasFill fill, BlasOperation operation,
                         BlasDiagonal diagonal, I m, I n, const T* alpha, const T* a, I lda, const T* b, I ldb, T* c,
                         I ldc) {
    return blas_call(handle, [&](const BlasHandle& h) {
      Triangle t;
      Op op;
      bool left = side == BlasSide::kLeft;
      int64_t order = left ? m : n;
      bool good = blas_triangle(fill, diagonal, t) && blas_op(operation, op) && (left || side == BlasSide::kRight) &&
                  m >= 0 && n >= 0 && fits(lda, order) && fits(ldb, m) && fits(ldc, m) && alpha;
      if (!good) return BlasStatus::kInvalidValue;
      if (!m || !n) return BlasStatus::kSuccess;
      BlasScalar<T> by(h, "alpha", alpha);
      return blas_submit(h, blas_name<T>("trmm"), [=](LibraryAccess& access) {
        T al;
        bool good = by.get(access, al) && touch_triangle(access, "A", t, a, order, lda, false) &&
                    access.reads(matrix_piece("B", b, m, n, ldb)) && access.writes(matrix_piece("C", c, m, n, ldc));
        if (!good) return;
        auto whole = fill_whole<T>(order, [&](int64_t i, int64_t j) {
          return blas::element(Matrix<const T>{a, lda}, t, op, i, j);
        });
        // B may be C.
        Whole<T> copy(static_cast<size_t>(m * n));
        for (int64_t j = 0; j < n; ++j) std::copy_n(b + j * ldb, m, copy.data() + j * m);
        Matrix<const T> full{whole.data(), order}, other{copy.data(), m};
        product<T>(Op::kNone, Op::kNone, m, n, order, al, left ? full : other, left ? other : full, T{}, {c, ldc});
      });
    });
  }

  // C = alpha op(A) + beta op(B)
  template <class I>
  static BlasStatus geam(const BlasHandle* handle, BlasOperation ta, BlasOperation tb, I m, I n, const T* alpha,
                         const T* a, I lda, const T* beta, const T* b, I ldb, T* c, I ldc) {
    return blas_call(handle, [&](const BlasHandle& h) {
      Op op_a, op_b;
      bool good = blas_op(ta, op_a) && blas_op(tb, op_b) && m >= 0 && n >= 0 && alpha && beta && fits(ldc, m) &&
                  fits(lda, blas::is_transposed(op_a) ? n : m) && fits(ldb, blas::is_transposed(op_b) ? n : m);
      if (!good) return BlasStatus::kInvalidValue;
      if (!m || !n) return BlasStatus::kSuccess;
      BlasScalar<T> first(h, "alpha", alpha), second(h, "beta", beta);
      return blas_submit(h, blas_name<T>("geam"), [=](LibraryAccess& access) {
        T al, be;
        if (!first.get(access, al) || !second.get(access, be)) return;
        auto whole = [&](const char* what, const T* at, Op op, int64_t ld) {
          bool turned = blas::is_transposed(op);
          return access.reads(matrix_piece(what, at, turned ? n : m, turned ? m : n, ld));
        };
        if ((al != T{} && !whole("A", a, op_a, lda)) || (be != T{} && !whole("B", b, op_b, ldb))) return;
        if (!access.writes(matrix_piece("C", c, m, n, ldc))) return;
        for (int64_t j = 0; j < n; ++j) {
          for (int64_t i = 0; i < m; ++i) {
            T sum{};
            if (al != T{}) sum += blas::times(al, blas::element(Matrix<const T>{a, lda}, op_a, i, j));
            if (be != T{}) sum += blas::times(be, blas::element(Matrix<const T>{b, ldb}, op_b, i, j));
            c[i + j * ldc] = sum;
          }
        }
      });
    });
  }

  // C = A diag(x), or of diag(x) A
  template <class I>
  static BlasStatus dgmm(const BlasHandle* handle, BlasSide side, I m, I n, const T* a, I lda, const T* x, I step, T* c,
                         I ldc) {
    return blas_call(handle, [&](const BlasHandle& h) {
      bool left = side == BlasSide::kLeft;
      bool good = (left || side == BlasSide::kRight) && m >= 0 && n >= 0 && fits(lda, m) && fits(ldc, m);
      if (!good) return BlasStatus::kInvalidValue;
      if (!m || !n) return BlasStatus::kSuccess;
      return blas_submit(h, blas_name<T>("dgmm"), [=](LibraryAccess& access) {
        int64_t order = left ? m : n;
        bool good = access.reads(matrix_piece("A", a, m, n, lda)) && access.reads(vector_piece("x", x, order, step)) &&
                    access.writes(matrix_piece("C", c, m, n, ldc));
        if (!good) return;
        Vector<const T> xs(x, order, step);
        for (int64_t j = 0; j < n; ++j) {
          for (int64_t i = 0; i < m; ++i) c[i + j * ldc] = blas::times(a[i + j * lda], xs[left ? i : j]);
        }
      });
    });
  }
};

}  // namespace

std::span<const Export> blas_level3_exports() {
#define ALL(rest, member)                                                            \
  QUERN_BLAS("S" rest, Of<float>::member), QUERN_BLAS("D" rest, Of<double>::member), \
      QUERN_BLAS("C" rest, Of<C>::member), QUERN_BLAS("Z" rest, Of<Z>::member)
#define COMPLEX(rest, member) QUERN_BLAS("C" rest, Of<C>::member), QUERN_BLAS("Z" rest, Of<Z>::member)
  static const Export rows[] = {
      ALL("symm_v2", Mirrored<false>::symm),
      COMPLEX("hemm_v2", Mirrored<true>::symm),
      ALL("syrk_v2", Mirrored<false>::syrk),
      COMPLEX("herk_v2", Mirrored<true>::syrk),
      ALL("syrkx", Mirrored<false>::syrkx),
      COMPLEX("herkx", Mirrored<true>::syrkx),
      ALL("syr2k_v2", Mirrored<false>::syr2k),
      COMPLEX("her2k_v2", Mirrored<true>::syr2k),
      ALL("trmm_v2", trmm),
      ALL("geam", geam),
      ALL("dgmm", dgmm),
  };
#undef ALL
#undef COMPLEX
  return rows;
}

}  // namespace quern::cuda
