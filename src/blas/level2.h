// A matrix and vectors: BLAS's second level (Dongarra, Du Croz, Hammarling, Hanson 1988). Sums are taken as vector.h
// has it.
#pragma once

#include <algorithm>

#include "blas/product.h"
#include "blas/vector.h"

namespace quern::blas {

template <class T>
struct Matrix {
  T* data;
  int64_t ld;
  T& operator()(int64_t row, int64_t column) const { return data[row + column * ld]; }
};

// Element (i, j) of op(A).
template <class T>
std::remove_const_t<T> element(const Matrix<T>& a, Op op, int64_t i, int64_t j) {
  std::remove_const_t<T> v = is_transposed(op) ? a(j, i) : a(i, j);
  return is_conjugate(op) ? conjugate(v) : v;
}

// y = alpha op(A) x + beta y; op(A): m x n. Rows of A are taken many at a time, since they lie apart.
template <class T>
void multiply_vector(Op op, int64_t m, int64_t n, T alpha, Matrix<const T> a, Vector<const T> x, T beta, Vector<T> y) {
  constexpr int64_t kRows = 256;
  Sum<T> sums[kRows];
  for (int64_t first = 0; first < m; first += kRows) {
    int64_t rows = std::min(kRows, m - first);
    std::fill(sums, sums + rows, Sum<T>{});
    auto add = [&](int64_t i, int64_t j) { sums[i] += times(Sum<T>(element(a, op, first + i, j)), Sum<T>(x[j])); };
    if (alpha != T{} && is_transposed(op)) {
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < n; ++j) add(i, j);
      }
    } else if (alpha != T{}) {
      for (int64_t j = 0; j < n; ++j) {
        for (int64_t i = 0; i < rows; ++i) add(i, j);
      }
    }
    for (int64_t i = 0; i < rows; ++i) {
      T product = times(alpha, static_cast<T>(sums[i]));
      T& to = y[first + i];
      to = beta == T{} ? product : product + times(beta, to);
    }
  }
}

// A half of a square matrix, as calls say it: which, whether its diagonal counts as ones.
struct Triangle {
  bool upper = false, unit = false;
  bool has(int64_t i, int64_t j) const { return upper ? i <= j : i >= j; }
  // Rows [first, last) of column j.
  int64_t first(int64_t j) const { return upper ? 0 : j; }
  int64_t last(int64_t j, int64_t n) const { return upper ? j + 1 : n; }
};

// Element (i, j) of op(A) for a triangular A.
template <class T>
std::remove_const_t<T> element(const Matrix<T>& a, const Triangle& t, Op op, int64_t i, int64_t j) {
  if (i == j && t.unit) return 1;
  bool inside = is_transposed(op) ? t.has(j, i) : t.has(i, j);
  return inside ? element(a, op, i, j) : std::remove_const_t<T>{};
}

// Element (i, j) of a matrix of which one half is kept: symmetric, or Hermitian with a real diagonal.
template <class T>
std::remove_const_t<T> mirrored(const Matrix<T>& a, const Triangle& t, bool hermitian, int64_t i, int64_t j) {
  bool inside = t.has(i, j);
  std::remove_const_t<T> v = inside ? a(i, j) : a(j, i);
  if constexpr (kIsComplex<std::remove_const_t<T>>) {
    if (hermitian && i == j) return v.real();
    if (hermitian && !inside) return std::conj(v);
  }
  return v;
}

// Whether op(A) is upper: then a system is solved from its last row on.
constexpr bool is_upper(const Triangle& t, Op op) { return t.upper != is_transposed(op); }

// op(A) x = b, x in place of b.
template <class T>
void solve(const Triangle& t, Op op, int64_t n, Matrix<const T> a, Vector<T> x) {
  bool upper = is_upper(t, op);
  for (int64_t s = 0; s < n; ++s) {
    int64_t i = upper ? n - 1 - s : s;
    Sum<T> sum = x[i];
    for (int64_t j = upper ? i + 1 : 0; j < (upper ? n : i); ++j) {
      sum -= times(Sum<T>(element(a, op, i, j)), Sum<T>(x[j]));
    }
    if (!t.unit) sum /= Sum<T>(element(a, op, i, i));
    x[i] = static_cast<T>(sum);
  }
}

// x = op(A) x.
template <class T>
void multiply_triangle(const Triangle& t, Op op, int64_t n, Matrix<const T> a, Vector<T> x) {
  bool upper = is_upper(t, op);
  for (int64_t s = 0; s < n; ++s) {
    int64_t i = upper ? s : n - 1 - s;
    Sum<T> sum{};
    for (int64_t j = upper ? i : 0; j < (upper ? n : i + 1); ++j) {
      sum += times(Sum<T>(element(a, t, op, i, j)), Sum<T>(x[j]));
    }
    x[i] = static_cast<T>(sum);
  }
}

}  // namespace quern::blas
