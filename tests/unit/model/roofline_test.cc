// The slower of computing and moving is the time; without rates there is none.
#include "model/roofline.h"

#include <gtest/gtest.h>

namespace quern::model {
namespace {

TEST(Roofline, TheSlowerOfTheTwoBinds) {
  chip::Chip c;
  c.flops = {100, "here"};
  EXPECT_FALSE(roofline({1, 1}, c));
  c.bandwidth = {10, "here"};
  auto computing = roofline({1000, 50}, c), memory = roofline({1000, 200}, c);
  EXPECT_EQ(computing->seconds, 10);
  EXPECT_EQ(computing->bound, Bound::kComputing);
  EXPECT_EQ(memory->seconds, 20);
  EXPECT_EQ(memory->bound, Bound::kMemory);
}

}  // namespace
}  // namespace quern::model
