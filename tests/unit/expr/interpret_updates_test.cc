// Definitions and updates: locals, results read as stored, inout read as before, scatters, `+=`, filters, packed
// elements, stored types, and what is found in the data on the way.
#include <cmath>

#include "call.h"

namespace quern::expr::test {
namespace {

using W = std::vector<int64_t>;
using R = std::vector<double>;

TEST(Locals, AreFunctionsOnTheirRange) {
  Call call(
      "kernel f(x: f64[N]) -> y: f64[N] { t[i, j <= i] = x[i] * 10 + j\n u[i] = sum[j <= i] t[i, j]\n y[i] = u[N - 1 - "
      "i] + (t[i, 0] if i < 9 else 0) }",
      {{"N", 3}});
  call.set("x", {1, 2, 3}).run();
  EXPECT_EQ(call.findings(), "");
  EXPECT_EQ(call.reals(), (R{93 + 10, 41 + 20, 10 + 30}));
}

TEST(Locals, AnnotatedOnesRound) {
  Call call(
      "kernel f(x: f64[N]) -> (y: f64[N], z: i64[N], w: f64[N]) { p[i]: bf16 = x[i]\n q[i]: i8 = i32(x[i])\n r[i] = "
      "x[i]\n y[i] = p[i]\n z[i] = q[i]\n w[i] = r[i] }",
      {{"N", 2}});
  call.set("x", {1.001, 200}).run();
  EXPECT_EQ(call.reals("y"), (R{1, 200}));
  EXPECT_EQ(call.wholes("z"), (W{1, -56}));
  EXPECT_EQ(call.reals("w"), (R{1.001, 200}));
}

TEST(Locals, OutsideTheirRangeGiveZero) {
  Call call("kernel f(x: f64[N], id: i32[N]) -> y: f64[N] { t[1 <= i < N] = x[i]\n y[i] = t[id[i]] + 100 }",
            {{"N", 3}});
  call.set("x", {1, 2, 3}).set("id", {0, 3, 2}).run();
  EXPECT_EQ(call.reals(), (R{100, 100, 103}));
  EXPECT_EQ(call.findings(), "E802 t is read at id[i] = 0, outside its range 1...2\n");
}

TEST(Locals, ChainsOfThem) {
  std::string body = "t0[i] = x[i]\n";
  for (int k = 1; k <= 1000; ++k) body += "t" + std::to_string(k) + "[i] = t" + std::to_string(k - 1) + "[i] + 1\n";
  Call call("kernel f(x: f64[N]) -> y: f64[N] { " + body + " y[i] = t1000[i] }", {{"N", 2}});
  call.set("x", {1, 2}).run();
  EXPECT_EQ(call.reals(), (R{1001, 1002}));
}

TEST(Within, ALocalOfAFunctionHasItsRange) {
  Call call(
      "fn shifted[i](x[i], k) {\n t[i] = 2 * x[i]\n return t[k + 1]\n}\n"
      "kernel f(x: f64[N], id: i32[N]) -> y: f64[N] { y[m] = shifted[n < 2](x[n], id[m]) }",
      {{"N", 4}});
  call.set("x", {1, 2, 4, 8}).set("id", {0, -1, 1, 5}).run();
  EXPECT_EQ(call.reals(), (R{4, 2, 0, 0}));
  EXPECT_EQ(call.findings(), "E802 t is read at id[m] + 1 = 2, outside its range 0...1\n");
  Proofs proofs = prove(call.program(), call.binding());
  bool checked = false;
  for (const SubscriptProof& p : proofs.subscripts)
    checked |= p.local && p.tensor == Symbol("t") && p.proof == Proof::kChecked && p.data;
  EXPECT_TRUE(checked);
}

TEST(Results, ReadAsStored) {
  Call call(
      "kernel f(x: f64[N]) -> (a: bf16[N], b: f64[N], c: f8e4m3[N], d: i8[N] = 0, e: i32[N]) { a[i] = x[i]\n b[i] = "
      "a[i] * 2\n c[i] = x[i]\n"
      " for[i] d[i % 1 + i] += i32(x[i])\n e[i] = d[i] }",
      {{"N", 3}});
  call.set("x", {1.001, 300, 1000}).run();
  EXPECT_EQ(call.reals("a"), (R{1, 300, 1000}));
  EXPECT_EQ(call.reals("b"), (R{2, 600, 2000}));
  EXPECT_EQ(call.reals("c"), (R{1, 288, 448}));
  EXPECT_EQ(call.wholes("e"), (W{1, 44, -24}));
}

TEST(Results, OfEveryTypeAreStored) {
  for (const TypeRow& type : type_rows()) {
    std::string value = type.kind == Kind::kReal ? "x[i]" : type.kind == Kind::kInt ? "i32(x[i])" : "x[i] != 0";
    Call call("kernel f(x: f32[N]) -> y: " + std::string(type.name) + "[N] { y[i] = " + value + " }", {{"N", 6}});
    call.set("x", {1, 0, 2, 4, -3, 0.25}).run();
    R want;
    for (double x : {1.0, 0.0, 2.0, 4.0, -3.0, 0.25}) {
      want.push_back(type.kind == Kind::kReal  ? round_to(type.type, x)
                     : type.kind == Kind::kInt ? static_cast<double>(wrap_to(type.type, static_cast<int64_t>(x)))
                                               : x != 0);
    }
    EXPECT_EQ(call.reals(), want) << type.name;
  }
}

TEST(Results, FirstValues) {
  Call call(
      "kernel f(x: i32[N]) -> (y: f32[4] = -inf, z: i32[4] = -7, w: f16[4] = 0.1) { for[n] y[x[n]] = 1.5\n for[n] "
      "z[x[n]] = 3\n for[n] w[x[n]] = 2 }",
      {{"N", 1}});
  call.set("x", {2}).run();
  EXPECT_EQ(call.reals("y"), (R{-INFINITY, -INFINITY, 1.5, -INFINITY}));
  EXPECT_EQ(call.wholes("z"), (W{-7, -7, 3, -7}));
  EXPECT_EQ(call.reals("w"), (R{0x1.998p-4, 0x1.998p-4, 2, 0x1.998p-4}));
}

TEST(Inout, IsReadAsItWas) {
  Call call("kernel f(inout a: f64[N], inout b: f64[N]) { a[i] = b[i] + 1\n b[i] = a[i] + 10 }", {{"N", 2}});
  call.set("a", {1, 2}).set("b", {5, 6}).run();
  EXPECT_EQ(call.reals("a"), (R{6, 7}));
  EXPECT_EQ(call.reals("b"), (R{11, 12}));
}

TEST(Inout, KeepsWhatIsNotWritten) {
  Call call(
      "kernel f(x: i32[2], inout y: u4[2, 4], inout z: f16[4]) { for[n if x[n] > 0] y[n, j] = x[n] + j\n for[n if x[n] "
      "< 0] z[n + 1] = x[n] }");
  call.set("x", {3, -1}).set("y", {1, 2, 3, 4, 5, 6, 7, 8}).set("z", {0.5, 1, 2, 3}).run();
  EXPECT_EQ(call.wholes("y"), (W{3, 4, 5, 6, 5, 6, 7, 8}));
  EXPECT_EQ(call.reals("z"), (R{0.5, 1, -1, 3}));
}

TEST(Updates, ScatterAddAndFilter) {
  Call call(
      "kernel f(id: i32[N], x: f64[N]) -> (h: i32[3] = 0, s: f64[3] = 0.5) { for[n] h[id[n]] += 1\n for[n if x[n] > 0] "
      "s[id[n]] += x[n] }",
      {{"N", 5}});
  call.set("id", {0, 2, 2, 1, 0}).set("x", {1, 2, -4, 8, 16}).run();
  EXPECT_EQ(call.wholes("h"), (W{2, 1, 2}));
  EXPECT_EQ(call.reals("s"), (R{17.5, 8.5, 2.5}));
}

TEST(Updates, OutsideIsDroppedAndReported) {
  Call call("kernel f(id: i32[N]) -> h: i32[3] = 0 { for[n] h[id[n]] += n + 1 }", {{"N", 4}});
  call.set("id", {3, 1, -1, 1}).run();
  EXPECT_EQ(call.wholes(), (W{0, 6, 0}));
  EXPECT_EQ(call.findings(), "E803 h is written at id[n] = 3, the dimension has 3\n");
}

TEST(Updates, EachElementIsWrittenAtMostOnce) {
  Call call(
      "kernel f(id: i32[N], jd: i32[M]) -> y: i32[3, 2] = 0 { for[n] y[id[n], j] = n\n for[m] y[jd[m], j] = 100 + m }",
      {{"N", 2}, {"M", 2}});
  call.set("id", {0, 2}).set("jd", {1, 2}).run();
  EXPECT_EQ(call.findings(), "E804 y[2, 0] is written by n = 1, j = 0 and by m = 1, j = 0\n");
  call.set("id", {0, 0}).set("jd", {1, 2}).run();
  EXPECT_EQ(call.findings(), "E804 y[0, 0] is written by n = 0, j = 0 and by n = 1, j = 0\n");
  call.set("id", {0, 2}).set("jd", {1, 1}).run();
  EXPECT_EQ(call.findings(), "E804 y[1, 0] is written by m = 0, j = 0 and by m = 1, j = 0\n");
}

TEST(Updates, IntegersWrapWhereTheyAreStored) {
  Call call("kernel f(x: i32[N]) -> (h: i8[1] = 0, y: u8[N]) { for[n] h[0 * n] += x[n]\n y[n] = x[n] }", {{"N", 2}});
  call.set("x", {100, 100}).run();
  EXPECT_EQ(call.wholes("h"), (W{-56}));
  call.set("x", {-1, 257}).run();
  EXPECT_EQ(call.wholes("y"), (W{255, 1}));
}

TEST(Packed, TwoElementsAByteEvenOneLow) {
  Call call(
      "kernel f(x: u4[2, 4], w: f4e2m1[2, 4]) -> (y: i4[2, 4], z: f4e2m1[2, 4]) { y[i, j] = x[i, 3 - j] - 8\n z[i, j] "
      "= w[1 - i, j] * 2 }");
  call.set("x", {0, 1, 2, 3, 12, 13, 14, 15}).set("w", {0, 0.5, 1, 1.5, -0.5, -1, 2, 6}).run();
  EXPECT_EQ(call.wholes("y"), (W{-5, -6, -7, -8, 7, 6, 5, 4}));
  EXPECT_EQ(call.reals("z"), (R{-1, -2, 4, 6, 0, 1, 2, 3}));
  auto bytes = static_cast<const unsigned char*>(call.arguments().data(0));
  EXPECT_EQ(bytes[0], 0x10);
  EXPECT_EQ(bytes[1], 0x32);
}

TEST(Scalars, ByValueAndWithDefaults) {
  Call call("kernel f(x: f64[N], a: f32, b: f32 = 0.5, k: i32 = -3) -> y: f64[N] { y[n] = x[n] * a + b + k }",
            {{"N", 2}});
  call.set("x", {1, 2}).set("a", {10}).run();
  EXPECT_EQ(call.reals(), (R{7.5, 17.5}));
}

TEST(Sizes, NothingIsDoneForNone) {
  Call call("kernel f(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N] { c[m, n] = sum[k] a[m, k] * b[k, n] }",
            {{"M", 0}, {"K", 3}, {"N", 2}});
  call.run();
  EXPECT_EQ(call.reals(), R{});
  Call inner("kernel f(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N] { c[m, n] = sum[k] a[m, k] * b[k, n] }",
             {{"M", 1}, {"K", 0}, {"N", 2}});
  inner.run();
  EXPECT_EQ(inner.reals(), (R{0, 0}));
}

}  // namespace
}  // namespace quern::expr::test
