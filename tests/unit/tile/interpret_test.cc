// What the interpreter tests while it runs, and the meaning of the parts that the worked programs do not have.
#include "tile/interpret.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tile/verify.h"
#include "worked.h"
#include "worked_case.h"

namespace quern::tile {
namespace {

Numbers numbers(std::vector<double> at) {
  auto n = static_cast<int64_t>(at.size());
  return {{n}, std::move(at)};
}

// The one out, or the fault, of a program whose in and inout parameters have these values.
std::vector<double> out_of(const std::string& text, const Arguments& in, Mode mode = Mode::kBound) {
  Program p = parsed(text);
  EXPECT_EQ(render(verify(p)), "");
  Ran ran = run(p, in, mode);
  EXPECT_EQ(ran.fault, "") << text;
  return ran.outputs.empty() ? std::vector<double>() : ran.outputs.begin()->second.value;
}

void expect_fault(const std::string& text, const Arguments& in, const std::string& message) {
  for (Mode mode : {Mode::kBound, Mode::kRounded, Mode::kPadded}) {
    Ran ran = run(parsed(text), in, mode);
    EXPECT_NE(ran.fault.find(message), std::string::npos) << "expected " << message << ", found " << ran.fault << text;
  }
}

using V = std::vector<double>;

TEST(Interpret, EveryPromiseIsTested) {
  const Arguments in = {{"x", numbers({1, 2, 3, 4})}, {"z", numbers({0, 0, 0, 0})}};
  const std::string head =
      "program p tiled\ndims N = 4, M = 2\nin x: f32[N]\ninout z: f32[N]\ntmp t: f32[N]\n"
      "out y: f32[N]\n\nkernel k\n  axes n < N, m < M, g < M\n  scalar g\n";
  const std::pair<const char*, const char*> all[] = {
      {"  store y[n] = load x[n + 1]\n", "subscript 0 of x is 4, the dimension has 4"},
      {"  store y[n] = load x[n - 1]\n", "subscript 0 of x is -1, the dimension has 4"},
      {"  store y[n] = load x[n + 1] if n < 4\n", "subscript 0 of x is 4"},
      {"  store y[n + 1] = 1.0\n", "subscript 0 of y is 4"},
      {"  store y[m] = 1.0\n", "element 2 of y is not stored"},
      {"  store y[n] = 1.0\n  store y[m] = 1.0\n", "element 0 of y is stored twice"},
      {"  store y[n] = 1.0 when n != 2\n", "element 2 of y is not stored"},
      {"  store y[n] = load t[n]\n", "element 0 of t is read before it is written"},
      {"  store t[m] += 1.0\n  store y[n] = 1.0\n", "element 0 of t is added to before it is written"},
      {"  grid g\n  store z[0] = 1.0\n  store y[m + g * 2] = 1.0\n", "element 0 of z is written by two grid points"},
      {"  grid g\n  store z[0] += 1.0\n  store y[m + g * 2] = 1.0\n", "element 0 of z is written by two grid points"},
      {"  grid g\n  store z[g] = 1.0\n  store y[m + g * 2] = load z[0]\n",
       "element 0 of z is written and read by two grid points"},
      {"  grid g\n  u = load z[1]\n  store z[g] = u\n  store y[m + g * 2] = u\n",
       "element 1 of z is read and written by two grid points"},
      {"  for n:2 in 1 .. N + 1\n    store z[n] = 1.0\n  store y[n] = 1.0\n", "n is walked in 1 .. 5"},
      {"  for n:2 in 0 .. 2\n    s = load x[n]\n    for n:2 in 0 .. 4\n      store z[n] = s\n  store y[n] = 1.0\n",
       "n is walked in 0 .. 4, its range is 0 .. 2"},
  };
  for (auto& [body, message] : all) expect_fault(head + body, in, message);
  expect_fault(head + "  grid g\n  atomic store z[0] += 1.0\n  u = load z[0]\n  store y[m + g * 2] = u\n", in,
               "by two grid points");
}

TEST(Interpret, ArgumentsMustBeTheProgramsOwn) {
  Program p = parsed(
      "program p lowered\ndims N = 4\nin x: f32[N]\nout y: f32[N]\n\nkernel k\n  axes n < N\n"
      "  store y[n] = load x[n]\n");
  const float x[4] = {1, 2, 3, 4};
  EXPECT_TRUE(interpret(p, {{4}, {x, nullptr}}).has_value());
  EXPECT_FALSE(interpret(p, {{5}, {x, nullptr}}).has_value());
  EXPECT_FALSE(interpret(p, {{}, {x, nullptr}}).has_value());
  EXPECT_FALSE(interpret(p, {{4}, {x}}).has_value());
  EXPECT_FALSE(interpret(p, {{4}, {nullptr, nullptr}}).has_value());
  p.dims[0].value.reset();
  ASSERT_TRUE(interpret(p, {{2}, {x, nullptr}}).has_value());
  auto huge = interpret(p, {{int64_t{1} << 40}, {x, nullptr}});
  ASSERT_FALSE(huge.has_value());
  EXPECT_EQ(huge.error()[0].code, Code::E716);
}

// A checked access that leaves its tensor does not happen, and is told once a site.
TEST(Interpret, CheckedAccessesReport) {
  Program p = parsed(R"(program p lowered
dims N = 4
in x: f32[N]
in i: i64[N]
out y: f32[N]
tmp t: f32[N] zeroed
site E801 "x" "i[n]"
site E803 "t" "i[n]"
site E802 "loc" "i[n]"

kernel k
  axes n < N
  store t[checked load i[n]] @1 = 1.0
  store y[n] = load x[checked load i[n]] @0 + load t[checked load i[n]] @2
)");
  Ran ran = run(p, {{"x", numbers({10, 20, 30, 40})}, {"i", numbers({3, -1, 1, 4})}}, Mode::kBound);
  ASSERT_EQ(ran.fault, "");
  EXPECT_EQ(ran.outputs["y"].value, (V{41, 0, 21, 0}));
  ASSERT_EQ(ran.findings.size(), 3u);
  EXPECT_EQ(ran.findings[0].message, "x[i[n]] is -1 at n = 1, the dimension has 4");
  EXPECT_EQ(ran.findings[1].message, "t is written at i[n] = -1, the dimension has 4");
  EXPECT_EQ(ran.findings[2].message, "loc is read at i[n] = -1, outside its range 0...3");
}

// A check holds where it is looked at and its condition holds; where only the latter fails, that is told.
TEST(Interpret, ChecksReport) {
  Program p = parsed(R"(program p lowered
dims N = 4
in i: i64[N]
out y: i64[N]
site E802 "t" "i[n]"
site E801 "x" "i[n]"

kernel k
  axes n < N
  at = load i[n]
  store y[n] = i64(check(1 <= at and at < 3, at, n != 1) @0) + 10 * i64(check(at <= 3, at, false) @1)
)");
  EXPECT_EQ(render(verify(p)), "");
  Ran ran = run(p, {{"i", numbers({2, 9, 1, 7})}}, Mode::kBound);
  ASSERT_EQ(ran.fault, "");
  EXPECT_EQ(ran.outputs["y"].value, (V{1, 0, 1, 0}));
  ASSERT_EQ(ran.findings.size(), 1u);
  EXPECT_EQ(ran.findings[0].message, "t is read at i[n] = 7, outside its range 1...2");
}

// Scatters: points that meet add up, in any order, and the bound covers any.
TEST(Interpret, AtomicAddsMeet) {
  const std::string text = R"(program p tiled
dims N = 6, M = 2
in x: f32[N]
in i: i64[N]
tmp t: f32[M] zeroed
out y: f32[M]

kernel add
  axes n < N
  grid n:2
  atomic store t[load i[n]] += load x[n]

kernel copy
  axes m < M
  store y[m] = load t[m]
)";
  Arguments in = {{"x", numbers({1, 1e8, 2, -1e8, 4, 8})}, {"i", numbers({0, 0, 1, 0, 0, 1})}};
  Ran a = run(parsed(text), in, Mode::kBound), b = run(parsed(text), in, Mode::kRounded);
  ASSERT_EQ(a.fault, "");
  EXPECT_EQ(a.outputs["y"].value, (V{5, 10}));
  EXPECT_EQ(b.outputs["y"].value, (V{4, 10}));  // 1 + 1e8 is 1e8 in f32
  EXPECT_GE(a.outputs["y"].bound[0], 4);        // another order loses 1 + 4
  EXPECT_LT(a.outputs["y"].bound[0], 100);
  EXPECT_LT(a.outputs["y"].bound[1], 1e-5);
}

// The range of a reduction may depend on the index of an axis around it.
TEST(Interpret, RangesMayDependOnEarlierAxes) {
  const std::string text = R"(program p lowered
dims N = 4
in x: f32[N]
out y: f32[N]

kernel k
  axes n < N, m in n - 1 .. n + 1, j < m + 1
  store y[n] = sum[m](fill[n](f32(m))) + 10.0 * sum[m, j](fill[n](1.0)) + 1000.0 * dot[j, m](fill[j, m](1.0), fill[m, j, n](1.0))
)";
  // n = 0: m = -1, 0; n = 1: m = 0, 1; over j: m + 1 terms.
  EXPECT_EQ(out_of(text, {{"x", numbers({0, 0, 0, 0})}}), (V{-1 + 1010 * 1, 1 + 1010 * 3, 3 + 1010 * 5, 5 + 1010 * 7}));
}

TEST(Interpret, AStoreMayHaveARangeThatDependsOnAnAxis) {
  const std::string text = R"(program p lowered
dims N = 3
inout y: i64[N, N]

kernel k
  axes n < N, m < n + 1
  store y[n, m] = n * 10 + m
)";
  EXPECT_EQ(out_of(text, {{"y", {{3, 3}, V(9, -1)}}}), (V{0, -1, -1, 10, 11, -1, 20, 21, 22}));
}

TEST(Interpret, IntegersWrapAndNeverTrap) {
  const std::string text = R"(program p lowered
dims N = 12
in x: i64[N]
out y: i64[N]

kernel k
  axes n < N
  a = load x[0]
  b = load x[1]
  c = 9223372036854775807
  store y[0] = a // b
  store y[1] = a % b
  store y[2] = a // 0 + a % 0
  store y[3] = a << 64 | a << -1 | a >> 64
  store y[4] = -a >> 1
  store y[5] = c + 1 - c
  store y[6] = (-c - 1) // -1 - c
  store y[7] = abs(a) + max(a, b) + min(a, b)
  store y[8] = i64(u8(a * 100)) + i64(i8(200))
  store y[9] = i64(2.9) + i64(-2.9) * 10 + i64(nan) + i64(i8(1e9))
  store y[10] = sum[n](n) + prod[n](n + 1 - n) + max[n](n) + min[n](n if n > 2 else 50)
  store y[11] = i64(all[n](n < 12)) + i64(any[n](n > 11)) * 2 + i64(1 ^ 3 & 2 | 4)
)";
  Arguments in = {{"x", numbers(V(12))}};
  in["x"].at[0] = -7;
  in["x"].at[1] = 2;
  V y = out_of(text, in);
  ASSERT_EQ(y.size(), 12u);
  EXPECT_EQ(y[0], -4);
  EXPECT_EQ(y[1], 1);
  EXPECT_EQ(y[2], 0);
  EXPECT_EQ(y[3], 0);
  EXPECT_EQ(y[4], 3);
  EXPECT_EQ(y[5], 1);
  EXPECT_EQ(y[6], 1);  // (-2^63) // -1 is -2^63 again
  EXPECT_EQ(y[7], 7 + 2 - 7);
  EXPECT_EQ(y[8], ((-700 % 256) + 256) % 256 + 200 - 256);
  EXPECT_EQ(y[9], 2 - 20 + 0 + 127);
  EXPECT_EQ(y[10], 66 + 1 + 11 + 3);
  EXPECT_EQ(y[11], 1 + 0 + ((1 ^ (3 & 2)) | 4));
}

TEST(Interpret, RealsFollowTheTable) {
  const std::string text = R"(program p lowered
dims N = 9
out y: f32[N]

kernel k
  axes n < N
  store y[0] = finite(inf) + finite(nan) + finite(-2.0)
  store y[1] = max(nan, 1.0)
  store y[2] = f32(f16(70000.0))
  store y[3] = f32(f8e4m3(1e6))
  store y[4] = round(2.5) + floor(-1.5) * 10.0 + ceil(-1.5) * 100.0 + abs(-1.0) * 1000.0
  store y[5] = max[n](1.0 if n != 3 else nan)
  store y[6] = fma(3.0, 4.0, 5.0) + pow(2.0, 10.0) + exp2(3.0) + sqrt(16.0) + rsqrt(0.25)
  store y[7] = 1.0 if f32(random_bits(1, 2)) >= 0.0 and not bool(0.0) else 0.0
  store y[8] = max[n](-inf) + f32(true)
)";
  V y = out_of(text, {});
  EXPECT_EQ(y[0], -2);
  EXPECT_TRUE(std::isnan(y[1]));
  EXPECT_EQ(y[2], INFINITY);
  EXPECT_EQ(y[3], 448);
  EXPECT_EQ(y[4], 2 - 20 - 100 + 1000);
  EXPECT_TRUE(std::isnan(y[5]));
  EXPECT_EQ(y[6], 17 + 1024 + 8 + 4 + 2);
  EXPECT_EQ(y[7], 1);
  EXPECT_EQ(y[8], -INFINITY);
}

TEST(Interpret, FourBitTypesAreTwoAByte) {
  const std::string text = R"(program p lowered
dims N = 4
in x: u4[N]
in w: i4[N]
out y: i4[N]
out z: i64

kernel k
  axes n < N
  store y[n] = i4(i64(load x[n]) - 8)
  store z = dot:i64[n](load x[n], load w[n])
)";
  Ran ran = run(parsed(text), {{"x", numbers({1, 15, 8, 4})}, {"w", numbers({1, -1, 7, -8})}}, Mode::kBound);
  ASSERT_EQ(ran.fault, "");
  EXPECT_EQ(ran.outputs["y"].value, (V{-7, 7, 0, -4}));
  EXPECT_EQ(ran.outputs["y"].data, (std::vector<std::byte>{std::byte{0x79}, std::byte{0xC0}}));
  EXPECT_EQ(ran.outputs["z"].value, (V{1 - 15 + 56 - 32}));
}

// The bound says what an f32 implementation may differ by, and no more than a few roundings.
TEST(Interpret, BoundsAreRoundings) {
  const std::string text = R"(program p lowered
dims N = 1000
in x: f32[N]
out y: f32[4]

kernel k
  axes n < N
  total = sum[n](load x[n])
  store y[0] = total
  store y[1] = (total + 1e8) - 1e8
  store y[2] = anchor(total * 1.1)
  store y[3] = 1.0 if total * 0.1 > 50.0 else 2.0
)";
  // 500 up to rounding: the comparison is open.
  Ran a = run(parsed(text), {{"x", numbers(V(1000, 0.5))}}, Mode::kBound);
  ASSERT_EQ(a.fault, "");
  const Output& y = a.outputs["y"];
  EXPECT_EQ(y.value[0], 500);
  EXPECT_GT(y.bound[0], 1e-3);
  EXPECT_LT(y.bound[0], 1000 * 500 * 0x1p-23);
  EXPECT_GE(y.bound[1], 4);  // 500 + 1e8 has an ulp of 8
  EXPECT_LT(y.bound[1], 40);
  EXPECT_EQ(y.bound[2], 0);
  EXPECT_EQ(y.bound[3], 1);
}

// Casts after an anchor are off by a rounding, not by where the end points of the bound round to.
TEST(Interpret, CastsAfterAnAnchorRoundAnywhere) {
  const std::string text = R"(program p lowered
dims N = 2
in x: f32[N]
out y: f16[N]

kernel k
  axes n < N
  a = load x[n] * 1.0
  store y[n] = f16(a) when n == 0
  store y[n] = f16(anchor(a) * 1.0) when n == 1
)";
  Ran a = run(parsed(text), {{"x", numbers({1, 1})}}, Mode::kBound);
  ASSERT_EQ(a.fault, "");
  EXPECT_EQ(a.outputs["y"].bound[0], 0);
  EXPECT_GE(a.outputs["y"].bound[1], 0x1p-12);
  EXPECT_LT(a.outputs["y"].bound[1], 0x1p-10);
}

TEST(Interpret, LoopsWithoutTripsKeepTheFirstValue) {
  const std::string text = R"(program p tiled
dims N = 3, K = 0
in x: f32[K]
out y: f32[N]

kernel k
  axes n < N, k < K
  for k:all
    carry a = fill[n](7.0)
    next a = a + sum[k](load x[k])
  store y[n] = a + sum[k](load x[k]) + (1.0 if max[k](load x[k]) == -inf else 0.0)
)";
  EXPECT_EQ(out_of(text, {{"x", numbers({})}}), (V{8, 8, 8}));
}

TEST(Interpret, ConditionsSkipTheirBody) {
  const std::string text = R"(program p tiled
dims N = 4
in x: f32[N]
out y: f32[N]

kernel k
  axes n < N
  grid n:2
  if n.lo > 0
    store y[n] = load x[n - 2]
  if n.lo == 0
    store y[n] = 5.0
)";
  EXPECT_EQ(out_of(text, {{"x", numbers({1, 2, 3, 4})}}), (V{5, 5, 1, 2}));
}

}  // namespace
}  // namespace quern::tile
