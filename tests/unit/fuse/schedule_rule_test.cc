// The default rule: the class of a kernel, what it walks, and that its schedules are feasible whatever the sizes; and
// that schedules which don't fit are refused with a reason.
#include "fuse/schedule_rule.h"

#include <gtest/gtest.h>

#include <random>

#include "tile/parse.h"

namespace quern::fuse {
namespace {

using namespace tile;

Machine machine() {
  Machine m;
  m.vector_bytes = 64;
  m.registers = 32;
  m.near_bytes = 512 << 10;
  m.units = 2;
  m.dots = {{ScalarType::f32, ScalarType::f32, 8, 48, 1, 4, 16}};
  return m;
}

Program parsed(const std::string& text) {
  auto program = parse(Source::make("test.tile", text));
  EXPECT_TRUE(program) << render(program.error());
  return program ? *program : Program{};
}

Program product(int64_t m, int64_t n, int64_t k) {
  return parsed("program p lowered\ndims M = " + std::to_string(m) + ", N = " + std::to_string(n) +
                ", K = " + std::to_string(k) +
                "\nin a: f32[M, K]\nin b: f32[K, N]\nout c: f32[M, N]\n\nkernel p\n  axes m < M, n < N, k < K\n"
                "  store c[m, n] = dot[k](load a[m, k], load b[k, n])\n");
}

Program row_max(int64_t r, int64_t n) {
  return parsed("program p lowered\ndims R = " + std::to_string(r) + ", N = " + std::to_string(n) +
                "\nin x: f32[R, N]\nout y: f32[R, N]\n\nkernel p\n  axes r < R, n < N\n"
                "  store y[r, n] = load x[r, n] - max[n](load x[r, n])\n");
}

std::string text(const Schedule& s) { return print(s); }

TEST(ScheduleRule, ClassifiesByProperties) {
  auto kind = [](const Program& p) { return classify(p, p.kernels[0], machine()); };
  EXPECT_EQ(kind(product(64, 64, 64)), KernelClass::dot);
  EXPECT_EQ(kind(product(1, 64, 64)), KernelClass::matvec);
  EXPECT_EQ(kind(row_max(8, 64)), KernelClass::row);
  Program copy = parsed(
      "program p lowered\ndims N = 9\nin x: f32[N]\nout y: f32[N]\n\nkernel p\n  axes n < N\n"
      "  store y[n] = load x[n] * 2.0\n");
  EXPECT_EQ(kind(copy), KernelClass::map);
}

TEST(ScheduleRule, SplitsColumnsBeforeRows) {
  // Each column panel is packed once for all rows.
  EXPECT_EQ(text(default_schedule(product(1024, 1024, 1024), machine())), "p: n 256 grid; parts 1\n");
  // A narrow result has only rows to split.
  EXPECT_EQ(text(default_schedule(product(4096, 64, 64), machine())), "p: m 1024 grid; parts 1\n");
}

TEST(ScheduleRule, WalksALongSumInPieces) {
  EXPECT_EQ(text(default_schedule(product(64, 64, 4096), machine())).find("k 2048 loop") != std::string::npos, true);
}

TEST(ScheduleRule, IsFeasibleForAnySizes) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 60; ++i) {
    auto size = [&] { return std::uniform_int_distribution<int64_t>(0, int64_t{1} << (i % 14))(random); };
    for (const Program& p : {product(size(), size(), size()), row_max(size(), size())}) {
      Schedule s = default_schedule(p, machine());
      auto wrong = feasible(p, s, machine());
      ASSERT_FALSE(wrong) << wrong->message << "\n" << text(s);
    }
  }
}

Program row_sum(int64_t r, int64_t n) {
  return parsed("program p lowered\ndims R = " + std::to_string(r) + ", N = " + std::to_string(n) +
                "\nin x: f32[R, N]\nout y: f32[R]\n\nkernel p\n  axes r < R, n < N\n"
                "  store y[r] = sum[n](load x[r, n])\n");
}

TEST(ScheduleRule, SplitsWhatLeavesUnitsIdleWhereItPays) {
  Machine m = machine();
  m.flops_per_second = 1e11;
  m.far_bytes_per_second = 1e10;
  auto parts = [&](const Program& p) { return default_schedule(p, m).kernels[0].parts; };
  EXPECT_EQ(parts(row_sum(1, 1 << 20)), 4);
  EXPECT_EQ(parts(row_sum(1, 1 << 10)), 1);   // done before another unit could begin
  EXPECT_EQ(parts(row_sum(64, 1 << 20)), 1);  // a row a unit
  EXPECT_EQ(parts(row_max(1, 1 << 20)), 4);
  EXPECT_EQ(parts(product(8, 8, 1 << 20)), 4);
  EXPECT_EQ(parts(product(1024, 1024, 1 << 10)), 1);
  m.units = 1;
  EXPECT_EQ(parts(row_sum(1, 1 << 20)), 1);
}

TEST(Feasible, RefusesWithAReason) {
  Program p = row_max(8, 64);
  auto why = [&](std::vector<AxisPlan> axes, const char* kernel = "p") {
    auto wrong = feasible(p, {{KernelPlan{Symbol(kernel), std::move(axes), 1}}}, machine());
    if (!wrong) return std::string();
    EXPECT_EQ(wrong->code, Code::R4);
    return wrong->message;
  };
  Symbol r("r"), n("n");
  EXPECT_EQ(why({{r, 4, WalkKind::kGrid}}), "");
  EXPECT_EQ(why({{r, 4, WalkKind::kGrid}}, "q"), "there is no kernel q");
  EXPECT_EQ(why({{Symbol("z"), 4, WalkKind::kGrid}}), "p has no axis z");
  EXPECT_EQ(why({{n, 4, WalkKind::kGrid}}), "n can't be in the grid: a result needs all of it");
  EXPECT_EQ(why({{r, 4, WalkKind::kGrid}, {r, 2, WalkKind::kGrid}}), "r is in the grid twice, or after its loop");
  EXPECT_EQ(why({{r, 4, WalkKind::kGrid}, {r, 8, WalkKind::kLoop}}), "r is walked in steps of 4, then of 8");
  EXPECT_EQ(why({{r, 4, WalkKind::kGrid}, {r, 1, WalkKind::kLoop}}),
            "r is walked one at a time inside of longer steps");
  EXPECT_EQ(why({{r, -4, WalkKind::kGrid}}), "r has step -4");
  EXPECT_EQ(why({{n, 1, WalkKind::kLoop}}), "n is walked one at a time, and state is carried by tiles");
  EXPECT_EQ(why({{n, 8, WalkKind::kLoop}}), "n can't be walked in pieces: a result of it is needed for another");
  p = parsed(
      "program p lowered\ndims N = 40\nin x: f32[N]\nout y: f32[N]\n\nkernel p\n  axes n < N\n  scalar n\n  for n\n"
      "    carry a = 0.0\n    b = a + load x[n]\n    store y[n] = b\n    next a = b\n");
  EXPECT_EQ(why({{n, 8, WalkKind::kLoop}}), "n is walked one at a time, in order");
  EXPECT_EQ(why({{n, 0, WalkKind::kWhole}}), "");
}

}  // namespace
}  // namespace quern::fuse
