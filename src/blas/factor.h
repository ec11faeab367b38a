// Small systems: PA = LU with the greatest of a column as pivot, and what is solved with it (G. Golub, C. Van Loan,
// "Matrix computations", 3.4).
#pragma once

#include "blas/level2.h"

namespace quern::blas {

// A becomes L, without its ones, and U. Row i was swapped with row pivots[i] - 1; null: no rows are. The first
// column, from 1 on, whose pivot is 0; 0: none.
template <class T>
int factor(int64_t n, Matrix<T> a, int* pivots) {
  int singular = 0;
  for (int64_t k = 0; k < n; ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; pivots && i < n; ++i) {
      if (size(a(i, k)) > size(a(pivot, k))) pivot = i;
    }
    if (pivots) pivots[k] = static_cast<int>(pivot + 1);
    if (a(pivot, k) == T{}) {
      if (!singular) singular = static_cast<int>(k + 1);
      continue;
    }
    for (int64_t j = 0; pivot != k && j < n; ++j) std::swap(a(k, j), a(pivot, j));
    for (int64_t i = k + 1; i < n; ++i) a(i, k) /= a(k, k);
    for (int64_t j = k + 1; j < n; ++j) {
      for (int64_t i = k + 1; i < n; ++i) a(i, j) -= times(a(i, k), a(k, j));
    }
  }
  return singular;
}

// op(A) X = B for what factor() made of A; X in place of B.
template <class T>
void solve_factored(Op op, int64_t n, int64_t columns, Matrix<const T> a, const int* pivots, Matrix<T> b) {
  constexpr Triangle kLower{false, true}, kUpper{true, false};
  bool transposed = is_transposed(op);
  for (int64_t j = 0; j < columns; ++j) {
    Vector<T> x(&b(0, j), n, 1);
    for (int64_t i = 0; pivots && !transposed && i < n; ++i) std::swap(x[i], x[pivots[i] - 1]);
    solve<T>(transposed ? kUpper : kLower, op, n, a, x);
    solve<T>(transposed ? kLower : kUpper, op, n, a, x);
    for (int64_t i = n; pivots && transposed && i-- > 0;) std::swap(x[i], x[pivots[i] - 1]);
  }
}

}  // namespace quern::blas
