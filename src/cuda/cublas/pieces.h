// What calls on vectors, matrices and halves of them touch.
#pragma once

#include "blas/level2.h"
#include "cuda/cublas/gemm.h"

namespace quern::cuda {

template <class T>
Piece vector_piece(const char* what, const T* at, int64_t n, int64_t increment) {
  int64_t bytes = sizeof(T), apart = increment < 0 ? -increment : increment;
  if (apart == 1) return {what, at, bytes, n};
  return {what, at, bytes, 1, n, apart};
}

template <class T>
Piece matrix_piece(const char* what, const T* at, int64_t rows, int64_t columns, int64_t ld) {
  return {what, at, sizeof(T), rows, columns, ld};
}

// The columns of a triangle, each to its end; without the diagonal where that counts as ones.
template <class T>
bool touch_triangle(LibraryAccess& access, const char* what, const blas::Triangle& t, const T* at, int64_t n,
                    int64_t ld, bool write) {
  for (int64_t j = 0; j < n; ++j) {
    int64_t first = t.first(j), last = t.last(j, n);
    if (t.unit) (t.upper ? last : first) += t.upper ? -1 : 1;
    if (first >= last) continue;
    Piece p = {what, at + first + j * ld, sizeof(T), last - first};
    if (!(write ? access.writes(p) : access.reads(p))) return false;
  }
  return true;
}

// False: there is no such half, or diagonal.
inline bool blas_triangle(BlasFill fill, BlasDiagonal diagonal, blas::Triangle& out) {
  out = {fill == BlasFill::kUpper, diagonal == BlasDiagonal::kUnit};
  return (fill == BlasFill::kUpper || fill == BlasFill::kLower) &&
         (diagonal == BlasDiagonal::kUnit || diagonal == BlasDiagonal::kNonUnit);
}

inline bool fits(int64_t ld, int64_t rows) { return ld >= std::max<int64_t>(rows, 1); }

}  // namespace quern::cuda
