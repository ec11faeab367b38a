// How many indices an axis has at most, where its end is data that a number limits.
#include "tile/extent.h"

#include <gtest/gtest.h>

#include "tile/parse.h"

namespace quern::tile {
namespace {

std::optional<int64_t> extent_of_n(const std::string& axis) {
  auto program = parse(Source::make("test.tile",
                                    "program p lowered\nin l: i64[4]\nin x: f32[4, 9]\nout y: f32[4]\n\nkernel p\n"
                                    "  axes m < 4, " +
                                        axis + "\n  store y[m] = sum[n](load x[m, n] if n < load l[m])\n"));
  EXPECT_TRUE(program) << render(program.error());
  return program ? extent(*program, program->kernels[0], 1) : std::nullopt;
}

TEST(Extent, IsLimitedByTheNumbersOfItsEnd) {
  EXPECT_EQ(extent_of_n("n < 7"), 7);
  EXPECT_EQ(extent_of_n("n < max[m](min(load l[m], 9))"), 9);
  EXPECT_EQ(extent_of_n("n < min(max[m](load l[m]), 9)"), 9);
  EXPECT_EQ(extent_of_n("n < max[m](load l[m])"), std::nullopt);
  EXPECT_EQ(extent_of_n("n in max[m](load l[m]) .. 9"), std::nullopt);
  EXPECT_EQ(extent_of_n("n in max(max[m](load l[m]), 0) .. 9"), 9);
}

TEST(Extent, IsLimitedByTheDistanceOfItsEnds) {
  EXPECT_EQ(extent_of_n("n in min[m](m * 2) .. min[m](m * 2) + 2"), 2);
  EXPECT_EQ(extent_of_n("n in min(9, min[m](m) * 2) .. min(9, min[m](m) * 2 + 3)"), 3);
  EXPECT_EQ(extent_of_n("n in min(9, min[m](m) * 2) .. min(8, min[m](m) * 2 + 3)"), 8);
}

// A window of 5 indices has indices beyond 5.
TEST(Extent, IsNotTheLimitOfIndices) {
  auto program = parse(Source::make("test.tile",
                                    "program p lowered\nin l: i64[4]\nin x: f32[4, 99]\nout y: f32[4]\n\nkernel p\n"
                                    "  axes m < 4, n in max[m](load l[m]) - 2 .. max[m](load l[m]) + 3\n"
                                    "  store y[m] = sum[n](load x[m, n])\n"));
  ASSERT_TRUE(program) << render(program.error());
  EXPECT_EQ(extent(*program, program->kernels[0], 1), 5);
  EXPECT_EQ(index_limit(*program, program->kernels[0], 1), 99);
}

}  // namespace
}  // namespace quern::tile
