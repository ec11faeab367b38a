#include "programs.h"

namespace quern::fuse {

std::vector<Case> cases() {
  std::map<std::string, int64_t> n = {{"N", 17}}, mn = {{"M", 2}, {"N", 17}}, mne = {{"M", 2}, {"N", 17}, {"E", 2}};
  std::map<std::string, int64_t> mnd = {{"M", 4}, {"N", 17}, {"E", 2}, {"D", 3}};
  std::map<std::string, int64_t> heads = {{"B", 1}, {"H", 2}, {"G", 1}, {"M", 4}, {"N", 17}, {"E", 2}, {"D", 3}};
  auto over = [](const char* body, const char* parameters = "x: T[N]") {
    return std::string("kernel f(") + parameters + ") -> y: T { y = " + body + " }";
  };
  const char* sv = "kernel f(s: T[M, N], v: T[N, E]) -> o: T[M, E] { ";
  return {
      {"SoftmaxV", std::string(sv) + "o[m, e] = sum[n] softmax[n](s[m, n]) * v[n, e] }", mne, "n", 1, 3, {"s"}},
      {"RawSoftmaxV", std::string(sv) + "o[m, e] = (sum[n] exp(s[m, n]) * v[n, e]) / (sum[n] exp(s[m, n])) }", mne, "n", 1, 3, {"s"}, true},
      {"CausalGrouped",
       "kernel f(q: T[B, H, M, D], k: T[B, G, N, D], v: T[B, G, N, E]) -> o: T[B, H, M, E] {\n"
       "  s[b, h, m, n] = sum[d] q[b, h, m, d] * k[b, h // (H // G), n, d] / sqrt(D)\n"
       "  p[b, h, m, n] = softmax[n](s[b, h, m, n] if n <= m + N - M else -inf)\n"
       "  o[b, h, m, e] = sum[n] p[b, h, m, n] * v[b, h // (H // G), n, e] }",
       heads, "n", 1, 3, {}},
      {"Bounded",
       "kernel f(q: T[M, D], k: T[N, D], v: T[N, E]) -> o: T[M, E] {\n"
       "  s[m, n <= m + N - M] = sum[d] q[m, d] * k[n, d] / sqrt(D)\n"
       "  p[m, n] = softmax[n](s[m, n])\n  o[m, e] = sum[n] p[m, n] * v[n, e] }",
       mnd, "n", 1, 3, {}},
      {"Window",
       std::string(sv) + "o[m, e] = sum[n] softmax[n](s[m, n] if m + N - M - 5 < n <= m + N - M or n < 2 else -inf) * v[n, e] }",
       mne, "n", 1, 3, {"s"}},
      {"SoftCap",
       std::string(sv) + "o[m, e] = sum[n] softmax[n](soft_cap(s[m, n], 30) if n <= m + N - M else -inf) * v[n, e] }", mne, "n", 1, 2, {"s"}},
      {"Alibi",
       "kernel f(s: T[M, N], v: T[N, E], slope: T[M]) -> o: T[M, E] {\n"
       "  o[m, e] = sum[n] softmax[n](s[m, n] + slope[m] * (n - m)) * v[n, e] }",
       mne, "n", 1, 3, {"s"}},
      {"Sink",
       "kernel f(s: T[M, N], v: T[N, E], sink: T[M]) -> o: T[M, E] {\n"
       "  z[m] = logaddexp(logsumexp[n](s[m, n]), sink[m])\n  o[m, e] = sum[n] exp(s[m, n] - z[m]) * v[n, e] }",
       mne, "n", 1, 3, {"s"}},
      {"RawSink",
       "kernel f(s: T[M, N], v: T[N, E], sink: T[M]) -> o: T[M, E] {\n"
       "  o[m, e] = (sum[n] exp(s[m, n]) * v[n, e]) / (exp(sink[m]) + sum[n] exp(s[m, n])) }",
       mne, "n", 1, 3, {"s"}, true},
      {"Differential",
       "kernel f(s: T[M, N], t: T[M, N], v: T[N, E], w: T) -> o: T[M, E] {\n"
       "  o[m, e] = sum[n] (softmax[n](s[m, n]) - w * softmax[n](t[m, n])) * v[n, e] }",
       mne, "n", 1, 6, {"s", "t"}},
      {"Ragged",
       "kernel f(s: T[M, N], v: T[M, N, E], len: i32[M]) -> o: T[M, E] {\n"
       "  t[m, n < len[m]] = s[m, n]\n  p[m, n] = softmax[n](t[m, n])\n  o[m, e] = sum[n] p[m, n] * v[m, n, e] }",
       mne, "n", 1, 3, {}},
      {"WithLse",
       "kernel f(s: T[M, N], v: T[N, E]) -> (o: T[M, E], lse: T[M]) {\n"
       "  lse[m] = logsumexp[n](s[m, n])\n  o[m, e] = sum[n] softmax[n](s[m, n]) * v[n, e] }",
       mne, "n", 1, 3, {"s"}},
      {"KeysCentred",
       "kernel f(q: T[M, D], k: T[N, D], v: T[N, E]) -> o: T[M, E] {\n"
       "  s[m, n] = sum[d] q[m, d] * (k[n, d] - mean[n](k[n, d]))\n  o[m, e] = sum[n] softmax[n](s[m, n]) * v[n, e] }",
       mnd, "n", 1, 3, {}},
      {"SoftmaxRmsV",
       std::string(sv) + "p[m, n] = softmax[n](s[m, n])\n  o[m, e] = sum[n] rmsnorm[n](p[m, n], 0.001) * v[n, e] }", mne, "n", 1, 4, {"s"}},
      {"LogSumExp", over("logsumexp[n](x[n])"), n, "n", 1, 2, {"x"}},
      {"RawLogSumExp", over("log(sum[n] exp(x[n]))"), n, "n", 1, 2, {"x"}, true},
      {"CrossEntropy",
       "kernel f(x: T[M, N], target: i32[M]) -> loss: T[M] {\n"
       "  lse[m] = logsumexp[n](x[m, n])\n  loss[m] = 0.9 * (lse[m] - x[m, target[m]]) + 0.1 * (lse[m] - mean[n](x[m, n])) }",
       mn, "n", 1, 3, {"x"}},
      {"Entropy",
       "kernel f(x: T[N]) -> y: T {\n  p[n] = softmax[n](x[n])\n  y = sum[n] (-p[n] * log(p[n]) if p[n] > 0 else 0) }", n, "n", 1, 3, {"x"}},
      {"Kl",
       "kernel f(a: T[N], b: T[N]) -> y: T {\n  p[n] = a[n] - logsumexp[n](a[n])\n  q[n] = b[n] - logsumexp[n](b[n])\n"
       "  y = sum[n] exp(p[n]) * (p[n] - q[n]) }",
       n, "n", 1, 5, {"a", "b"}},
      {"Variance", over("var[n](x[n])"), n, "n", 1, 4, {"x"}},
      {"WeightedVariance",
       over("(sum[n] w[n] * w[n] * sq(x[n] - (sum[n] w[n] * w[n] * x[n]) / sum[n] w[n] * w[n])) / sum[n] w[n] * w[n]", "x: T[N], w: T[N]"), n, "n", 1, 4, {"x"}},
      {"Covariance", over("mean[n]((x[n] - mean[n](x[n])) * (z[n] - mean[n](z[n])))", "x: T[N], z: T[N]"), n, "n", 1, 6, {"x"}},
      {"SoftmaxVariance",
       "kernel f(s: T[N], x: T[N]) -> y: T {\n  p[n] = softmax[n](s[n])\n  mu = sum[n] p[n] * x[n]\n  y = sum[n] p[n] * sq(x[n] - mu) }", n, "n", 1, 5, {"s"}},
      {"RmsNormMatmul",
       "kernel f(x: T[M, N], g: T[N], w: T[E, N]) -> y: T[M, E] { y[m, e] = sum[n] rmsnorm[n](x[m, n], 0.001) * g[n] * w[e, n] }", mne, "n", 1, 2, {"x"}},
      {"LayerNormMatmul",
       "kernel f(x: T[M, N], g: T[N], w: T[E, N]) -> y: T[M, E] { y[m, e] = sum[n] layernorm[n](x[m, n], 0.001) * g[n] * w[e, n] }", mne, "n", 1, 6, {"x"}},
      {"ArgMax", "kernel f(x: T[M, N]) -> y: i32[M] { y[m] = argmax[n] x[m, n] }", mn, "n", 1, 2, {"x"}},
      {"ArgMaxMasked", "kernel f(x: T[M, N]) -> y: i32[M] { y[m] = argmax[n < N - m] x[m, n] }", mn, "n", 1, 2, {"x"}},
      {"TopOne", "kernel f(x: T[N], v: T[N]) -> y: T { y = v[argmax[n] x[n]] * (max[n] softmax[n](x[n])) }", n, "n", 1, 3, {"x"}},
      {"TopGather", over("sum[n] (softmax[n](x[n]) * v[n] if n == argmax[n] x[n] else 0)", "x: T[N], v: T[N]"), n, "n", 1, 4, {"x"}},
      {"DqFromScratch",
       "kernel f(q: T[M, D], k: T[N, D], v: T[N, E], go: T[M, E]) -> gq: T[M, D] {\n"
       "  p[m, n] = softmax[n](sum[d] q[m, d] * k[n, d])\n  gp[m, n] = sum[e] go[m, e] * v[n, e]\n"
       "  delta[m] = sum[n] p[m, n] * gp[m, n]\n  gq[m, d] = sum[n] p[m, n] * (gp[m, n] - delta[m]) * k[n, d] }",
       mnd, "n", 1, 5, {}},
      {"DqSaved",
       "kernel f(q: T[M, D], k: T[N, D], v: T[N, E], go: T[M, E], lse: T[M], delta: T[M]) -> gq: T[M, D] {\n"
       "  p[m, n] = exp((sum[d] q[m, d] * k[n, d]) - lse[m])\n  gp[m, n] = sum[e] go[m, e] * v[n, e]\n"
       "  gq[m, d] = sum[n] p[m, n] * (gp[m, n] - delta[m]) * k[n, d] }",
       mnd, "n", 1, 1, {}},
      {"MaxOverSum", over("max[n] x[n] / (sum[n] z[n])", "x: T[N], z: T[N]"), n, "n", 1, 3, {"x"}},
      {"RoundedMax", over("max[n] round(127 * (x[n] - (min[n] x[n])))"), n, "n", 1, 2, {"x"}},
      {"ProductOfShares", over("prod[n] (exp(x[n]) / (sum[n] abs(z[n])))", "x: T[N], z: T[N]"), n, "n", 1, 3, {}},
      {"SineSum", over("sum[n] sin(x[n] - mean[n](x[n]))"), n, "n", 1, 3, {}},
      {"ScaledRelu", over("sum[n] relu(x[n] / (sum[n] z[n]))", "x: T[N], z: T[N]"), n, "n", 1, 3, {}},
      // Two passes and more.
      {"ClippedDeviation", over("sum[n] relu(x[n] - mean[n](x[n]))"), n, "n", 2, 1, {"x"}},
      {"MeanAbsDeviation", over("mean[n](abs(x[n] - mean[n](x[n])))"), n, "n", 2, 1, {"x"}},
      {"NearestToMean", over("min[n] abs(x[n] - mean[n](x[n]))"), n, "n", 2, 1, {"x"}},
      {"RationalDistance", over("sum[n] 1 / (1 + x[n] - (min[n] x[n]))"), n, "n", 2, 1, {"x"}},
      {"SoftmaxOfNormed",
       "kernel f(x: T[N], v: T[N]) -> y: T {\n  r = rsqrt(mean[n](sq(x[n])) + 0.01)\n  y = sum[n] softmax[n](x[n] * r) * v[n] }", n, "n", 2, 2, {}},
      {"AboveMean", over("sum[n] (1 if x[n] > mean[n](x[n]) else 0)"), n, "n", 2, 1, {"x"}},
      {"Quantised", over("sum[n] round(127 * x[n] / (max[n] abs(x[n])))"), n, "n", 2, 1, {}},
      {"NewtonSparsemax",
       "kernel f(x: T[N]) -> y: T {\n  a = (max[n] x[n]) - 1\n"
       "  b = a + ((sum[n] relu(x[n] - a)) - 1) / sum[n] (1 if x[n] > a else 0)\n"
       "  y = b + ((sum[n] relu(x[n] - b)) - 1) / sum[n] (1 if x[n] > b else 0) }",
       n, "n", 3, 2, {}},
  };
}

}  // namespace quern::fuse
