// Kernels split into parts: their text, what can't be split and why, and that a part may be empty. That the merge read
// off a step is the one that the derivation has is tested in derive_test.cc; that results stay the same, in
// tests/unit/place and tests/run/agreement.cc.
#include "fuse/split.h"

#include <gtest/gtest.h>

#include "fuse/merge_step.h"
#include "fuse/schedule_rule.h"
#include "fuse/tile.h"
#include "tile/parse.h"
#include "tile/print.h"
#include "tile/verify.h"

namespace quern::fuse {
namespace {

using namespace tile;

Program parsed(const std::string& kernel) {
  std::string text =
      "program p lowered\ndims M = 9, N = 40\nin x: f32[M, N]\nin y: f32[N]\nin len: i32[M]\nout z: f32[M]\n"
      "out w: f32[M, N]\n\nkernel p\n  axes m < M, n < N\n" +
      kernel;
  auto program = parse(Source::make("test.tile", text));
  EXPECT_TRUE(program) << render(program.error());
  return program ? *program : Program{};
}

const Symbol m("m"), n("n");

std::string tiled(const std::string& kernel, int64_t parts, std::vector<AxisPlan> axes = {}) {
  Program program = parsed(kernel);
  auto out = tile(program, {{KernelPlan{Symbol("p"), std::move(axes), parts}}}, Machine{});
  if (!out) return render(out.error());
  EXPECT_EQ(render(verify(*out)), "");
  std::string all = print(*out);
  return all.substr(all.find("tmp"));
}

std::string why(const std::string& kernel, int64_t parts = 2, std::vector<AxisPlan> axes = {}) {
  Program program = parsed(kernel);
  auto wrong = feasible(program, {{KernelPlan{Symbol("p"), std::move(axes), parts}}}, Machine{});
  return wrong ? wrong->message : "";
}

constexpr const char* kLse =
    "  for n:all\n    carry t = fill[m](-inf)\n    carry l = fill[m](0.0)\n"
    "    u = max(t, max[n](load x[m, n]))\n    g = finite(anchor(u))\n    c = exp(anchor(t) - g)\n"
    "    next t = u\n    next l = l * c + sum[n](exp(load x[m, n] - g))\n  store z[m] = t + log(l)\n";

TEST(Split, AStreamStoresItsStateAndTheJoinFinishes) {
  EXPECT_EQ(tiled(kLse, 3, {{m, 1, WalkKind::kGrid}, {n, 8, WalkKind::kLoop}}),
            "tmp t_parts: f32[9, 3]\n"
            "tmp l_parts: f32[9, 3]\n"
            "\n"
            "kernel p_part\n"
            "  axes part < 3, n in min(N, part * 14) .. min(N, part * 14 + 14), m < M\n"
            "  scalar part, m\n"
            "  grid m, part\n"
            "  for n:8 in min(N, part * 14) .. min(N, part * 14 + 14)\n"
            "    carry t = fill[](-inf)\n"
            "    carry l = fill[](0.0)\n"
            "    max = max[n](load x[m, n])\n"
            "    u = max(t, max)\n"
            "    g = finite(anchor(u))\n"
            "    c = exp(anchor(t) - g)\n"
            "    sum = sum[n](exp(load x[m, n] - g))\n"
            "    l_2 = l * c + sum\n"
            "    next t = u\n"
            "    next l = l_2\n"
            "  store t_parts[m, part] = t\n"
            "  store l_parts[m, part] = l\n"
            "\n"
            "kernel p_join\n"
            "  axes m < M, parts < 3\n"
            "  scalar m\n"
            "  grid m\n"
            "  t_2 = load t_parts[m, parts]\n"
            "  l_3 = load l_parts[m, parts]\n"
            "  u = max[parts](t_2)\n"
            "  g = finite(anchor(u))\n"
            "  c = exp(anchor(t_2) - g)\n"
            "  l_2 = sum[parts](l_3 * c)\n"
            "  t = u\n"
            "  l = l_2\n"
            "  store z[m] = t + log(l)\n");
}

TEST(Split, PartsMayBeEmpty) {
  std::string got = tiled(kLse, 64);
  EXPECT_NE(got.find("n in min(N, part) .. min(N, part + 1)"), std::string::npos) << got;
  EXPECT_NE(got.find("tmp t_parts: f32[64, 9]"), std::string::npos) << got;
}

TEST(Split, ASumOfProductsIsSplitByTheAxisThatIsWalked) {
  std::string got = tiled("  store z[m] = dot[n](load x[m, n], load y[n])\n", 4, {{m, 4, WalkKind::kGrid}});
  EXPECT_NE(got.find("n in part * 10 .. part * 10 + 10"), std::string::npos) << got;
  EXPECT_NE(got.find("grid m:4, part"), std::string::npos) << got;
  EXPECT_NE(got.find("dot = sum[parts](load dot_parts[m, parts])"), std::string::npos) << got;
}

TEST(Split, WhatNeedsAResultIsOneMoreRoundAndStoresAlongTheAxisAreInPieces) {
  std::string got = tiled(
      "  a = max[n](load x[m, n])\n  b = sum[n](exp(load x[m, n] - a))\n"
      "  store w[m, n] = exp(load x[m, n] - a) / b\n  store z[m] = b\n",
      2);
  for (const char* kernel : {"kernel p_part\n", "kernel p_part_2\n", "kernel p_join\n", "kernel p_map\n"}) {
    EXPECT_NE(got.find(kernel), std::string::npos) << got;
  }
  EXPECT_NE(got.find("grid n:20\n"), std::string::npos) << got;
  EXPECT_LT(got.find("store z[m]"), got.find("store w[m, n]")) << got;
}

TEST(Split, ARangeThatDataEndIsSplitAsLongAsItIs) {
  Program program = parsed("  store z[m] = sum[n](load x[m, n] if n < i64(load len[m]) else 0.0)\n");
  program.kernels[0].axes[1].hi =
      reduce(Op::kMax, AxisSet::of(0), cast(ScalarType::i64, load(2, ScalarType::i32, {axis(0)})));
  Schedule schedule = {{KernelPlan{Symbol("p"), {{m, 1, WalkKind::kGrid}}, 2}}};
  auto out = tile(program, schedule, Machine{});
  ASSERT_TRUE(out) << render(out.error());
  EXPECT_EQ(render(verify(*out)), "");
  std::string got = print(*out);
  EXPECT_NE(got.find("(max(i64(load len[m]), 0) + 1) // 2"), std::string::npos) << got;
}

TEST(Split, SaysWhatCantBeSplit) {
  EXPECT_EQ(why("  store w[m, n] = load x[m, n]\n"), "nothing is reduced, so there is nothing to split into parts");
  EXPECT_EQ(why(kLse, 65537), "p is split into 65537 parts: 1 to 65536");
  EXPECT_EQ(why(kLse, 65536), "");
  // A state that each step multiplies is no sum of states.
  EXPECT_EQ(why("  for n:all\n    carry t = fill[m](1.0)\n    next t = (t + sum[n](load x[m, n])) * 0.5\n"
                "  store z[m] = t\n"),
            "n: t is not what was carried joined with what the tile adds");
  EXPECT_EQ(why("  for n:all\n    carry t = fill[m](0.0)\n    next t = t + sum[n](load x[m, n])\n  store z[m] = t\n"),
            "");
  EXPECT_EQ(why("  for n\n    carry t = fill[m](0.0)\n    next t = t + load x[m, n]\n  store z[m] = t\n"),
            "n is walked one at a time, in order");
}

}  // namespace
}  // namespace quern::fuse
