// Every operation of expr/ops.def against expectations that are computed here, on values that go wrong first.
#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "base/philox.h"
#include "call.h"

namespace quern::expr::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNaN = std::nan("");
constexpr int64_t kMin = INT64_MIN, kMax = INT64_MAX;

// e over a[i], b[i] (i64), for pairs of integers.
std::vector<int64_t> wholes(const std::string& e, const std::vector<std::pair<int64_t, int64_t>>& pairs,
                            std::string* findings = nullptr) {
  Call call("kernel f(a: i64[N], b: i64[N]) -> y: i64[N] { y[i] = (" + e + ") + 0 * (a[i] + b[i]) }",
            {{"N", std::ssize(pairs)}});
  std::vector<int64_t> a, b;
  for (auto [x, y] : pairs) a.push_back(x), b.push_back(y);
  call.set_whole("a", a).set_whole("b", b).run();
  if (findings) *findings = call.findings();
  return call.wholes();
}

std::vector<double> reals(const std::string& e, const std::vector<std::pair<double, double>>& pairs,
                          const std::string& type = "f64") {
  Call call("kernel f(a: f64[N], b: f64[N]) -> y: " + type + "[N] { y[i] = " + e +
                " if a[i] == a[i] or b[i] == b[i] or true else b[i] }",
            {{"N", std::ssize(pairs)}});
  std::vector<double> a, b;
  for (auto [x, y] : pairs) a.push_back(x), b.push_back(y);
  call.set("a", a).set("b", b).run();
  EXPECT_EQ(call.findings(), "");
  return call.reals();
}

std::vector<int64_t> truths(const std::string& e, const std::vector<std::pair<double, double>>& pairs) {
  Call call(
      "kernel f(a: f64[N], b: f64[N]) -> y: bool[N] { y[i] = (" + e + ") and (a[i] == a[i] or b[i] == b[i] or true) }",
      {{"N", std::ssize(pairs)}});
  std::vector<double> a, b;
  for (auto [x, y] : pairs) a.push_back(x), b.push_back(y);
  call.set("a", a).set("b", b).run();
  return call.wholes();
}

void expect_reals(const std::vector<double>& have, const std::vector<double>& want, const std::string& what) {
  ASSERT_EQ(have.size(), want.size()) << what;
  for (size_t i = 0; i < have.size(); ++i) {
    bool same = std::bit_cast<uint64_t>(have[i]) == std::bit_cast<uint64_t>(want[i]) ||
                (std::isnan(have[i]) && std::isnan(want[i]));
    EXPECT_TRUE(same) << what << " " << i << ": " << have[i] << ", expected " << want[i];
  }
}

using W = std::vector<int64_t>;

TEST(Integers, WrapLikeTwosComplement) {
  EXPECT_EQ(wholes("a[i] + b[i]", {{kMax, 1}, {kMin, -1}, {5, -7}}), (W{kMin, kMax, -2}));
  EXPECT_EQ(wholes("a[i] - b[i]", {{kMin, 1}, {0, kMin}, {5, 7}}), (W{kMax, kMin, -2}));
  EXPECT_EQ(wholes("a[i] * b[i]", {{kMin, -1}, {int64_t{1} << 62, 4}, {-3, 7}, {3037000500, 3037000500}}),
            (W{kMin, 0, -21, -9223372036709301616}));
  EXPECT_EQ(wholes("-a[i]", {{kMin, 0}, {kMax, 0}, {3, 0}}), (W{kMin, -kMax, -3}));
  EXPECT_EQ(wholes("abs(a[i])", {{kMin, 0}, {-3, 0}, {3, 0}}), (W{kMin, 3, 3}));
  EXPECT_EQ(wholes("floor(a[i]) + ceil(a[i]) + round(a[i])", {{-3, 0}}), (W{-9}));
}

TEST(Integers, FloorDivisionAndTheSignOfTheDivisor) {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  W quotients, remainders;
  for (int64_t a : {-7, -6, -1, 0, 1, 6, 7}) {
    for (int64_t b : {-3, -2, -1, 1, 2, 3}) {
      pairs.emplace_back(a, b);
      auto q = static_cast<int64_t>(std::floor(static_cast<double>(a) / static_cast<double>(b)));
      quotients.push_back(q);
      remainders.push_back(a - q * b);
    }
  }
  EXPECT_EQ(wholes("a[i] // b[i]", pairs), quotients);
  EXPECT_EQ(wholes("a[i] % b[i]", pairs), remainders);
  EXPECT_EQ(wholes("a[i] // b[i]", {{kMin, -1}, {kMin, 1}, {kMin, kMin}, {kMax, kMin}, {kMin, kMax}, {kMin, 2}}),
            (W{kMin, kMin, 1, -1, -2, kMin / 2}));
  EXPECT_EQ(wholes("a[i] % b[i]", {{kMin, -1}, {kMin, kMax}, {kMax, kMin}, {kMin, 3}}), (W{0, kMax - 1, -1, 1}));
}

TEST(Integers, DivisionByZeroIsZeroAndSaidOncePerPlace) {
  std::string findings;
  EXPECT_EQ(wholes("a[i] // b[i] + a[i] % b[i]", {{7, 1}, {5, 0}, {6, 0}}, &findings), (W{7, 0, 0}));
  EXPECT_EQ(findings, "E806 division by zero at i = 1\nE806 remainder by zero at i = 1\n");
  EXPECT_EQ(wholes("1 // (b[i] - b[i])", {{0, 3}}, &findings), (W{0}));
  EXPECT_EQ(findings, "E806 division by zero at i = 0\n");
  // Constants divide like data.
  Call call("kernel f[L](x: i32[N]) -> y: i32[N] { y[i] = x[i] + 7 // L + 7 % (L - L) }", {{"N", 2}, {"L", 0}});
  call.set_whole("x", {1, 2}).run();
  EXPECT_EQ(call.wholes(), (W{1, 2}));
  EXPECT_EQ(call.findings(), "E806 division by zero at every instance\nE806 remainder by zero at every instance\n");
}

TEST(Integers, BitsAndShifts) {
  EXPECT_EQ(wholes("a[i] & b[i]", {{12, 10}, {-1, 10}, {kMin, kMax}}), (W{8, 10, 0}));
  EXPECT_EQ(wholes("a[i] | b[i]", {{12, 10}, {-16, 5}}), (W{14, -11}));
  EXPECT_EQ(wholes("a[i] ^ b[i]", {{12, 10}, {-1, 5}}), (W{6, -6}));
  EXPECT_EQ(wholes("a[i] << b[i]", {{1, 63}, {3, 0}, {-1, 4}, {5, 62}}), (W{kMin, 3, -16, int64_t{1} << 62}));
  EXPECT_EQ(wholes("a[i] >> b[i]", {{-1, 63}, {-5, 1}, {5, 1}, {kMin, 63}}), (W{-1, -3, 2, -1}));
  std::string findings;
  EXPECT_EQ(wholes("a[i] << b[i]", {{1, 64}, {1, -1}}, &findings), (W{0, 0}));
  EXPECT_EQ(findings, "E806 shift by 64 at i = 0\n");
  EXPECT_EQ(wholes("a[i] >> b[i]", {{1, 2}, {-1, -1}}, &findings), (W{0, 0}));
  EXPECT_EQ(findings, "E806 shift by -1 at i = 1\n");
}

TEST(Integers, MeetReals) {
  EXPECT_EQ(reals("1 / 2 + 0 * a[i]", {{1, 0}}), (std::vector<double>{0.5}));
  EXPECT_EQ(reals("(i + 1) / 4 * a[i]", {{1, 0}, {2, 0}}), (std::vector<double>{0.25, 1}));
  EXPECT_EQ(wholes("max(a[i], b[i]) - min(a[i], b[i], 0)", {{-3, 5}, {7, 2}}), (W{8, 7}));
}

TEST(Reals, Arithmetic) {
  expect_reals(reals("a[i] + b[i]", {{0.1, 0.2}, {kInf, -kInf}, {-0.0, 0.0}, {1e308, 1e308}}),
               {0.1 + 0.2, kNaN, 0.0, kInf}, "+");
  expect_reals(reals("a[i] - b[i]", {{0.3, 0.1}, {kInf, kInf}}), {0.3 - 0.1, kNaN}, "-");
  expect_reals(reals("a[i] * b[i]", {{0.1, 3}, {0, kInf}, {-0.0, 5}}), {0.1 * 3, kNaN, -0.0}, "*");
  expect_reals(reals("a[i] / b[i]", {{1, 3}, {1, 0}, {-1, 0}, {0, 0}, {1, -0.0}}), {1.0 / 3, kInf, -kInf, kNaN, -kInf},
               "/");
  expect_reals(reals("-a[i]", {{0, 0}, {-0.0, 0}, {kInf, 0}}), {-0.0, 0.0, -kInf}, "negation");
}

TEST(Reals, Functions) {
  std::vector<std::pair<double, double>> pairs;
  for (double x : {-2.5, -1.0, -0.5, -0.0, 0.0, 0.3, 1.0, 2.5, 30.0, kInf, -kInf, kNaN}) pairs.emplace_back(x, 0);
  struct Case {
    const char* name;
    double (*f)(double);
  };
  const Case cases[] = {
      {"exp", [](double x) { return std::exp(x); }},   {"exp2", [](double x) { return std::exp2(x); }},
      {"log", [](double x) { return std::log(x); }},   {"log2", [](double x) { return std::log2(x); }},
      {"sqrt", [](double x) { return std::sqrt(x); }}, {"rsqrt", [](double x) { return 1 / std::sqrt(x); }},
      {"sin", [](double x) { return std::sin(x); }},   {"cos", [](double x) { return std::cos(x); }},
      {"tanh", [](double x) { return std::tanh(x); }}, {"erf", [](double x) { return std::erf(x); }},
      {"abs", [](double x) { return std::fabs(x); }},  {"floor", [](double x) { return std::floor(x); }},
      {"ceil", [](double x) { return std::ceil(x); }}, {"round", [](double x) { return std::nearbyint(x); }},
  };
  for (const Case& c : cases) {
    std::vector<double> want;
    for (auto [x, unused] : pairs) want.push_back(c.f(x));
    expect_reals(reals(std::string(c.name) + "(a[i])", pairs), want, c.name);
  }
  expect_reals(reals("round(a[i])", {{0.5, 0}, {1.5, 0}, {2.5, 0}, {-0.5, 0}}), {0, 2, 2, -0.0}, "ties to even");
  expect_reals(reals("pow(a[i], b[i])", {{2, 10}, {0, 0}, {-8, 1.0 / 3}, {2, -1}}), {1024, 1, kNaN, 0.5}, "pow");
}

TEST(Reals, Comparisons) {
  std::vector<std::pair<double, double>> pairs{{1, 2}, {2, 2}, {3, 2}, {kNaN, 2}, {2, kNaN}, {0.0, -0.0}, {kInf, kInf}};
  EXPECT_EQ(truths("a[i] < b[i]", pairs), (W{1, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(truths("a[i] <= b[i]", pairs), (W{1, 1, 0, 0, 0, 1, 1}));
  EXPECT_EQ(truths("a[i] > b[i]", pairs), (W{0, 0, 1, 0, 0, 0, 0}));
  EXPECT_EQ(truths("a[i] >= b[i]", pairs), (W{0, 1, 1, 0, 0, 1, 1}));
  EXPECT_EQ(truths("a[i] == b[i]", pairs), (W{0, 1, 0, 0, 0, 1, 1}));
  EXPECT_EQ(truths("a[i] != b[i]", pairs), (W{1, 0, 1, 1, 1, 0, 0}));
  EXPECT_EQ(truths("not a[i] < b[i]", pairs), (W{0, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(truths("1 <= a[i] < b[i]", pairs), (W{1, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(truths("a[i] < b[i] or a[i] > b[i]", pairs), (W{1, 0, 1, 0, 0, 0, 0}));
}

TEST(Reals, MaxAndMinHandNaNOn) {
  std::vector<std::pair<double, double>> pairs{{1, 2}, {kNaN, 2}, {2, kNaN}, {-kInf, kInf}};
  expect_reals(reals("max(a[i], b[i])", pairs), {2, kNaN, kNaN, kInf}, "max");
  expect_reals(reals("min(a[i], b[i])", pairs), {1, kNaN, kNaN, -kInf}, "min");
  expect_reals(reals("max(a[i], b[i], 1.5)", {{1, 0}, {kNaN, 5}}), {1.5, kNaN}, "three");
}

// --- casts ---

std::vector<double> cast_to(const std::string& type, const std::vector<double>& from) {
  bool whole = type[0] == 'i' || type[0] == 'u';
  Call call("kernel f(x: f64[N]) -> y: " + std::string(whole ? "i64" : "f64") + "[N] { y[i] = " + type + "(x[i]) }",
            {{"N", std::ssize(from)}});
  call.set("x", from).run();
  return call.reals();
}

TEST(Casts, RealToIntegerTruncatesAndSaturates) {
  EXPECT_EQ(cast_to("i8", {1.9, -1.9, 127.9, 128, 1e9, -129, kNaN, kInf, -kInf, -0.5}),
            (std::vector<double>{1, -1, 127, 127, 127, -128, 0, 127, -128, 0}));
  EXPECT_EQ(cast_to("u8", {255.9, 256, -1, 3.5}), (std::vector<double>{255, 255, 0, 3}));
  EXPECT_EQ(cast_to("u4", {15.5, 17, -3}), (std::vector<double>{15, 15, 0}));
  EXPECT_EQ(cast_to("i4", {7.9, 8, -8.5, -100}), (std::vector<double>{7, 7, -8, -8}));
  EXPECT_EQ(cast_to("i32", {2147483647.5, 3e9, -3e9}), (std::vector<double>{2147483647, 2147483647, -2147483648.0}));
  EXPECT_EQ(cast_to("u32", {4294967295.0, 5e9, -1}), (std::vector<double>{4294967295, 4294967295, 0}));
  Call call("kernel f(x: f64[N]) -> y: i64[N] { y[i] = i64(x[i]) }", {{"N", 4}});
  call.set("x", {0x1p63, -0x1p63, 1e300, -1e300}).run();
  EXPECT_EQ(call.wholes(), (W{kMax, kMin, kMax, kMin}));
}

TEST(Casts, RealToReal) {
  EXPECT_EQ(cast_to("f16", {65519, 65520, 1e-8, 0x1.002p0, 0x1.006p0, -65520}),
            (std::vector<double>{65504, kInf, 0, 1, 0x1.008p0, -kInf}));
  EXPECT_EQ(cast_to("bf16", {0x1.01p0, 0x1.03p0, 3.4e38, 3.3e38}), (std::vector<double>{1, 0x1.04p0, kInf, 0x1.fp127}));
  EXPECT_EQ(cast_to("f8e4m3", {448, 1e9, -1e9, kInf, 0.001, 17}),
            (std::vector<double>{448, 448, -448, 448, 0x1p-9 * 1, 16}));
  EXPECT_EQ(cast_to("f8e5m2", {57344, 1e9, -kInf}), (std::vector<double>{57344, 57344, -57344}));
  EXPECT_EQ(cast_to("f4e2m1", {0.24, 0.25, 0.75, 2.5, 5, 100, -100}), (std::vector<double>{0, 0, 1, 2, 4, 6, -6}));
  EXPECT_EQ(cast_to("f8e8m0", {1, 3, 0, 1e30}), (std::vector<double>{1, 2, 0x1p-127, 0x1p100}));
  EXPECT_EQ(cast_to("f32", {0.1, 1e39}), (std::vector<double>{0.1f, kInf}));
  EXPECT_TRUE(std::isnan(cast_to("f16", {kNaN})[0]));
}

TEST(Casts, IntegerToIntegerKeepsLowBits) {
  EXPECT_EQ(wholes("i8(a[i])", {{300, 0}, {128, 0}, {-129, 0}}), (W{44, -128, 127}));
  EXPECT_EQ(wholes("u8(a[i])", {{300, 0}, {-1, 0}}), (W{44, 255}));
  EXPECT_EQ(wholes("u4(a[i]) + i4(a[i])", {{25, 0}}), (W{9 - 7}));
  EXPECT_EQ(wholes("u32(a[i])", {{-1, 0}, {int64_t{1} << 40 | 5, 0}}), (W{4294967295, 5}));
  EXPECT_EQ(wholes("i32(a[i])", {{int64_t{1} << 31, 0}}), (W{-2147483648}));
  EXPECT_EQ(wholes("i64(a[i])", {{kMin, 0}}), (W{kMin}));
}

TEST(Casts, ToAndFromBool) {
  EXPECT_EQ(wholes("(1 if bool(a[i]) else 0)", {{0, 0}, {-5, 0}}), (W{0, 1}));
  EXPECT_EQ(wholes("i32(a[i] < b[i]) + u4(a[i] == b[i])", {{0, 1}, {1, 1}}), (W{1, 1}));
  EXPECT_EQ(truths("bool(a[i])", {{0, 0}, {-0.0, 0}, {kNaN, 0}, {0.1, 0}}), (W{0, 0, 1, 1}));
}

TEST(Casts, LargeIntegersRoundOnce) {
  // 2^54 + 2^30 + 1: by way of f64 it would tie and fall to even.
  int64_t x = (int64_t{1} << 54) + (int64_t{1} << 30) + 1;
  Call call("kernel f(a: i64[N]) -> y: f64[N] { y[i] = f32(a[i]) }", {{"N", 3}});
  call.set_whole("a", {x, -x, kMax}).run();
  EXPECT_EQ(call.reals(), (std::vector<double>{static_cast<double>(static_cast<float>(x)),
                                               static_cast<double>(static_cast<float>(-x)), 0x1p63}));
}

// --- reductions ---

double reduce(const std::string& e, const std::vector<double>& x, const std::string& type = "f64") {
  Call call("kernel f(x: " + type + "[N], z: f32[1]) -> y: f64 { y = " + e + " if z[0] == 0 else x[0] }",
            {{"N", std::ssize(x)}});
  call.set("x", x).run();
  EXPECT_EQ(call.findings(), "");
  return call.reals()[0];
}

TEST(Reductions, OverNothing) {
  EXPECT_EQ(reduce("sum[i] x[i]", {}), 0);
  EXPECT_EQ(reduce("prod[i] x[i]", {}), 1);
  EXPECT_EQ(reduce("max[i] x[i]", {}), -kInf);
  EXPECT_EQ(reduce("min[i] x[i]", {}), kInf);
  EXPECT_EQ(reduce("argmax[i] x[i]", {}), -1);
  EXPECT_EQ(reduce("argmin[i] x[i]", {}), -1);
  EXPECT_EQ(reduce("(1 if (any[i] (x[i] > 0)) else 0)", {}), 0);
  EXPECT_EQ(reduce("(1 if (all[i] (x[i] > 0)) else 0)", {}), 1);
  EXPECT_TRUE(std::isnan(reduce("mean[i](x[i])", {})));
  EXPECT_EQ(reduce("logsumexp[i](x[i])", {}), -kInf);
  Call call(
      "kernel f(x: i64[N]) -> (a: i64, b: i64, c: i64, d: i64) { a = max[i] x[i]\n b = min[i] x[i]\n c = sum[i] x[i]\n "
      "d = prod[i] x[i] }",
      {{"N", 0}});
  call.run();
  EXPECT_EQ(call.wholes("a")[0], kMin);
  EXPECT_EQ(call.wholes("b")[0], kMax);
  EXPECT_EQ(call.wholes("c")[0], 0);
  EXPECT_EQ(call.wholes("d")[0], 1);
}

TEST(Reductions, Values) {
  EXPECT_EQ(reduce("sum[i] x[i]", {1, 2, 4.5}), 7.5);
  EXPECT_EQ(reduce("prod[i] x[i]", {2, -3, 4}), -24);
  EXPECT_EQ(reduce("max[i] x[i]", {2, -3, 4}), 4);
  EXPECT_EQ(reduce("min[i] x[i]", {2, -3, 4}), -3);
  EXPECT_TRUE(std::isnan(reduce("max[i] x[i]", {2, kNaN, 4})));
  EXPECT_TRUE(std::isnan(reduce("min[i] x[i]", {2, 4, kNaN})));
  EXPECT_EQ(reduce("(1 if (any[i] (x[i] > 3)) else 0)", {2, 4}), 1);
  EXPECT_EQ(reduce("(1 if (all[i] (x[i] > 3)) else 0)", {2, 4}), 0);
  EXPECT_EQ(reduce("count[i](x[i] > 1)", {1, 2, 3}), 2);
  EXPECT_EQ(reduce("var[i](x[i])", {1, 3}), 1);
}

TEST(Reductions, ArgmaxTakesTheFirst) {
  EXPECT_EQ(reduce("argmax[i] x[i]", {1, 5, 5, 2}), 1);
  EXPECT_EQ(reduce("argmin[i] x[i]", {3, 1, 1}), 1);
  EXPECT_EQ(reduce("argmax[i] x[i]", {1, kNaN, 9, kNaN}), 1);
  EXPECT_EQ(reduce("argmin[i] x[i]", {-kInf, 5, kNaN}), 2);
  EXPECT_EQ(reduce("argmax[i] x[i]", {-kInf, -kInf}), 0);
  EXPECT_EQ(reduce("argmax[2 <= i < 4] x[i]", {9, 8, 1, 2}), 3);
  EXPECT_EQ(reduce("argmax[0 - 3 <= i < 0] x[i + 3]", {1, 1, 0}), -3);  // the value of the index, though negative
  EXPECT_EQ(reduce("argmin[0 - 3 <= i < 0] (i + 5)", {1}), -3);
  // Whole numbers beyond 2^53 are told apart.
  Call call("kernel f(x: i64[N]) -> y: i64 { y = argmax[i] x[i] }", {{"N", 3}});
  call.set_whole("x", {kMax - 2, kMax, kMax - 1}).run();
  EXPECT_EQ(call.wholes()[0], 1);
  EXPECT_EQ(call.bounds()[0], 0);
}

TEST(Reductions, SeveralIndicesLeftToRight) {
  Call call(
      "kernel f(x: f32[N, M]) -> (y: i32, z: i32, w: f32) { y = sum[i < N, j <= i] 1\n z = argmax[i] (sum[j] x[i, "
      "j])\n w = max[i < N, i <= j < M] x[i, j] }",
      {{"N", 3}, {"M", 3}});
  call.set("x", {1, 2, 3, 9, 0, 0, 8, 8, -1}).run();
  EXPECT_EQ(call.wholes("y")[0], 6);
  EXPECT_EQ(call.wholes("z")[0], 2);
  EXPECT_EQ(call.reals("w")[0], 3);
}

TEST(Reductions, RebindAnIndexOfTheLeft) {
  Call call("kernel f(x: f64[N]) -> y: f64[N] { y[n] = x[n] / (sum[n] x[n]) + x[n] }", {{"N", 3}});
  call.set("x", {1, 1, 2}).run();
  EXPECT_EQ(call.reals(), (std::vector<double>{1.25, 1.25, 2.5}));
  Call inner("kernel f(x: f64[N]) -> y: f64[N] { y[n] = sum[n <= n] (x[n] + sum[n] x[n]) }", {{"N", 3}});
  inner.set("x", {1, 2, 4}).run();
  EXPECT_EQ(inner.reals(), (std::vector<double>{8, 17, 28}));
}

TEST(Reductions, IndexGroups) {
  Call call("kernel f(x: f64[H, W, C]) -> y: f64[C] { y[c] = mean[h, w](x[h, w, c]) }", {{"H", 2}, {"W", 2}, {"C", 2}});
  call.set("x", {1, 10, 2, 20, 3, 30, 4, 40}).run();
  EXPECT_EQ(call.reals(), (std::vector<double>{2.5, 25}));
}

// --- the rest ---

TEST(Random, IsPhilox) {
  Call call(
      "kernel f(seed: i64, x: i64[N]) -> (y: i64[N], u: f64[N]) { y[n] = random_bits(seed, x[n])\n u[n] = "
      "uniform(seed, x[n]) }",
      {{"N", 6}});
  call.set_whole("seed", {0}).set_whole("x", {0, 1, 2, 3, 4, -1}).run();
  // Random123's known answers of philox4x32-10 for a zero counter and key.
  EXPECT_EQ(call.wholes("y")[0], 0x6627e8d5);
  EXPECT_EQ(call.wholes("y")[1], 0xe169c58d);
  EXPECT_EQ(call.wholes("y")[2], 0xbc57ac4c);
  EXPECT_EQ(call.wholes("y")[3], 0x9b00dbd8);
  EXPECT_EQ(call.wholes("y")[4], random_bits(0, 4));
  EXPECT_EQ(call.wholes("y")[5], random_bits(0, -1));
  EXPECT_EQ(call.reals("u")[0], (static_cast<double>(0x6627e8d5 >> 9) + 0.5) * 0x1p-23);
  call.set_whole("seed", {-1}).run();
  EXPECT_EQ(call.wholes("y")[0], random_bits(-1, 0));
}

TEST(Branches, OnlyWhatIsUsedIsRead) {
  // Every guard that the notation has: what it skips would be outside.
  for (const char* e :
       {"(x[i - 1] if i > 0 else 0)", "(0 if i == 0 else x[i - 1])", "(1 if i > 0 and x[i - 1] > 2 else 0)",
        "(1 if i == 0 or x[i - 1] > 2 else 0)", "(1 if not (i == 0 or x[i - 1] <= 2) else 0)", "(sum[j < i] x[i - 1])",
        "(max[j < i] x[i - j - 1])"}) {
    Call call(std::string("kernel f(x: f32[N]) -> y: f32[N] { y[i] = ") + e + " }", {{"N", 4}});
    call.set("x", {1, 2, 3, 4}).run();
    EXPECT_EQ(call.findings(), "") << e;
  }
  // A NaN behind a false condition is not there.
  Call call("kernel f(x: f32[N]) -> y: f32 { y = sum[i] (x[i] if x[i] == x[i] else 0) }", {{"N", 3}});
  call.set("x", {1, kNaN, 2}).run();
  EXPECT_EQ(call.reals()[0], 3);
  EXPECT_EQ(call.bounds()[0] < 1e-5, true);
}

}  // namespace
}  // namespace quern::expr::test
