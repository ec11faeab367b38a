// Many small systems: factors, solutions and inverses (getrf, getrs, getri, matinv).
#include "blas/factor.h"

#include <fmt/format.h>

#include "cuda/api/exports.h"
#include "cuda/cublas/pieces.h"

namespace quern::cuda {
namespace {

using blas::Matrix;
using blas::Op;
using C = std::complex<float>;
using Z = std::complex<double>;

constexpr int64_t kPointer = sizeof(void*), kNumber = sizeof(int);

// Pivots and the result for each matrix are ints on the device.
Piece ints(const char* what, const int* at, int64_t count) { return {what, at, kNumber, count}; }

// Each pivot names a row from its own on.
bool check_pivots(LibraryAccess& access, const int* pivots, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    if (pivots[i] > i && pivots[i] <= n) continue;
    return access.refuse(ints("pivots", pivots + i, 1), fmt::format("pivot {} of {} rows is {}", i + 1, n, pivots[i]));
  }
  return true;
}

// The inverse, from factors.
template <class T>
void invert(int64_t n, Matrix<const T> factors, const int* pivots, Matrix<T> out) {
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i < n; ++i) out(i, j) = i == j ? T{1} : T{};
  }
  blas::solve_factored<T>(Op::kNone, n, n, factors, pivots, out);
}

template <class T>
bool is_singular(int64_t n, Matrix<const T> factors, int& at) {
  for (at = 1; at <= n; ++at) {
    if (factors(at - 1, at - 1) == T{}) return true;
  }
  at = 0;
  return false;
}

template <class T>
struct Of {
  static BlasStatus getrf(const BlasHandle* handle, int n, T* const* a, int lda, int* pivots, int* info, int batch) {
    return blas_call(handle, [&](const BlasHandle& h) {
      if (n < 0 || batch < 0 || !fits(lda, n)) return BlasStatus::kInvalidValue;
      if (!n || !batch) return BlasStatus::kSuccess;
      return blas_submit(h, blas_name<T>("getrfBatched"), [=](LibraryAccess& access) {
        bool good = access.reads({"the array of A", a, kPointer, batch}) && access.writes(ints("info", info, batch)) &&
                    (!pivots || access.writes(ints("pivots", pivots, int64_t{n} * batch)));
        for (int i = 0; good && i < batch; ++i) {
          Piece whole = matrix_piece("A", a[i], n, n, lda);
          good = access.reads(whole) && access.writes(whole);
          if (good) info[i] = blas::factor<T>(n, {a[i], lda}, pivots ? pivots + int64_t{n} * i : nullptr);
        }
      });
    });
  }

  // `info` is the host's, and tells only of the arguments.
  static BlasStatus getrs(const BlasHandle* handle, BlasOperation operation, int n, int columns, const T* const* a,
                          int lda, const int* pivots, T* const* b, int ldb, int* info, int batch) {
    return blas_call(handle, [&](const BlasHandle& h) {
      Op op;
      bool good = blas_op(operation, op) && n >= 0 && columns >= 0 && batch >= 0 && fits(lda, n) && fits(ldb, n);
      if (!good || !info) return BlasStatus::kInvalidValue;
      *info = 0;
      if (!n || !columns || !batch) return BlasStatus::kSuccess;
      return blas_submit(h, blas_name<T>("getrsBatched"), [=](LibraryAccess& access) {
        bool good = access.reads({"the array of A", a, kPointer, batch}) &&
                    access.reads({"the array of B", b, kPointer, batch}) &&
                    (!pivots || access.reads(ints("pivots", pivots, int64_t{n} * batch)));
        for (int i = 0; good && i < batch; ++i) {
          const int* own = pivots ? pivots + int64_t{n} * i : nullptr;
          Piece to = matrix_piece("B", b[i], n, columns, ldb);
          good = access.reads(matrix_piece("A", a[i], n, n, lda)) && access.reads(to) && access.writes(to) &&
                 (!own || check_pivots(access, own, n));
          if (good) blas::solve_factored<T>(op, n, columns, {a[i], lda}, own, {b[i], ldb});
        }
      });
    });
  }

  static BlasStatus getri(const BlasHandle* handle, int n, const T* const* a, int lda, const int* pivots, T* const* c,
                          int ldc, int* info, int batch) {
    return blas_call(handle, [&](const BlasHandle& h) {
      if (n < 0 || batch < 0 || !fits(lda, n) || !fits(ldc, n)) return BlasStatus::kInvalidValue;
      if (!n || !batch) return BlasStatus::kSuccess;
      return blas_submit(h, blas_name<T>("getriBatched"), [=](LibraryAccess& access) {
        bool good = access.reads({"the array of A", a, kPointer, batch}) &&
                    access.reads({"the array of C", c, kPointer, batch}) && access.writes(ints("info", info, batch)) &&
                    (!pivots || access.reads(ints("pivots", pivots, int64_t{n} * batch)));
        for (int i = 0; good && i < batch; ++i) {
          const int* own = pivots ? pivots + int64_t{n} * i : nullptr;
          good = access.reads(matrix_piece("A", a[i], n, n, lda)) &&
                 access.writes(matrix_piece("C", c[i], n, n, ldc)) && (!own || check_pivots(access, own, n));
          if (good && !is_singular<T>(n, {a[i], lda}, info[i])) invert<T>(n, {a[i], lda}, own, {c[i], ldc});
        }
      });
    });
  }

  // Inverses of matrices of up to 32 rows, without factors of the caller's.
  static BlasStatus matinv(const BlasHandle* handle, int n, const T* const* a, int lda, T* const* c, int ldc, int* info,
                           int batch) {
    return blas_call(handle, [&](const BlasHandle& h) {
      constexpr int kMost = 32;
      if (n < 0 || n > kMost || batch < 0 || !fits(lda, n) || !fits(ldc, n)) return BlasStatus::kInvalidValue;
      if (!n || !batch) return BlasStatus::kSuccess;
      return blas_submit(h, blas_name<T>("matinvBatched"), [=](LibraryAccess& access) {
        bool good = access.reads({"the array of A", a, kPointer, batch}) &&
                    access.reads({"the array of C", c, kPointer, batch}) && access.writes(ints("info", info, batch));
        for (int i = 0; good && i < batch; ++i) {
          good = access.reads(matrix_piece("A", a[i], n, n, lda)) && access.writes(matrix_piece("C", c[i], n, n, ldc));
          if (!good) return;
          T factors[kMost * kMost];
          int pivots[kMost];
          for (int64_t j = 0; j < n; ++j) std::copy_n(a[i] + j * lda, n, factors + j * n);
          info[i] = blas::factor<T>(n, {factors, n}, pivots);
          if (!info[i]) invert<T>(n, {factors, n}, pivots, {c[i], ldc});
        }
      });
    });
  }
};

}  // namespace

std::span<const Export> blas_factor_exports() {
#define ROW(letter, T, rest, member) \
  Export { "cublas" letter rest, reinterpret_cast<void*>(&Of<T>::member) }
#define ALL(rest, member) \
  ROW("S", float, rest, member), ROW("D", double, rest, member), ROW("C", C, rest, member), ROW("Z", Z, rest, member)
  static const Export rows[] = {
      ALL("getrfBatched", getrf),
      ALL("getrsBatched", getrs),
      ALL("getriBatched", getri),
      ALL("matinvBatched", matinv),
  };
#undef ALL
#undef ROW
  return rows;
}

}  // namespace quern::cuda
