// What tile() makes of small programs: grids, scalars, sums in pieces, and ranges cut at masks. That results stay the
// same is tested in tests/unit/place.
#include "fuse/tile.h"

#include <gtest/gtest.h>

#include "tile/parse.h"
#include "tile/print.h"

namespace quern::fuse {
namespace {

using namespace tile;

std::string tiled(const std::string& kernel, std::vector<AxisPlan> axes) {
  std::string text =
      "program p lowered\ndims M = 9, N = 40\nin x: f32[M, N]\nin y: f32[N]\nout z: f32[M]\n\nkernel p\n" + kernel;
  auto program = parse(Source::make("test.tile", text));
  EXPECT_TRUE(program) << render(program.error());
  if (!program) return "";
  auto out = tile(*program, {{KernelPlan{Symbol("p"), std::move(axes), 1}}}, Machine{});
  if (!out) return render(out.error());
  EXPECT_EQ(out->stage, Stage::kTiled);
  std::string all = print(*out);
  return all.substr(all.find("kernel p\n") + 9);
}

const Symbol m("m"), n("n");

TEST(Tile, NamesReductionsAndMakesScalars) {
  EXPECT_EQ(tiled("  axes m < M, n < N\n  store z[m] = sum[n](load x[m, n]) * 2.0\n", {{m, 1, WalkKind::kGrid}}),
            "  axes m < M, n < N\n  scalar m\n  grid m\n  sum = sum[n](load x[m, n])\n  store z[m] = sum * 2.0\n");
}

TEST(Tile, WalksASumInPieces) {
  EXPECT_EQ(tiled("  axes m < M, n < N\n  store z[m] = dot[n](load x[m, n], load y[n])\n",
                  {{m, 4, WalkKind::kGrid}, {n, 16, WalkKind::kLoop}}),
            "  axes m < M, n < N\n"
            "  grid m:4\n"
            "  for n:16\n"
            "    carry dot_2 = fill[m](0.0)\n"
            "    dot_3 = dot[n](load x[m, n], load y[n], dot_2)\n"
            "    next dot_2 = dot_3\n"
            "  store z[m] = dot_2\n");
}

const std::string kStream =
    "    s = load x[m, n] if MASK else -inf\n"
    "    next a = max(a, max[n](s))\n"
    "  store z[m] = a\n";

std::string streamed(const std::string& mask, int64_t step, int64_t rows) {
  std::string body = kStream;
  body.replace(body.find("MASK"), 4, mask);
  return tiled("  axes m < M, n < N\n  for n:all\n    carry a = fill[m](-inf)\n" + body,
               {{m, rows, WalkKind::kGrid}, {n, step, WalkKind::kLoop}});
}

size_t count(const std::string& text, const std::string& part) {
  size_t out = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++out;
  return out;
}

TEST(Tile, CutsACausalRange) {
  std::string got = streamed("n <= m + 3", 8, 4);
  EXPECT_EQ(count(got, "for n:8"), 2u) << got;
  // The full tiles come first and have no mask.
  EXPECT_EQ(count(got, "-inf if"), 0u) << got;
  EXPECT_EQ(count(got, " if n <= m + 3 else -inf"), 1u) << got;
  EXPECT_NE(got.find("min(N, m.hi + 3)"), std::string::npos) << got;
  EXPECT_LT(got.find("for n:8 in 0"), got.find(" if n <= m + 3")) << got;
}

TEST(Tile, AMaskThatIsTheSameForAllRowsOnlyEndsTheRange) {
  std::string got = streamed("n < 17", 8, 4);
  EXPECT_EQ(count(got, "for n:8"), 1u) << got;
  EXPECT_EQ(count(got, " if n"), 0u) << got;
  EXPECT_NE(got.find("17"), std::string::npos) << got;
}

TEST(Tile, ARowAtATimeHasASharpEdge) {
  std::string got = streamed("n <= m + 3", 8, 1);
  EXPECT_EQ(count(got, "for n:8"), 1u) << got;
  EXPECT_EQ(count(got, " if n"), 0u) << got;
}

TEST(Tile, CutsAWindowInThree) {
  std::string got = streamed("n <= m + 3 and n > m - 2", 8, 4);
  EXPECT_EQ(count(got, "for n:8"), 3u) << got;
  EXPECT_EQ(count(got, "n <= m + 3 and n > m - 2"), 1u) << got;
}

TEST(Tile, MasksThatLeaveSomethingToSumAreVisited) {
  // Where the mask is false the elements count as 1.
  std::string body =
      "  axes m < M, n < N\n  for n:all\n    carry a = fill[m](0.0)\n"
      "    s = load x[m, n] if n <= m else 1.0\n    next a = a + sum[n](s)\n  store z[m] = a\n";
  std::string got = tiled(body, {{m, 4, WalkKind::kGrid}, {n, 8, WalkKind::kLoop}});
  EXPECT_EQ(count(got, "for n:8"), 2u) << got;
  EXPECT_EQ(count(got, ".. N"), 1u) << got;
}

TEST(Tile, RefusesWhatIsNotFeasible) {
  EXPECT_NE(tiled("  axes m < M, n < N\n  store z[m] = sum[n](load x[m, n])\n", {{n, 4, WalkKind::kGrid}}).find("E745"),
            std::string::npos);
}

}  // namespace
}  // namespace quern::fuse
