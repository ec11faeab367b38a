// Vectors with gaps, and what is asked of them: BLAS's first level (Lawson, Hanson, Kincaid, Krogh 1979). A vector
// whose increment is negative is taken from its end. Sums of f32 are added up in f64 and rounded once, in order of the
// index.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <type_traits>

namespace quern::blas {

template <class T>
struct RealOf {
  using Type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using Type = T;
};
template <class T>
using Real = typename RealOf<T>::Type;
template <class T>
inline constexpr bool kIsComplex = !std::is_same_v<T, Real<T>>;

// f64, or complex of it.
template <class T>
using Sum = std::conditional_t<kIsComplex<T>, std::complex<double>, double>;

template <class T>
struct Vector {
  T* first;  // element 0
  int64_t increment;

  Vector(T* data, int64_t n, int64_t increment)
      : first(increment < 0 ? data + (1 - n) * increment : data), increment(increment) {}
  T& operator[](int64_t i) const { return first[i * increment]; }
};

template <class T>
T conjugate(T v) {
  if constexpr (kIsComplex<T>) return std::conj(v);
  return v;
}

// As the definition has it: std::complex's own looks for infinities first.
template <class T>
T times(T a, T b) {
  if constexpr (kIsComplex<T>) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  } else {
    return a * b;
  }
}

template <class T>
T dot(int64_t n, Vector<const T> x, Vector<const T> y, bool conjugated) {
  Sum<T> sum{};
  for (int64_t i = 0; i < n; ++i) sum += times(Sum<T>(conjugated ? conjugate(x[i]) : x[i]), Sum<T>(y[i]));
  return static_cast<T>(sum);
}

// |re| + |im|: BLAS's idea of how great a number is.
template <class T>
Real<T> size(T v) {
  if constexpr (kIsComplex<T>)
    return std::fabs(v.real()) + std::fabs(v.imag());
  else
    return std::fabs(v);
}

template <class T>
Real<T> sum_of_sizes(int64_t n, Vector<const T> x) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(size(Sum<T>(x[i])));
  return static_cast<Real<T>>(sum);
}

// Without overflow on the way: the squares are of numbers that the greatest divides.
template <class T>
Real<T> norm(int64_t n, Vector<const T> x) {
  double greatest = 0, sum = 0;
  auto parts = [&](auto f) {
    for (int64_t i = 0; i < n; ++i) {
      f(static_cast<double>(std::real(x[i])));
      if constexpr (kIsComplex<T>) f(static_cast<double>(std::imag(x[i])));
    }
  };
  parts([&](double v) { greatest = std::isnan(v) || std::fabs(v) > greatest ? std::fabs(v) : greatest; });
  if (greatest == 0 || !std::isfinite(greatest)) return static_cast<Real<T>>(greatest);
  // A power of two, so that the quotients are exact.
  int exponent = std::ilogb(greatest);
  double scale = std::scalbn(1.0, -exponent / 2), rest = std::scalbn(1.0, -exponent - -exponent / 2);
  parts([&](double v) { v = v * scale * rest, sum += v * v; });
  return static_cast<Real<T>>(std::sqrt(sum) / scale / rest);
}

// The first of the greatest, or of the least; counted from 1.
template <class T, bool kGreatest>
int64_t extreme(int64_t n, Vector<const T> x) {
  int64_t best = 0;
  for (int64_t i = 1; i < n; ++i) {
    if (kGreatest ? size(x[i]) > size(x[best]) : size(x[i]) < size(x[best])) best = i;
  }
  return best + 1;
}

// [x, y] = [c x + s y, c y - conj(s) x]
template <class T, class C, class S>
void rotate(int64_t n, Vector<T> x, Vector<T> y, C c, S s) {
  for (int64_t i = 0; i < n; ++i) {
    T a = x[i], b = y[i];
    if constexpr (kIsComplex<S>) {
      x[i] = c * a + times(s, b);
      y[i] = c * b - times(conjugate(s), a);
    } else {
      x[i] = c * a + s * b;
      y[i] = c * b - s * a;
    }
  }
}

}  // namespace quern::blas
