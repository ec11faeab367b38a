// Causal attention as loops that somebody writes by hand, for the C++ compiler to vectorise; bench/attention.cc holds
// fused code against them. The file is compiled twice: as the language has it, and with -ffast-math, which lets the
// compiler reorder sums and use its library's vectors of exp. Each build gets the form that suits it: without
// reordering a dot product stays scalar, so that K is transposed first and scores are summed side by side.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#ifdef __FAST_MATH__
#define ATTENTION_LOOPS attention_loops_fast
#else
#define ATTENTION_LOOPS attention_loops
#endif

// One head: q, k, v, o are n x d, row-major.
void ATTENTION_LOOPS(const float* __restrict q, const float* __restrict k, const float* __restrict v,
                     float* __restrict o, int64_t n, int64_t d) {
  const float scale = 1 / std::sqrt(static_cast<float>(d));
  std::vector<float> scores(static_cast<size_t>(n));
  float* __restrict s = scores.data();
#ifndef __FAST_MATH__
  std::vector<float> transposed(static_cast<size_t>(n * d));
  float* __restrict kt = transposed.data();
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t c = 0; c < d; ++c) kt[c * n + j] = k[j * d + c];
  }
#endif
  for (int64_t i = 0; i < n; ++i) {
#ifdef __FAST_MATH__
    for (int64_t j = 0; j <= i; ++j) {
      float sum = 0;
      for (int64_t c = 0; c < d; ++c) sum += q[i * d + c] * k[j * d + c];
      s[j] = sum * scale;
    }
#else
    for (int64_t j = 0; j <= i; ++j) s[j] = 0;
    for (int64_t c = 0; c < d; ++c) {
      float x = q[i * d + c] * scale;
      for (int64_t j = 0; j <= i; ++j) s[j] += x * kt[c * n + j];
    }
#endif
    float top = std::numeric_limits<float>::lowest();
    for (int64_t j = 0; j <= i; ++j) top = s[j] > top ? s[j] : top;
    float mass = 0;
    for (int64_t j = 0; j <= i; ++j) {
      s[j] = std::exp(s[j] - top);
      mass += s[j];
    }
    for (int64_t e = 0; e < d; ++e) o[i * d + e] = 0;
    for (int64_t j = 0; j <= i; ++j) {
      for (int64_t e = 0; e < d; ++e) o[i * d + e] += s[j] * v[j * d + e];
    }
    for (int64_t e = 0; e < d; ++e) o[i * d + e] /= mass;
  }
}
