// Philox-4x32-10 against the known answers of its authors' library Random123 (tests/kat_vectors), at compile time.
#include "base/philox.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

constexpr uint32_t kAll = 0xffffffff;

static_assert(philox4x32({0, 0, 0, 0}, {0, 0}) == PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
static_assert(philox4x32({kAll, kAll, kAll, kAll}, {kAll, kAll}) ==
              PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
// Digits of pi.
static_assert(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
              PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});

TEST(Philox, RandomBitsAreTheWordsOfBlocks) {
  EXPECT_EQ(random_bits(0, 0), 0x6627e8d5u);
  EXPECT_EQ(random_bits(0, 3), 0x9b00dbd8u);
  int64_t seed = 0x299f31d0a4093822;
  for (int64_t i = 0; i < 100; ++i) {
    auto block = philox4x32({static_cast<uint32_t>(i / 4), 0, 0, 0}, {0xa4093822, 0x299f31d0});
    EXPECT_EQ(random_bits(seed, i), block[i % 4]) << i;
  }
}

TEST(Philox, TheCounterHas64Bits) {
  int64_t i = (int64_t{5} << 34) + 2;  // word 2 of block 5 * 2^32
  EXPECT_EQ(random_bits(7, i), philox4x32({0, 5, 0, 0}, {7, 0})[2]);
}

TEST(Philox, NegativeCountersAndSeedsFollowFloorDivision) {
  EXPECT_EQ(random_bits(7, -1), philox4x32({kAll, kAll, 0, 0}, {7, 0})[3]);
  EXPECT_EQ(random_bits(-1, -8), philox4x32({kAll - 1, kAll, 0, 0}, {kAll, kAll})[0]);
}

}  // namespace
}  // namespace quern
