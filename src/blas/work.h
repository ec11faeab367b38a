// How products are computed: the types of the work, the way an element of A, B and C goes into it and out of it.
#pragma once

#include <cmath>
#include <type_traits>

#include "blas/product.h"

namespace quern::blas {

// float, double or uint32_t, by what is multiplied into what. Integers wrap.
template <class F>
decltype(auto) with_work(const Product& p, F&& f) {
  if (p.result == Number::kS32) return f(uint32_t{});
  if (p.result == Number::kF64 || p.result == Number::kC64) return f(double{});
  return f(float{});
}

inline float fused(float a, float b, float c) { return std::fma(a, b, c); }
inline double fused(double a, double b, double c) { return std::fma(a, b, c); }
inline uint32_t fused(uint32_t a, uint32_t b, uint32_t c) { return a * b + c; }

template <class W>
struct Parts {
  W re{}, im{};
};

template <class W, class T>
Parts<W> parts(T v) {
  if constexpr (std::is_integral_v<W>) {
    if constexpr (std::is_integral_v<T>) return {static_cast<W>(v), 0};
    return {};
  } else if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    return {static_cast<W>(v.real()), static_cast<W>(v.imag())};
  } else {
    return {static_cast<W>(widen(v)), 0};
  }
}

inline void put(float v, float, Half& out) { out = to_half(v); }
inline void put(float v, float, Brain& out) { out = to_brain(v); }
inline void put(float v, float, float& out) { out = v; }
inline void put(double v, double, double& out) { out = v; }
inline void put(uint32_t v, uint32_t, int32_t& out) { out = static_cast<int32_t>(v); }
inline void put(float re, float im, std::complex<float>& out) { out = {re, im}; }
inline void put(double re, double im, std::complex<double>& out) { out = {re, im}; }
template <class T, class W>
concept Puts = requires(W w, T& t) {
  put(w, w, t);
};

template <class W>
W scalar_part(double v) {
  if constexpr (std::is_integral_v<W>) return static_cast<W>(static_cast<int32_t>(v));
  return static_cast<W>(v);
}

// alpha * sum + beta * c into c.
template <class W, class T>
void finish(const Product& p, Parts<W> sum, T& c) {
  Parts<W> alpha = {scalar_part<W>(p.alpha.real()), scalar_part<W>(p.alpha.imag())};
  Parts<W> beta = {scalar_part<W>(p.beta.real()), scalar_part<W>(p.beta.imag())};
  Parts<W> out = {alpha.re * sum.re, 0};
  if (is_complex(p.result)) out = {out.re - alpha.im * sum.im, alpha.re * sum.im + alpha.im * sum.re};
  if (p.beta != 0.0) {
    Parts<W> old = parts<W>(c);
    out.re += beta.re * old.re;
    if (is_complex(p.result)) {
      out.re -= beta.im * old.im;
      out.im += beta.re * old.im + beta.im * old.re;
    }
  }
  put(out.re, out.im, c);
}

}  // namespace quern::blas
