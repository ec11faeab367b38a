// Measured rates are of this world: no machine is a thousand times faster or slower, and one thread isn't faster than
// two by more than noise.
#include "device/cpu/peak.h"

#include <gtest/gtest.h>

namespace quern::device::cpu {
namespace {

TEST(Peak, IsOfThisWorld) {
  Peak one = measure_peak(1, 0.02), two = measure_peak(2, 0.02);
  for (const Peak& p : {one, two}) {
    EXPECT_GT(p.flops, 1e8);
    EXPECT_LT(p.flops, 1e13);
    EXPECT_GT(p.bandwidth, 1e8);
    EXPECT_LT(p.bandwidth, 1e12);
  }
}

}  // namespace
}  // namespace quern::device::cpu
