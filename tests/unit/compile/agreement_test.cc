// Faults that random programs found (tests/run/agreement.cc), each as the smallest kernel that shows it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "case.h"
#include "jit/cpu_target.h"
#include "jit/jit.h"

namespace quern::compile {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

// Every element of the tensor, from its place.
template <class F>
void set(Case& c, std::string_view tensor, const F& value) {
  for (size_t t = 0; t < c.program->tensors.size(); ++t) {
    if (c.program->tensors[t].name.str() != tensor) continue;
    ScalarType type = c.binding.type(c.program->tensors[t].type);
    int64_t count = 1;
    for (int64_t size : c.binding.shapes[t]) count *= size;
    for (int64_t i = 0; i < count; ++i) {
      double v = value(i);
      uint64_t bits = kind(type) == Kind::kReal ? encode_real(type, v) : encode_int(type, static_cast<int64_t>(v));
      store_bits(type, c.inputs[t].data(), i, bits);
    }
  }
}

// What is wrong with compiled code; empty if nothing.
std::string wrong(const Case& c, const std::string& schedule = "") {
  expr::Interpreted want = truth(c);
  for (const char* vectors : {"sse2", "avx2", "avx512"}) {
    if (!jit::runs_here(jit::cpu_of(*jit::parse_level(vectors)))) continue;
    backend::Options o;
    o.vectors = vectors;
    o.cache = false;
    o.verify = true;
    o.schedule = schedule;
    auto code = compile({*c.program, c.binding, o});
    if (!code) return render(code.error());
    auto got = computed(c, *code);
    if (!got) return render(got.error());
    if (std::string d = difference(c, want, *got); !d.empty()) return d + " (" + vectors + ")";
  }
  return {};
}

double bound_of(const Case& c, int64_t element) { return truth(c).outputs[0].bound[static_cast<size_t>(element)]; }

TEST(Agreement, ABooleanOfAStreamedRangeMayDecide) {
  Case c = make_case(
      "kernel k(q: f32[M, D], k: f32[N, D], v: f32[N, E]) -> o: f32[M, E] {\n"
      "  s[m, n] = sum[d] q[m, d] * k[n, d]\n"
      "  p[m, n] = softmax[n](s[m, n])\n"
      "  o[m, e] = (sum[n] p[m, n] * v[n, e]) if any[n] (s[m, n] > 3) else 0\n}\n",
      {{"M", 9}, {"N", 20}, {"D", 5}, {"E", 3}});
  EXPECT_EQ(wrong(c), "");
}

TEST(Agreement, ABranchThatNoSizeTakesDecidesThePrecisionToo) {
  Case c = make_case("kernel k(x: f64[N], w: f32[N]) -> y: f64[N] {\n  y[i] = exp(x[i] if N > 100 else w[i])\n}\n",
                     {{"N", 9}});
  EXPECT_LT(bound_of(c, 0), 1e-12);
  EXPECT_EQ(wrong(c), "");
}

constexpr const char* kScaled =
    "kernel k(a: f32[M, K], b: f32[K, N], c: f32[M]) -> y: f32[M, N] {\n"
    "  y[m, n] = sum[k] (c[m] * a[m, k]) * b[k, n] * c[m]\n}\n";

TEST(Agreement, FactorsOfAShortSumStayWhereTheyAreWritten) {
  Case c = make_case(kScaled, {{"M", 9}, {"K", 15}, {"N", 10}});
  for (const char* large : {"a", "b"}) set(c, large, [](int64_t i) { return (i % 3 - 1) * 1e30; });
  set(c, "c", [](int64_t) { return 1e-30; });
  EXPECT_LT(bound_of(c, 0), 1.0);
  EXPECT_EQ(wrong(c), "");
}

TEST(Agreement, OfALongOneTheyMayBeTakenOut) {
  Case c = make_case(kScaled, {{"M", 9}, {"K", 16}, {"N", 10}});
  set(c, "a", [](int64_t i) { return static_cast<double>(i % 2) - 0.5; });
  set(c, "c", [](int64_t i) { return i == 3 ? kInf : 1.0; });
  // Written, the terms of row 3 are infinities of either sign; taken out, there is one.
  EXPECT_EQ(bound_of(c, 3 * 10), kInf);
  EXPECT_LT(bound_of(c, 2 * 10), 1e-4);
  EXPECT_EQ(wrong(c), "");
}

// Walks that carry what they have so far: the first gate, and the element after the last index, are not read.
TEST(Agreement, PrefixesAndRecurrences) {
  for (const char* value : {
           "sum[s <= t] x[s, d]",
           "max[s < t] x[s, d]",
           "sum[s < t] x[s + 1, d]",
           "prod[s <= t] (1 + x[s, d] / 8)",
           "sum[s <= t] x[s, d] * prod[s < j <= t] a[j, d]",
           "sum[s <= t] x[s, d] * prod[s < j <= t] a[j - 1, d]",
           "sum[s <= t] x[s, d] * prod[s <= j <= t] a[j, d]",
           "sum[s < t] (x[s, d] if s % 3 > 0 else 0) / (1 + a[s, d] * a[s, d])",
           "x[t, d] - (sum[s <= t] x[s, d]) / (t + 1) + (count[s < t] (a[s, d] > 0))",
           "1 if any[s < t] (x[s, d] > 1.9) else 0",
       }) {
    Case c = make_case(std::string("kernel k(x: f32[N, D], a: f32[N, D]) -> y: f32[N, D] {\n  y[t, d] = ") + value +
                           " + 0 * x[t, d] * a[t, d]\n}\n",
                       {{"N", 37}, {"D", 19}});
    set(c, "a", [](int64_t i) { return i < 19 ? 0.25 : static_cast<double>(i % 7) / 4 - 0.5; });
    EXPECT_EQ(wrong(c), "") << value;
    // An infinite gate in front of everything.
    set(c, "a", [](int64_t i) { return i < 19 ? kInf : static_cast<double>(i % 7) / 4 - 0.5; });
    EXPECT_EQ(wrong(c), "") << value;
  }
}

// Rows of n up to the diagonal; what lies behind it for a row is absent, present for a later one.
constexpr const char* kBounded =
    "kernel k(t: f32[M, N], v: f32[N, E]) -> o: f32[M, E] {\n"
    "  s[m, n <= m] = t[m, n] * 2\n"
    "  p[m, n] = softmax[n](s[m, n])\n"
    "  o[m, e] = sum[n] p[m, n] * v[n, e]\n}\n";

TEST(Agreement, WhatARangeLeavesOutIsNotMultiplied) {
  for (double odd : {kInf, kNan}) {
    Case c = make_case(kBounded, {{"M", 40}, {"N", 40}, {"E", 17}});
    set(c, "v", [&](int64_t i) { return i / 17 == 30 ? odd : 1.0; });
    expr::Interpreted want = truth(c);
    auto element = [&](int64_t m) {
      return decode_real(ScalarType::f32, load_bits(ScalarType::f32, want.outputs[0].data.data(), m * 17));
    };
    EXPECT_EQ(element(29), 1);
    EXPECT_FALSE(std::isfinite(element(30)));
    EXPECT_EQ(wrong(c), "");
  }
}

// A weight that is too small for f32 is 0, but its element is there.
TEST(Agreement, WhatWeighsNothingIsStillMultiplied) {
  Case c = make_case(kBounded, {{"M", 40}, {"N", 40}, {"E", 17}});
  set(c, "t", [&](int64_t i) { return i % 40 == 3 ? -100.0 : 1.0; });
  set(c, "v", [&](int64_t i) { return i / 17 == 3 || i / 17 == 30 ? kNan : 1.0; });
  expr::Interpreted want = truth(c);
  for (int64_t m : {2, 3, 29}) {
    double v = decode_real(ScalarType::f32, load_bits(ScalarType::f32, want.outputs[0].data.data(), m * 17));
    EXPECT_EQ(std::isnan(v), m >= 3) << m;
    EXPECT_EQ(want.outputs[0].bound[static_cast<size_t>(m * 17)] < kInf, true) << m;
  }
  EXPECT_EQ(wrong(c), "");
}

constexpr const char* kWeights =
    "kernel k(t: f32[M, N], v: f32[N, E], len: i32[M]) -> (o: f32[M, E], w: f32[M]) {\n"
    "  s[m, n < len[m]] = t[m, n] * 2\n"
    "  o[m, e] = sum[n < len[m]] exp(s[m, n] - logsumexp[n < len[m]](s[m, n])) * v[n, e]\n"
    "  w[m] = sum[n < len[m]] exp(s[m, n] - max[n < len[m]] s[m, n])\n}\n";

TEST(Agreement, ASumOverNothingIsNothingWhateverItIsMultipliedWith) {
  Case c = make_case(kWeights, {{"M", 9}, {"N", 20}, {"E", 5}}, 1, 0, 21);
  set(c, "len", [](int64_t i) { return i % 3 == 0 ? 0.0 : 17.0; });
  EXPECT_EQ(wrong(c), "");
}

TEST(Agreement, InfiniteScoresHaveNoWeights) {
  Case c = make_case(kWeights, {{"M", 9}, {"N", 20}, {"E", 5}}, 1, 0, 21);
  set(c, "len", [](int64_t) { return 18.0; });
  set(c, "t", [](int64_t i) { return i / 20 == 2 ? -kInf : i == 65 ? kInf : 0.25 * static_cast<double>(i % 7); });
  EXPECT_EQ(wrong(c), "");
}

TEST(Agreement, AMeanOfNothingAndAnInfiniteOneHaveNoVariance) {
  Case c = make_case(
      "kernel k(q: f32[M, K], x: f32[N, K], len: i32[M]) -> v: f32[M] {\n"
      "  t[m, n < len[m]] = sum[k] q[m, k] * x[n, k]\n"
      "  v[m] = var[n < len[m]](t[m, n])\n}\n",
      {{"M", 9}, {"N", 20}, {"K", 3}}, 1, 0, 21);
  set(c, "len", [](int64_t i) { return i % 3 == 0 ? 0.0 : 17.0 + static_cast<double>(i % 2); });
  set(c, "x", [](int64_t i) { return i == 17 * 3 ? kInf : 0.5 * static_cast<double>(i % 5) - 1; });
  EXPECT_EQ(wrong(c), "");
}

TEST(Agreement, ExponentialsInF32AreNotPutTogetherInF64) {
  Case c = make_case(
      "kernel k(q: f32[M, K], x: f32[N, K], v: f64[N, E]) -> o: f64[M, E] {\n"
      "  t[m, n] = sum[k] q[m, k] * x[n, k]\n"
      "  o[m, e] = sum[n] exp(t[m, n] - max[n] t[m, n]) * v[n, e]\n}\n",
      {{"M", 5}, {"N", 20}, {"K", 3}, {"E", 4}});
  set(c, "q", [](int64_t) { return -1e30; });
  EXPECT_EQ(wrong(c), "");
}

TEST(Agreement, ExponentsThatJoinMayBeInfinite) {
  Case c = make_case(
      "kernel k(q: f32[M, K], x: f32[N, K], z: f32[M]) -> y: f32[M] {\n"
      "  t[m, n] = sum[k] q[m, k] * x[n, k]\n"
      "  y[m] = 1 / (exp(-z[m]) + sum[n] exp(t[m, n]))\n}\n",
      {{"M", 6}, {"N", 20}, {"K", 3}});
  set(c, "z", [](int64_t i) { return i == 1 ? -kInf : i == 2 ? kInf : 0.5; });
  EXPECT_EQ(wrong(c), "");
}

TEST(Agreement, ALogarithmOfALargeSumKeepsItsLastBits) {
  Case c = make_case(
      "kernel k(q: f32[M, K], x: f32[N, K]) -> y: f64[M] {\n"
      "  t[m, n]: f16 = sum[k] q[m, k] * x[n, k]\n"
      "  y[m] = logsumexp[n](t[m, n])\n}\n",
      {{"M", 400}, {"N", 20}, {"K", 3}});
  set(c, "q", [](int64_t i) { return static_cast<double>(i % 1200); });
  set(c, "x", [](int64_t i) { return static_cast<double>(1 + i % 5); });
  EXPECT_EQ(wrong(c), "");
}

TEST(Agreement, ValuesOfAStreamComeAfterItWhenAnotherSumIsWalked) {
  Case c = make_case(
      "kernel k[N](q: f32[M, K], x: f32[N, K], start: i32[M + 1]) -> (y: f32[M], z: f32[M]) {\n"
      "  t[m < M, start[m] <= n < start[m + 1]] = sum[k] q[m, k] * x[n, k]\n"
      "  y[m < M] = 0.5 + argmin[start[m] <= n < start[m + 1]] (t[m, n])\n"
      "  z[m < M] = mean[start[m] <= n < start[m + 1]](t[m, n])\n}\n",
      {{"M", 5}, {"N", 40}, {"K", 3}});
  set(c, "start", [](int64_t i) { return 8.0 * static_cast<double>(i); });
  EXPECT_EQ(wrong(c), "");
}

TEST(Agreement, AFunctionOfANumberIsTheSameInAllLanes) {
  Case c = make_case(
      "kernel k[N](start: i32[M + 1]) -> y: f32[M] {\n"
      "  t[m < M, start[m] <= n < start[m + 1]] = tanh(1) if m - 3 < n <= m else -inf\n"
      "  y[m < M] = sum[start[m] <= n < start[m + 1]] exp(t[m, n])\n}\n",
      {{"M", 5}, {"N", 40}});
  set(c, "start", [](int64_t i) { return 8.0 * static_cast<double>(i); });
  EXPECT_EQ(wrong(c), "");
}

TEST(Agreement, OnlyStoresOfHalfBytesArePaired) {
  Case c = make_case(
      "kernel k(d: f32[N], start: i32[1 + M], b: u4[M, K]) -> (y: f32[M], z: i32[M]) {\n"
      "  y[m < M] = sum[start[m] <= n < min(m + 1, N)] d[n]\n"
      "  z[m] = sum[k] b[m, k]\n}\n",
      {{"M", 5}, {"N", 12}, {"K", 6}}, 1, 0, 5);
  EXPECT_EQ(wrong(c), "");
}

TEST(Agreement, ATestOfARangeMayReadWhatNestsCompute) {
  Case c = make_case(
      "kernel k(d: f32[N], start: i32[M]) -> y: f32[M] {\n"
      "  c[m] = 0.5 * count[start[m] <= n < N](d[n] > 0)\n"
      "  y[m] = c[m] if c[m] > 1 else sum[start[m] <= n < min(m + 1, N)] d[n]\n}\n",
      {{"M", 5}, {"N", 12}}, 1, 0, 12);
  EXPECT_EQ(wrong(c), "");
}

TEST(Agreement, PanelsOfSeveralProductsStayInTheirBlock) {
  Case c = make_case(
      "kernel k(q: bf16[M, K], x: bf16[N, K], v: f64[N, E], d: f32[N]) -> y: f32[M, E] {\n"
      "  t[m, max(0, m - 2) <= n < min(m + 3, N)]: bf16 = (sum[k] q[m, k] * x[n, k] * d[n]) if d[n] < 1 else -inf\n"
      "  p[m, max(0, m - 2) <= n < min(m + 3, N)] = exp(t[m, n] - max[n] t[m, n])\n"
      "  y[m, e] = sum[n] p[m, n] * (v[n, e] * d[n])\n}\n",
      {{"M", 53}, {"N", 63}, {"K", 61}, {"E", 1}});
  EXPECT_EQ(wrong(c), "");
}

// A weight is as good far below the maximum as beside it, and as far out as exponents go: where scores are exact, their
// differences are too, and the bound counts on that.
constexpr const char* kExact =
    "kernel k(t: f32[M, N], v: f32[N, E]) -> o: f32[M, E] {\n"
    "  s[m, n] = t[m, n] * 2\n"
    "  o[m, e] = sum[n] softmax[n](s[m, n]) * v[n, e]\n}\n";

TEST(Agreement, WeightsFarBelowTheMaximumAreAsGood) {
  for (double offset : {0.0, 1.0, -300.0, 5000.0, -8191.0, 8191.0, 1e5, -3e7, 1e30}) {
    Case c = make_case(kExact, {{"M", 9}, {"N", 200}, {"E", 5}});
    // A row's maximum has a weight, but nothing to weigh: what is left is the others, exp(-20) to exp(-80).
    set(c, "t", [&](int64_t i) {
      return (offset - (i % 200 == i / 200 * 20 ? 0 : 20 + static_cast<double>(i % 97) / 1.625)) / 2;
    });
    set(c, "v", [](int64_t i) { return i / 5 % 20 == 0 ? 0.0 : 1.0; });
    if (std::fabs(offset) < 100) {
      EXPECT_LT(bound_of(c, 0), 1e-12);
    }
    EXPECT_EQ(wrong(c), "") << offset;
  }
}

// The maximum goes from what steps follow to what is taken off first, and back, on the way to the end of a row.
TEST(Agreement, AGaugeMayLeaveItsStepsOnTheWay) {
  for (double from : {8000.0, -8400.0}) {
    Case c = make_case(kExact, {{"M", 3}, {"N", 700}, {"E", 5}});
    set(c, "t", [&](int64_t i) { return (from + static_cast<double>(i % 700) / 2 + static_cast<double>(i % 3)) / 2; });
    EXPECT_EQ(wrong(c), "") << from;
    EXPECT_LT(bound_of(c, 0), 1e-3);
  }
}

// A weight may be 2^-8 as steps of the gauge have it, and so may the sum of all: what they are multiplied with meets
// their quotient.
TEST(Agreement, AScaleIsNotDividedByASumOfWeights) {
  Case c = make_case(
      "kernel k(t: f32[M, N], v: f32[N, E], scale: f32[E], len: i32[M]) -> o: f32[M, E] {\n"
      "  s[m, n < len[m]] = t[m, n] * 2\n"
      "  p[m, n] = softmax[n](s[m, n])\n"
      "  o[m, e] = sum[n] p[m, n] * v[n, e] * scale[e]\n}\n",
      {{"M", 9}, {"N", 40}, {"E", 5}}, 1, 0, 3);
  set(c, "t", [](int64_t) { return 0.01; });
  set(c, "v", [](int64_t i) { return static_cast<double>(1 + i % 3) / 32; });
  set(c, "scale", [](int64_t) { return 1.1e38; });
  EXPECT_LT(bound_of(c, 0), kInf);
  EXPECT_EQ(wrong(c), "");
}

// What an unannotated local multiplies with is a factor of the sum it is read in: a scale that is infinite may be taken
// out, past keys that are 0.
TEST(Agreement, FactorsOfALocalMayBeTakenOut) {
  const char* text =
      "kernel k(q: f32[M, D], k: f32[N, D], scale: f32[M], each: f32[D]) -> y: f32[M, N] {\n"
      "  key[m, n, d] = k[n, d] * scale[m] * each[d]\n"
      "  y[m, n] = sum[d] q[m, d] * key[m, n, d]\n}\n";
  Case c = make_case(text, {{"M", 9}, {"N", 20}, {"D", 16}});
  set(c, "q", [](int64_t) { return -1.0; });
  set(c, "k", [](int64_t i) { return static_cast<double>(i % 3); });
  set(c, "scale", [](int64_t i) { return i == 3 ? kInf : 2.0; });
  set(c, "each", [](int64_t) { return 1.0; });
  EXPECT_EQ(bound_of(c, 3 * 20), kInf);
  EXPECT_LT(bound_of(c, 2 * 20), 1e-3);
  EXPECT_EQ(wrong(c), "");
  // What changes along the sum is not: then infinity times 0 is what it is.
  set(c, "scale", [](int64_t) { return 2.0; });
  set(c, "each", [](int64_t i) { return i == 7 ? kInf : 1.0; });
  EXPECT_LT(bound_of(c, 3 * 20), kInf);
  EXPECT_EQ(wrong(c), "");
  // Small keys with a large scale: before it is multiplied in, products of keys may have lost bits.
  set(c, "each", [](int64_t) { return 1.0; });
  set(c, "q", [](int64_t i) { return 1e-20 * static_cast<double>(1 + i % 5); });
  set(c, "k", [](int64_t i) { return 1e-20 * static_cast<double>(1 + i % 3); });
  set(c, "scale", [](int64_t) { return 1e30; });
  EXPECT_EQ(wrong(c), "");
}

// Steps of the old gauge are named where the finish has them too: a new maximum may not be written over the old one
// before they are known.
TEST(Agreement, AnOldStateStaysUntilWhatIsMadeOfItIsKnown) {
  Case c = make_case(
      "kernel k(q: f32[B, D], x: f32[P, D], v: f32[P, E], z: f32[B]) -> o: f32[B, E] {\n"
      "  a[b, p] = sum[d] q[b, d] * x[p, d]\n"
      "  m[b] = max(max[p] a[b, p], z[b])\n"
      "  o[b, e] = (sum[p] exp(a[b, p] - m[b]) * v[p, e]) / ((sum[p] exp(a[b, p] - m[b])) + exp(z[b] - m[b]))\n}\n",
      {{"B", 5}, {"P", 67}, {"D", 11}, {"E", 7}});
  set(c, "x", [](int64_t i) { return static_cast<double>(i / 11) / 4; });
  set(c, "q", [](int64_t i) { return i % 11 == 3 ? 1.0 : 0.5; });
  EXPECT_EQ(wrong(c, "k: p 16 loop; parts 1"), "");
}

// A prefix that all rows share, and what each row has of its own: one softmax over both, serial and in parts.
TEST(Agreement, ACascadeOverASharedPrefix) {
  Case c = make_case(
      "kernel k(q: f32[B, D], kp: f32[P, D], vp: f32[P, E], ks: f32[B, N, D], vs: f32[B, N, E]) -> o: f32[B, E] {\n"
      "  a[b, p] = sum[d] q[b, d] * kp[p, d]\n"
      "  s[b, n] = sum[d] q[b, d] * ks[b, n, d]\n"
      "  m[b] = max(max[p] a[b, p], max[n] s[b, n])\n"
      "  l[b] = (sum[p] exp(a[b, p] - m[b])) + (sum[n] exp(s[b, n] - m[b]))\n"
      "  o[b, e] = ((sum[p] exp(a[b, p] - m[b]) * vp[p, e]) + (sum[n] exp(s[b, n] - m[b]) * vs[b, n, e])) / l[b]\n}\n",
      {{"B", 5}, {"P", 67}, {"N", 9}, {"D", 11}, {"E", 7}});
  std::string lowered = *emit({*c.program, c.binding, {}}, backend::Level::kLowered);
  EXPECT_NE(lowered.find("for p:all"), std::string::npos) << lowered;
  for (const char* schedule : {"", "k: p 16 loop; parts 1", "k: p 16 loop; parts 3", "k: b 2 grid; parts 7"}) {
    EXPECT_EQ(wrong(c, schedule), "") << schedule;
  }
  set(c, "kp", [](int64_t i) { return i < 300 ? -kInf : 1.0; });
  set(c, "q", [](int64_t) { return 0.5; });
  EXPECT_EQ(wrong(c, "k: p whole; parts 4"), "");
}

// More parts than indices, rows that data end, some of them empty.
TEST(Agreement, PartsMayBeEmpty) {
  Case c = make_case(kWeights, {{"M", 9}, {"N", 20}, {"E", 5}}, 1, 0, 21);
  set(c, "len", [](int64_t i) { return i % 3 == 0 ? 0.0 : 17.0; });
  for (const char* parts : {"2", "3", "64"}) {
    EXPECT_EQ(wrong(c, fmt::format("k_0: m 1 grid; parts {}\nk_1: m 1 grid; parts {}", parts, parts)), "") << parts;
  }
}

// Whoever computes which part: the same bits.
TEST(Agreement, PartsGiveTheSameBitsOnAnyThreads) {
  Case c = make_case(
      "kernel k(q: f32[D], k: f32[N, D], v: f32[N, E]) -> o: f32[E] {\n"
      "  p[n] = softmax[n](sum[d] q[d] * k[n, d])\n"
      "  o[e] = sum[n] p[n] * v[n, e]\n}\n",
      {{"N", 3000}, {"D", 16}, {"E", 8}});
  backend::Options o;
  o.cache = false;
  o.schedule = "k: n 256 loop; parts 5";
  auto code = compile({*c.program, c.binding, o});
  ASSERT_TRUE(code) << render(code.error());
  auto one = computed(c, *code, 1), two = computed(c, *code, 2);
  ASSERT_TRUE(one && two);
  EXPECT_EQ(one->outputs, two->outputs);
}

// Rows of which data say how long they are, by all kinds of walks: right, or an error that says what is missing.
TEST(Agreement, WalksOfRaggedRows) {
  Case rows = make_case(
      "kernel k(x: f32[T, D], start: i32[I + 1]) -> y: f32[I, D] {\n"
      "  y[i < I, d] = sum[start[i] <= t < start[i + 1]] x[t, d]\n}\n",
      {{"T", 40}, {"I", 5}, {"D", 24}});
  set(rows, "start", [](int64_t i) { return std::vector{0.0, 7.0, 7.0, 20.0, 33.0, 40.0}[static_cast<size_t>(i)]; });
  for (const char* schedule : {"k: d 8 loop, i 16 loop; parts 1", "k: i 2 grid; parts 2", "k: i 2 loop; parts 9",
                               "k: i 1 grid, t 8 loop; parts 3", "plain"}) {
    EXPECT_EQ(wrong(rows, schedule), "") << schedule;
  }
  Case lengths = make_case(
      "kernel k(x: f32[M, N, D], len: i32[M]) -> y: f32[M, D] {\n"
      "  y[i, d] = logsumexp[n < len[i]](x[i, n, d])\n}\n",
      {{"M", 40}, {"N", 5}, {"D", 24}}, 1, 0, 6);
  for (const char* schedule : {"k: d 2 loop; parts 3", "k: i 1 grid; parts 2", "plain"}) {
    EXPECT_EQ(wrong(lengths, schedule), "") << schedule;
  }
  for (const char* schedule : {"k: d 8 loop, i 16 loop; parts 1", "k: i 2 grid; parts 2"}) {
    EXPECT_TRUE(wrong(lengths, schedule).starts_with("error E745: n has a range for each i")) << schedule;
  }
}

// Nothing is tiled, but what data end is walked all the same.
TEST(Agreement, ThePlainScheduleDoesRangesThatDataEnd) {
  Case c = make_case(kWeights, {{"M", 9}, {"N", 20}, {"E", 5}}, 1, 0, 21);
  EXPECT_EQ(wrong(c, "plain"), "");
  Case rows = make_case(
      "kernel k(a: f32[T, K], w: f32[X, K, N], start: i32[X + 1]) -> y: f32[T, N] = 0 {\n"
      "  for[x < X, start[x] <= t < start[x + 1]] y[t, n] = sum[k] a[t, k] * w[x, k, n]\n}\n",
      {{"T", 40}, {"X", 4}, {"K", 5}, {"N", 6}});
  set(rows, "start", [](int64_t i) { return 10.0 * static_cast<double>(i); });
  for (const char* schedule : {"plain", "k_1: k 2 loop; parts 1", "k_1: x 2 grid; parts 1", "k_1: x whole; parts 2"}) {
    std::string found = wrong(rows, schedule);
    EXPECT_TRUE(found.empty() || found.starts_with("error E745")) << schedule << ": " << found;
  }
}

// What is carried of no elements is nothing, however far the centre of the first ones is from 0.
TEST(Agreement, TheFirstElementsMayBeFarFromZero) {
  Case c = make_case(
      "kernel k(v: f32[N, E], d: f32[N], start: i32[1 + M], id: i32[N]) -> y: f32[M, E] {\n"
      "  t[m < M, start[m] <= n < start[m + 1]] = (d[n] - abs(m - n) * 0.25) if n <= m else -inf\n"
      "  p[m < M, start[m] <= n < start[m + 1]] = layernorm[start[m] <= n < start[m + 1]](t[m, n], 1e-3)\n"
      "  y[m < M, e] = sum[start[m] <= n < start[m + 1]] p[m, n] * v[id[n], e]\n}\n",
      {{"M", 4}, {"N", 1}, {"E", 3}});
  set(c, "d", [](int64_t) { return 1.5e30; });
  set(c, "v", [](int64_t i) { return i + 1.0; });
  set(c, "id", [](int64_t) { return 0; });
  set(c, "start", [](int64_t i) { return i < 3 ? 0 : 1; });
  EXPECT_LT(bound_of(c, 6), 1e-40);
  EXPECT_EQ(wrong(c), "");
}

// What a nest computes beside something over a range must not vanish with the range.
TEST(Agreement, AnEmptyRangeTakesNothingElseWithIt) {
  Case c = make_case(
      "kernel k(q: f64[M, K], x: f32[N, K], v: f64[N, E], start: i32[1 + M]) -> (a: f32[M, E], b: f32[M, E]) {\n"
      "  t[m < M, start[m] <= n < start[m + 1]] = sigmoid(sum[k < K] q[m, k] * x[n, k])\n"
      "  j[m < M] = argmax[start[m] <= n < start[m + 1]] (t[m, n])\n"
      "  a[m < M, e] = v[j[m], e] if j[m] >= 0 else 0\n"
      "  u[m < M, n < N] = bf16(tanh(sum[k < K] tanh(q[m, k]) * (x[n, k - 1] if k > 0 else 0)))\n"
      "  b[m < M, e] = sum[n < N] u[m, n] * v[n, e]\n}\n",
      {{"M", 4}, {"N", 14}, {"K", 19}, {"E", 3}});
  set(c, "q", [](int64_t i) { return 0.25 * static_cast<double>(i % 7) - 0.5; });
  set(c, "x", [](int64_t i) { return 0.125 * static_cast<double>(i % 5) + 0.25; });
  set(c, "v", [](int64_t i) { return i + 1.0; });
  set(c, "start", [](int64_t i) { return std::max<int64_t>(0, i - 2); });
  EXPECT_EQ(wrong(c), "");
  EXPECT_EQ(wrong(c, "k: m 1 grid, e 1 grid; parts 2"), "");
}

// The sum of what is there says little of where the elements are, divided by a number of elements to come.
TEST(Agreement, AMeanOverAKnownNumberIsThatOfWhatWasSeen) {
  Case c = make_case(
      "kernel k(q: f32[M, K], x: f32[N, K], on: bool[N], start: i32[1 + M]) -> y: f32[M] {\n"
      "  t[m < M, start[m] <= n < min(m + 1, N)]: bf16 = f16((sum[k < K] q[m, k] * (x[n, k] if on[n] else 0)))\n"
      "  y[m < M] = var[start[m] <= n < min(m + 1, N)](sigmoid(t[m, n]))\n}\n",
      {{"M", 17}, {"N", 50}, {"K", 9}});
  set(c, "q", [](int64_t i) { return 1e-20 * static_cast<double>(i % 7 - 3); });
  set(c, "x", [](int64_t i) { return 1e-20 * static_cast<double>(i % 5 - 2); });
  set(c, "on", [](int64_t i) { return i % 3 == 0; });
  set(c, "start", [](int64_t i) { return static_cast<double>(i % 4); });
  EXPECT_LT(bound_of(c, 16), 1e-9);
  EXPECT_EQ(wrong(c), "");
  EXPECT_EQ(wrong(c, "k: m 1 grid, n 64 loop; parts 2"), "");
  EXPECT_EQ(wrong(c, "k: m 1 grid, n 4 loop; parts 1"), "");
}

// Weights whose exponent was taken out of their sum: over nothing the exponent is infinite, and the sum still 0.
TEST(Agreement, AnExponentStaysInsideASumOfNothing) {
  Case c = make_case(
      "kernel k(q: f32[M, K], x: f32[N, K], c: f32[M], d: f32[N], len: i32[M]) -> y: f32[M] {\n"
      "  t[m < M, n < len[m]] = log(abs(log(abs((sum[k < K] q[m, k] * (x[n, k - 1] if k > 0 else 0) * c[m])) + 1)) + "
      "1)\n"
      "  y[m < M] = sum[n < len[m]] softmax[n < len[m]](t[m, n]) * d[n]\n}\n",
      {{"M", 3}, {"N", 12}, {"K", 19}});
  set(c, "len", [](int64_t i) { return static_cast<double>(i) * 6; });
  EXPECT_EQ(bound_of(c, 0), 0);
  EXPECT_EQ(wrong(c), "");
}

}  // namespace
}  // namespace quern::compile
