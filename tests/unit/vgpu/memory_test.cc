// Device memory: addresses, releases, and the shadow against plain flags.
#include "vgpu/memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <random>

namespace quern::vgpu {
namespace {

std::shared_ptr<Memory> memory() { return Memory::create().value(); }

TEST(Memory, AllocationsLieApart) {
  auto m = memory();
  std::map<uint64_t, int64_t> all;
  for (int64_t bytes : {1, 255, 256, 4096, 100000, 1 << 20, 3 << 20, 0, 7}) {
    uint64_t at = m->allocate(bytes, 256, Holds::kGlobal).value();
    EXPECT_EQ(at % 256, 0u);
    EXPECT_TRUE(m->contains(at, bytes) || bytes == 0);
    EXPECT_FALSE(m->contains(at, bytes + 1));
    EXPECT_FALSE(m->contains(at + static_cast<uint64_t>(bytes), 1));
    all[at] = bytes;
  }
  for (auto a = all.begin(); std::next(a) != all.end(); ++a) {
    EXPECT_GE(std::next(a)->first, a->first + static_cast<uint64_t>(a->second) + 256);
  }
  EXPECT_EQ(m->used(), 1 + 255 + 256 + 4096 + 100000 + (1 << 20) + (3 << 20) + 7);
}

TEST(Memory, ReleaseIsOnceAndRemembered) {
  auto m = memory();
  uint64_t a = m->allocate(1000, 256, Holds::kGlobal, "first").value();
  EXPECT_FALSE(m->release(a + 1));
  EXPECT_TRUE(m->release(a));
  EXPECT_FALSE(m->release(a));
  EXPECT_FALSE(m->contains(a, 1));
  ASSERT_TRUE(m->find(a + 999));
  EXPECT_TRUE(m->find(a + 999)->released);
  EXPECT_EQ(m->find(a + 999)->name, "first");
  EXPECT_NE(m->allocate(1000, 256, Holds::kGlobal).value(), a);  // the address is not given out again
  EXPECT_EQ(m->used(), 1000);
}

TEST(Memory, WhatWasReleasedCanBeHadAgain) {
  auto m = memory();
  uint64_t at = m->allocate(3 << 20, 256, Holds::kGlobal).value();
  m->mark_written(at, 3 << 20);
  ASSERT_TRUE(m->release(at));
  EXPECT_TRUE(m->revive(at));
  EXPECT_TRUE(m->contains(at, 3 << 20));
  EXPECT_EQ(m->first_unwritten(at, 16), at);
  std::memset(reinterpret_cast<void*>(at), 1, 3 << 20);
  EXPECT_EQ(m->used(), 3 << 20);
  EXPECT_TRUE(m->revive(at));
  EXPECT_EQ(m->used(), 3 << 20);
  EXPECT_TRUE(m->release(at));
  EXPECT_FALSE(m->revive(at + 256));
}

// As many as a cooperative grid of small blocks has on the largest chip.
TEST(Memory, SharedMemoryOfThousandsOfBlocks) {
  auto m = memory();
  uint64_t before = 0;
  for (int i = 0; i < 2112; ++i) {
    auto at = m->allocate(136, 1024, Holds::kShared, "shared memory", 0, int64_t{1} << 32);
    ASSERT_TRUE(at) << i;
    EXPECT_GE(*at - before, uint64_t{1} << 32);
    before = *at;
  }
}

TEST(Memory, OutOfMemoryIsAnError) {
  auto m = memory();
  auto none = m->allocate(int64_t{1} << 62, 256, Holds::kGlobal);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error()[0].code, Code::E951);
  EXPECT_FALSE(m->allocate(-1, 256, Holds::kGlobal));
  EXPECT_TRUE(m->allocate(16, 256, Holds::kGlobal));
}

// The shadow against a plain array of flags.
TEST(Memory, ShadowIsExactToTheByte) {
  auto m = memory();
  constexpr int64_t kBytes = 300;
  uint64_t a = m->allocate(kBytes, 256, Holds::kGlobal).value(), b = m->allocate(kBytes, 256, Holds::kGlobal).value();
  std::vector<bool> has_a(kBytes), has_b(kBytes);
  std::mt19937 random(7);
  for (int round = 0; round < 4000; ++round) {
    int64_t from = static_cast<int64_t>(random() % kBytes),
            to = from + static_cast<int64_t>(random() % static_cast<uint64_t>(kBytes - from + 1));
    int64_t at = static_cast<int64_t>(random() % static_cast<uint64_t>(kBytes - (to - from) + 1));
    switch (random() % 3) {
      case 0:
        m->mark_written(a + static_cast<uint64_t>(from), to - from);
        for (int64_t i = from; i < to; ++i) has_a[static_cast<size_t>(i)] = true;
        break;
      case 1:
        m->mark_unwritten(a + static_cast<uint64_t>(from), to - from);
        for (int64_t i = from; i < to; ++i) has_a[static_cast<size_t>(i)] = false;
        break;
      default:
        m->copy_shadow(b + static_cast<uint64_t>(at), a + static_cast<uint64_t>(from), to - from);
        for (int64_t i = 0; i < to - from; ++i)
          has_b[static_cast<size_t>(at + i)] = has_a[static_cast<size_t>(from + i)];
    }
    int64_t first = from;
    while (first < to && has_a[static_cast<size_t>(first)]) ++first;
    ASSERT_EQ(m->first_unwritten(a + static_cast<uint64_t>(from), to - from), a + static_cast<uint64_t>(first))
        << round;
    first = 0;
    while (first < kBytes && has_b[static_cast<size_t>(first)]) ++first;
    ASSERT_EQ(m->first_unwritten(b, kBytes), b + static_cast<uint64_t>(first)) << round;
  }
}

// A limit on virtual memory, as `ulimit -v` sets it.
TEST(Memory, NoAddressesAreAnError) {
  auto limited = [] {
    rlimit limit = {rlim_t{4} << 30, rlim_t{4} << 30};
    setrlimit(RLIMIT_AS, &limit);
    auto m = Memory::create();
    std::_Exit(!m && m.error()[0].code == Code::E950 ? 0 : 1);
  };
  EXPECT_EXIT(limited(), testing::ExitedWithCode(0), "");
}

TEST(Memory, TwoAtATime) {
  auto a = memory(), b = memory();
  uint64_t x = a->allocate(64, 256, Holds::kGlobal).value(), y = b->allocate(64, 256, Holds::kGlobal).value();
  EXPECT_NE(x, y);
  EXPECT_FALSE(b->contains(x, 1));
}

}  // namespace
}  // namespace quern::vgpu
