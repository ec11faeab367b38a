// Distributions by their moments and by what defines them.
#include "random/distribution.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "base/philox.h"
#include "random/sobol.h"

namespace quern::random {
namespace {

TEST(Distribution, UniformIsAboveZeroUpToOne) {
  EXPECT_GT(uniform(0), 0);
  EXPECT_EQ(uniform(UINT32_MAX), 1);
  EXPECT_EQ(uniform_double(0), 0x1p-53);
  EXPECT_EQ(uniform_double(UINT64_MAX), 1);
}

TEST(Distribution, NormalMoments) {
  constexpr int kPairs = 100000;
  double sums[5] = {}, product = 0;
  for (int i = 0; i < kPairs; ++i) {
    auto word = [&](int k) { return (random_bits(3, 2 * i + k) + 0.5) * 0x1p-32; };
    Pair p = normal_pair(word(0), word(1));
    for (double v : {p.first, p.second}) {
      for (int k = 1; k < 5; ++k) sums[k] += std::pow(v, k);
    }
    product += p.first * p.second;
  }
  double n = 2 * kPairs, bound = 5 / std::sqrt(n);
  EXPECT_NEAR(sums[1] / n, 0, bound);
  EXPECT_NEAR(sums[2] / n, 1, bound * std::sqrt(2.0));
  EXPECT_NEAR(sums[3] / n, 0, bound * std::sqrt(15.0));
  EXPECT_NEAR(sums[4] / n, 3, bound * std::sqrt(96.0));
  EXPECT_NEAR(product / kPairs, 0, 5 / std::sqrt(kPairs));
}

TEST(Distribution, QuantilesAreTheInverse) {
  for (double p = 0x1p-60; p < 1; p = p < 0.01 ? p * 3 : p + 0.01) {
    double x = normal_quantile(p);
    double back = 0.5 * std::erfc(-x / std::numbers::sqrt2);
    EXPECT_NEAR(back / p, 1, 1e-13) << p;
  }
  EXPECT_NEAR(normal_quantile(0.5), 0, 1e-16);
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-14);
  EXPECT_NEAR(normal_quantile(0x1p-33) + normal_quantile(1 - 0x1p-33), 0, 1e-9);
  EXPECT_TRUE(std::isfinite(normal_quantile(1)));
}

TEST(Distribution, PoissonIsTheInverseOfItsSums) {
  for (double mean : {0.1, 1.0, 7.5, 64.0, 700.0}) {
    Poisson table(mean);
    double below = 0, at = std::exp(-mean);
    if (at == 0) at = std::numeric_limits<double>::min();
    // In the middle of each number's interval stands that number.
    for (uint32_t k = 0; k < 20 && mean < 100; ++k) {
      if (at > 1e-10) {
        EXPECT_EQ(table.at(below + at / 2), k) << mean;
      }
      below += at;
      at *= mean / (k + 1);
    }
    constexpr int kCount = 100000;
    double sum = 0, squares = 0;
    for (int i = 0; i < kCount; ++i) {
      double v = table.at((random_bits(7, i) + 0.5) * 0x1p-32);
      sum += v, squares += (v - mean) * (v - mean);
    }
    EXPECT_NEAR(sum / kCount, mean, 5 * std::sqrt(mean / kCount));
    EXPECT_NEAR(squares / kCount, mean, 5 * std::sqrt((mean + 2 * mean * mean) / kCount));
  }
}

// The first 2^k points of each dimension hit each of 2^k equal intervals once, and so do any two of the first
// dimensions together, in boxes of some shape: what makes a sequence Sobol's.
template <class W>
void check_sobol(bool scrambled) {
  constexpr int kBits = sizeof(W) * 8, kPoints = 1 << 10;
  const auto& directions = sobol_directions<W>(scrambled);
  ASSERT_EQ(directions.size(), static_cast<size_t>(kSobolDimensions) * kBits);
  for (int d : {0, 1, 2, 3, 9, 20, 21, 50, 1000, kSobolDimensions - 1}) {
    std::vector<int> hit(kPoints);
    for (uint64_t i = 0; i < kPoints; ++i) {
      ++hit[sobol_at(directions.data() + static_cast<size_t>(d) * kBits, i) >> (kBits - 10)];
    }
    EXPECT_EQ(hit, std::vector<int>(kPoints, 1)) << d;
  }
  // Dimensions 1 and 2 together: every box of 2^-a by 2^-(10 - a).
  for (int a = 0; a <= 10; ++a) {
    std::vector<int> hit(kPoints);
    for (uint64_t i = 0; i < kPoints; ++i) {
      auto x = static_cast<uint64_t>(sobol_at(directions.data(), i));
      auto y = static_cast<uint64_t>(sobol_at(directions.data() + kBits, i));
      uint64_t row = a ? x >> (kBits - a) : 0, column = a < 10 ? y >> (kBits - 10 + a) : 0;
      ++hit[row << (10 - a) | column];
    }
    EXPECT_EQ(hit, std::vector<int>(kPoints, 1)) << a;
  }
}

TEST(Sobol, FillsEveryInterval) {
  check_sobol<uint32_t>(false);
  check_sobol<uint32_t>(true);
  check_sobol<uint64_t>(false);
  check_sobol<uint64_t>(true);
}

// Points of Joe and Kuo's first dimensions, by hand: x + 1 with m 1, x^2 + x + 1 with m 1, 3, x^3 + x + 1 with m 1,
// 3, 1.
TEST(Sobol, FirstPoints) {
  const auto& v = sobol_directions<uint32_t>(false);
  auto at = [&](size_t d, uint64_t i) { return static_cast<double>(sobol_at(v.data() + d * 32, i)) * 0x1p-32; };
  for (size_t d = 0; d < 4; ++d) EXPECT_EQ(at(d, 1), 0.5);
  EXPECT_EQ(at(0, 2), 0.75);
  EXPECT_EQ(at(1, 2), 0.25);
  EXPECT_EQ(at(2, 2), 0.25);
  EXPECT_EQ(at(0, 4), 0.375);
  EXPECT_EQ(at(1, 4), 0.375);
  EXPECT_EQ(at(2, 4), 0.625);
  EXPECT_EQ(at(3, 4), 0.875);
}

}  // namespace
}  // namespace quern::random
