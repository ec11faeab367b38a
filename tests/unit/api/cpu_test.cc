// Running compiled kernels on memory of the caller: any strides and alignment, in place, in several threads, with sizes
// that change from call to call. The interpreter runs the same calls and must agree.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

#include "quern/module.h"

namespace quern {
namespace {

using Floats = std::vector<float>;

Program on(const Device& device, const std::string& text, Options options = {}) {
  auto module = parse(text);
  EXPECT_TRUE(module) << module.error().text();
  options.cache = false;
  auto program = module->kernels().front().compile(device, options);
  EXPECT_TRUE(program) << program.error().text();
  return *program;
}
Program compiled(const std::string& text, const Options& options = {}) {
  return on(Device::named("cpu"), text, options);
}

Outcome ran(const Program& program, const Arguments& arguments) {
  auto run = program.run(arguments);
  EXPECT_TRUE(run) << run.error().text();
  return run ? *run : Outcome{};
}

constexpr char kMatmul[] = "kernel matmul(a: T[M, K], b: T[K, N]) -> c: T[M, N] { c[m, n] = sum[k] a[m, k] * b[k, n] }";
constexpr char kDouble[] = "kernel double(x: f32[N]) -> y: f32[N] { y[n] = 2 * x[n] }";
constexpr char kCopy[] = "kernel f(x: f32[M, N]) -> y: f32[M, N] { y[m, n] = x[m, n] }";
const Floats a = {1, 2, 3, 4, 5, 6}, b = {1, 0, 0, 1, 1, 1};

TEST(Cpu, Matmul) {
  Outcome run =
      ran(compiled(kMatmul),
          Arguments().tensor("a", std::span<const float>(a), {2, 3}).tensor("b", std::span<const float>(b), {3, 2}));
  ASSERT_EQ(run.outputs.size(), 1u);
  EXPECT_EQ(run.outputs[0].values<float>(), (Floats{4, 5, 10, 11}));
  EXPECT_TRUE(run.outputs[0].bound.empty());
  EXPECT_TRUE(run.findings.empty());
}

TEST(Cpu, SizesThatChangeBetweenCalls) {
  Program program = compiled(kMatmul), slow = on(Device::interpreter(), kMatmul);
  for (int64_t n : {5, 1, 0, 17, 5, 64, 33}) {
    Floats x(static_cast<size_t>(n * n)), y(x.size());
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7), y[i] = static_cast<float>(i % 5) - 2;
    Arguments arguments;
    arguments.tensor("a", std::span<const float>(x), {n, n}).tensor("b", std::span<const float>(y), {n, n});
    // Small whole numbers: exact in any order.
    EXPECT_EQ(ran(program, arguments).outputs[0].values<float>(), ran(slow, arguments).outputs[0].values<float>());
  }
}

TEST(Cpu, TransposedReversedAndBroadcastViews) {
  Program program = compiled(kCopy);
  auto values = [&](ConstView view) { return ran(program, Arguments().tensor("x", view)).outputs[0].values<float>(); };
  EXPECT_EQ(values({a.data(), f32, {3, 2}, {1, 3}}), (Floats{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(values({a.data() + 5, f32, {1, 6}, {0, -1}}), (Floats{6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(values({a.data(), f32, {2, 3}, {0, 2}}), (Floats{1, 3, 5, 1, 3, 5}));
}

TEST(Cpu, MisalignedMemoryOnBothSides) {
  std::vector<char> x(1 + sizeof(float) * 6), y(3 + sizeof(float) * 6, 7);
  std::memcpy(x.data() + 1, a.data(), sizeof(float) * 6);
  ran(compiled(kDouble),
      Arguments().tensor("x", ConstView{x.data() + 1, f32, {6}}).output("y", View{y.data() + 3, f32, {6}}));
  Floats got(6);
  std::memcpy(got.data(), y.data() + 3, sizeof(float) * 6);
  EXPECT_EQ(got, (Floats{2, 4, 6, 8, 10, 12}));
  EXPECT_EQ(y[2], 7);
}

TEST(Cpu, OutputsGoWhereTheCallerSays) {
  Floats strided(12, -1), plain(6, -1);
  Program program = compiled(kDouble);
  Arguments x;
  x.tensor("x", std::span<const float>(a), {6});
  ran(program, Arguments(x).output("y", View{strided.data() + 10, f32, {6}, {-2}}));
  EXPECT_EQ(strided, (Floats{12, -1, 10, -1, 8, -1, 6, -1, 4, -1, 2, -1}));
  Outcome run = ran(program, Arguments(x).output("y", std::span(plain), {6}));
  EXPECT_EQ(plain, (Floats{2, 4, 6, 8, 10, 12}));
  EXPECT_EQ(run.outputs[0].values<float>(), plain);
  // Only there.
  Options there;
  there.copy_outputs = false;
  plain.assign(6, -1);
  run = ran(compiled(kDouble, there), Arguments(x).output("y", std::span(plain), {6}));
  EXPECT_EQ(plain, (Floats{2, 4, 6, 8, 10, 12}));
  EXPECT_TRUE(run.outputs[0].data.empty());
  EXPECT_EQ(ran(compiled(kDouble, there), x).outputs[0].values<float>(), plain);
}

TEST(Cpu, InoutInPlaceAndElsewhere) {
  Program program = compiled("kernel f(x: f32[N], inout y: f32[N], alpha: f32 = 1) { y[n] = y[n] + alpha * x[n] }");
  Floats y(6, 1), z(6, 0);
  Arguments x;
  x.tensor("x", std::span<const float>(a), {6});
  ran(program, Arguments(x).output("y", std::span(y), {6}).scalar("alpha", 10));
  EXPECT_EQ(y, (Floats{11, 21, 31, 41, 51, 61}));
  Outcome run = ran(program, Arguments(x).tensor("y", std::span<const float>(y), {6}));
  EXPECT_EQ(y[0], 11);
  EXPECT_EQ(run.outputs[0].values<float>()[0], 12);
  run = ran(program,
            Arguments(x).tensor("y", std::span<const float>(y), {6}).output("y", View{z.data() + 5, f32, {6}, {-1}}));
  EXPECT_EQ(z, (Floats{67, 56, 45, 34, 23, 12}));
}

TEST(Cpu, NotANumberAndInfinity) {
  float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  Floats x = {nan, inf, -inf, 0, -0.0f, 1e38f};
  Floats got =
      ran(compiled(kDouble), Arguments().tensor("x", std::span<const float>(x), {6})).outputs[0].values<float>();
  EXPECT_TRUE(std::isnan(got[0]));
  EXPECT_EQ(got[1], inf);
  EXPECT_EQ(got[2], -inf);
  EXPECT_TRUE(std::signbit(got[4]));
  EXPECT_EQ(got[5], 2e38f);
}

TEST(Cpu, FindingsAreTheInterpreters) {
  constexpr char kGather[] = "kernel g(id: i32[N], t: f32[V]) -> y: f32[N] { y[n] = t[id[n]] }";
  std::vector<int32_t> id = {0, 1, 9, -1};
  Arguments arguments;
  arguments.tensor("id", std::span<const int32_t>(id), {4}).tensor("t", std::span<const float>(a), {6});
  Outcome fast = ran(compiled(kGather), arguments), slow = ran(on(Device::interpreter(), kGather), arguments);
  ASSERT_EQ(fast.findings.size(), 1u);
  EXPECT_EQ(fast.findings.text(), slow.findings.text());
  EXPECT_EQ(fast.outputs[0].values<float>(), (Floats{1, 2, 0, 0}));
}

TEST(Cpu, ErrorsOfTheCallComeBeforeAnythingRuns) {
  Floats y(6, -1);
  auto run = compiled(kDouble).run(Arguments()
                                       .tensor("x", std::span<const float>(a), {6})
                                       .output("y", View{const_cast<float*>(a.data()), f32, {6}}));
  ASSERT_FALSE(run);
  EXPECT_TRUE(run.error().has("E708"));
  EXPECT_EQ(a[0], 1);
  EXPECT_FALSE(compiled(kDouble).run(Arguments()));
}

TEST(Cpu, RunsInSeveralThreadsAtOnce) {
  Program program = compiled(kMatmul);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 10; ++round) {
        int64_t n = 8 + 4 * ((t + round) % 3);  // three forms, made by whoever comes first
        Floats x(static_cast<size_t>(n * n), static_cast<float>(t + 1)), one(x.size(), 1);
        auto run = program.run(Arguments()
                                   .tensor("a", std::span<const float>(x), {n, n})
                                   .tensor("b", std::span<const float>(one), {n, n}));
        if (!run) {
          ++wrong;
          continue;
        }
        for (float v : run->outputs[0].values<float>()) wrong += v != static_cast<float>(n * (t + 1));
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Cpu, StartsWithoutWaiting) {
  Program program = compiled(kDouble);
  Floats y(6), z(6);
  Arguments x;
  x.tensor("x", std::span<const float>(a), {6});
  auto first = program.start(Arguments(x).output("y", std::span(y), {6}));
  auto second = program.start(Arguments(x).output("y", std::span(z), {6}));
  ASSERT_TRUE(second.get());
  ASSERT_TRUE(first.get());
  EXPECT_EQ(y, (Floats{2, 4, 6, 8, 10, 12}));
  EXPECT_EQ(z, y);
  EXPECT_FALSE(program.start(Arguments()).get());
}

}  // namespace
}  // namespace quern
