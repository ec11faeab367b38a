// Memory that functions take of the stack, against the same functions here.
#include <vector>

#include "device.h"

namespace quern::vgpu {
namespace {

class Stack : public testing::Test {
 protected:
  Device d{"tests/unit/vgpu/kernels/stack.ptx"};
};

int turned(int n, const std::vector<int>& x) {
  int sum = 0;
  for (int i = n - 1; i >= 0; --i) sum = sum * 3 + x[static_cast<size_t>(i)] * 2;
  return sum;
}

TEST_F(Stack, LanesTakeWhatTheyNeedAndGiveItBack) {
  std::vector<int> x = {3, 1, 4, 1, 5, 9, 2, 6};
  // Many rounds: what isn't given back would fill the stack.
  for (int rounds : {1, 5, 5000}) {
    uint64_t out = d.allocate(40 * 4);
    auto fault = d.run("own", {1, 1, 1}, {40, 1, 1}, Device::pack(out, d.copy(x), rounds));
    ASSERT_FALSE(fault) << render(*fault);
    auto got = d.read<int>(out, 40);
    for (int t = 0; t < 40; ++t) {
      int sum = 0;
      for (int r = 0; r < rounds; ++r) sum += turned(t % 5 + r % 3, x);
      for (int i = 0; i <= t; ++i) sum += (t - i) * i;
      EXPECT_EQ(got[static_cast<size_t>(t)], sum) << t << " of " << rounds;
    }
  }
}

unsigned levels(int n, const std::vector<unsigned>& above) {
  std::vector<unsigned> p;
  for (int i = 0; i <= n; ++i) p.push_back(static_cast<unsigned>(n * 100 + i));
  unsigned got = n ? levels(n - 1, p) : 0;
  for (size_t i = 0; i < p.size(); ++i) got = got * 5 + p[i] + above[i];
  return got;
}

TEST_F(Stack, FunctionsThatCallThemselvesTakeMemoryToo) {
  uint64_t out = d.allocate(64 * 4);
  auto fault = d.run("recursion", {1, 1, 1}, {64, 1, 1}, Device::pack(out, 9));
  ASSERT_FALSE(fault) << render(*fault);
  auto got = d.read<unsigned>(out, 64);
  for (unsigned t = 0; t < 64; ++t) {
    std::vector<unsigned> first;
    for (unsigned i = 0; i < 16; ++i) first.push_back(i * t);
    EXPECT_EQ(got[t], levels(static_cast<int>(t % 9), first)) << t;
  }
}

TEST_F(Stack, OnlySoMuchIsThere) {
  uint64_t out = d.copy(std::vector<int>{0});
  EXPECT_FALSE(d.run("takes", {1, 1, 1}, {1, 1, 1}, Device::pack(out, uint64_t{1024})));
  EXPECT_EQ(d.read<int>(out, 1)[0], 1);
  for (uint64_t bytes : {uint64_t{1} << 20, uint64_t{1} << 40, uint64_t{1} << 63, UINT64_MAX - 8, UINT64_MAX}) {
    auto fault = d.run("takes", {1, 1, 1}, {1, 1, 1}, Device::pack(out, bytes));
    ASSERT_TRUE(fault) << bytes;
    EXPECT_EQ(fault->kind, FaultKind::kStack) << bytes;
    EXPECT_EQ(fault->instruction, "alloca");
  }
}

TEST_F(Stack, ReadsOfWhatNothingWroteAreFound) {
  uint64_t out = d.copy(std::vector<int>{0});
  EXPECT_FALSE(d.run("past_the_end", {1, 1, 1}, {1, 1, 1}, Device::pack(out, 0)));
  auto fault = d.run("past_the_end", {1, 1, 1}, {1, 1, 1}, Device::pack(out, 3));
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::kUninitialised);
  fault = d.run("past_the_end", {1, 1, 1}, {1, 1, 1}, Device::pack(out, 1 << 20));
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::kOutOfBounds);
}

}  // namespace
}  // namespace quern::vgpu
