// Generators: spread evenly, bits and neighbours independent, seeds apart, and a skip is as good as so many draws.
#include "random/engine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace quern::random {
namespace {

constexpr Kind kKinds[] = {Kind::kXorwow, Kind::kMrg32k3a, Kind::kPhilox, Kind::kMt19937};
constexpr size_t kCount = 1 << 18;

std::vector<uint32_t> draw(Kind kind, uint64_t seed, size_t count = kCount) {
  std::vector<uint32_t> out(count);
  make_engine(kind, seed)->draw(out);
  return out;
}

// Correlation of what is spread evenly over 32-bit words.
double correlation(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b, size_t lag) {
  double sum = 0;
  size_t n = a.size() - lag;
  for (size_t i = 0; i < n; ++i) {
    sum += (static_cast<double>(a[i]) * 0x1p-32 - 0.5) * (static_cast<double>(b[i + lag]) * 0x1p-32 - 0.5);
  }
  return sum * 12 / static_cast<double>(n);
}

// Each bound is five standard deviations or more.
const double kBound = 5 / std::sqrt(static_cast<double>(kCount));

TEST(Engine, SpreadEvenly) {
  for (Kind kind : kKinds) {
    auto words = draw(kind, 1234);
    // 256 bins by the high bits: chi squared has mean 255 and variance 510.
    std::vector<int> bins(256), low(256);
    std::vector<int> bits(32);
    for (uint32_t w : words) {
      ++bins[w >> 24], ++low[w & 255];
      for (size_t b = 0; b < 32; ++b) bits[b] += static_cast<int>(w >> b & 1);
    }
    for (const auto* all : {&bins, &low}) {
      double chi = 0, each = kCount / 256.0;
      for (int n : *all) chi += (n - each) * (n - each) / each;
      EXPECT_LT(std::fabs(chi - 255), 5 * std::sqrt(510.0)) << static_cast<int>(kind);
    }
    for (size_t b = 0; b < 32; ++b) EXPECT_LT(std::fabs(bits[b] - kCount / 2.0) / kCount, kBound) << b;
  }
}

TEST(Engine, NeighboursAndSeedsAreIndependent) {
  for (Kind kind : kKinds) {
    auto one = draw(kind, 1), two = draw(kind, 2);
    for (size_t lag : {1, 2, 3, 4, 5, 100}) EXPECT_LT(std::fabs(correlation(one, one, lag)), kBound) << lag;
    for (size_t lag : {0, 1}) EXPECT_LT(std::fabs(correlation(one, two, lag)), kBound);
    EXPECT_NE(one, two);
    EXPECT_EQ(one, draw(kind, 1));
    EXPECT_NE(one, draw(kind, 1 + (uint64_t{1} << 32)));
  }
}

TEST(Engine, SkippingIsDrawing) {
  for (Kind kind : kKinds) {
    auto whole = draw(kind, 5, 70000);
    for (uint64_t skipped : {0, 1, 2, 3, 4, 7, 64, 65537}) {
      auto engine = make_engine(kind, 5);
      if (kind == Kind::kMt19937) {
        EXPECT_FALSE(engine->skip(skipped));
        continue;
      }
      std::vector<uint32_t> first(3), rest(100);
      engine->draw(first);
      ASSERT_TRUE(engine->skip(skipped));
      engine->draw(rest);
      auto from = whole.begin() + 3 + static_cast<int64_t>(skipped);
      EXPECT_EQ(rest, std::vector<uint32_t>(from, from + 100)) << static_cast<int>(kind) << " " << skipped;
    }
  }
  // Far ones in two ways.
  for (Kind kind : {Kind::kXorwow, Kind::kMrg32k3a, Kind::kPhilox}) {
    auto once = make_engine(kind, 9), twice = make_engine(kind, 9);
    once->skip(uint64_t{3} << 60);
    for (int i = 0; i < 3; ++i) twice->skip(uint64_t{1} << 60);
    std::vector<uint32_t> a(10), b(10);
    once->draw(a);
    twice->draw(b);
    EXPECT_EQ(a, b);
  }
}

}  // namespace
}  // namespace quern::random
