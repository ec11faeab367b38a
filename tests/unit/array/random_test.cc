// Random arrays: the same on every machine, independent of each other, and fit for what a kernel does with them.
#include "array/random.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "array/normal.h"
#include "bad_files.h"

namespace quern::array {
namespace {

using enum ScalarType;

std::vector<int64_t> ints(const Array& a) {
  std::vector<int64_t> out(static_cast<size_t>(a.elements()));
  for (size_t i = 0; i < out.size(); ++i) out[i] = int_at(a, static_cast<int64_t>(i));
  return out;
}

Array draw(ScalarType type, std::vector<int64_t> shape, const Fill& fill, uint64_t seed = 1,
           std::string_view name = "x") {
  return random_array(type, std::move(shape), seed, name, fill).value();
}

std::string refused(ScalarType type, std::vector<int64_t> shape, const Fill& fill) {
  return error_of(random_array(type, std::move(shape), 1, "x", fill));
}

// FNV-1a of all bytes: what follows from it is that no byte of any machine's array differs.
uint64_t fingerprint(const Array& a) {
  uint64_t hash = 0xCBF29CE484222325;
  for (int64_t i = 0; i < a.byte_size(); ++i) hash = (hash ^ static_cast<uint64_t>(a.data()[i])) * 0x100000001B3;
  return hash;
}

TEST(Normal, IsTheInverseOfTheDistribution) {
  EXPECT_EQ(normal_quantile(0.5), 0);
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-15);
  EXPECT_NEAR(normal_quantile(0.001), -3.090232306167813, 1e-14);
  EXPECT_NEAR(normal_quantile(1e-10), -6.361340902404056, 1e-14);
  EXPECT_NEAR(normal_quantile(1e-20), -9.262340089798408, 1e-13);
  for (double p = 0x1p-33; p < 0.5; p = p * 1.37 + 1e-5) {
    double x = normal_quantile(p);
    EXPECT_NEAR(0.5 * std::erfc(-x / std::sqrt(2)) / p, 1, 1e-13) << p;
    EXPECT_NEAR(normal_quantile(1 - p), -x, 1e-6) << p;
  }
  EXPECT_EQ(normal_from_word(0), -normal_from_word(0xffffffff));
  EXPECT_LT(std::fabs(normal_from_word(0)), 6.34);
  EXPECT_NE(normal_from_word(0x80000000), 0);
}

TEST(Random, IsTheSameOnEveryMachine) {
  EXPECT_EQ(fingerprint(draw(f64, {1000}, {})), 0xa7f7bec58bc0c1bau);
  EXPECT_EQ(fingerprint(draw(bf16, {1000}, {})), 0x1d13e1ca7c2b34aau);
  EXPECT_EQ(fingerprint(draw(i32, {1000}, {Fill::kUniformInt, -5, 100})), 0x4f8c23379e677233u);
  EXPECT_EQ(fingerprint(draw(i32, {1000}, {Fill::kDistinct, 0, 700})), 0x415a94c83fec2621u);
  EXPECT_EQ(fingerprint(draw(i32, {10, 100}, {Fill::kSortedStarts, 0, 700})), 0x7891d33aef0de51du);
  EXPECT_EQ(fingerprint(draw(i32, {1000}, {Fill::kLengths, 0, 700})), 0x7b35c0b53dfbec96u);
}

TEST(Random, DependsOnSeedAndNameAlone) {
  Array a = draw(f32, {100}, {});
  EXPECT_TRUE(identical(a, draw(f32, {100}, {})));
  EXPECT_FALSE(identical(a, draw(f32, {100}, {}, 2)));
  EXPECT_FALSE(identical(a, draw(f32, {100}, {}, 1, "y")));
  Array longer = draw(f32, {200}, {});
  for (int64_t i = 0; i < 100; ++i) EXPECT_EQ(bits_at(a, i), bits_at(longer, i)) << "a larger array begins alike";
}

TEST(Random, NormalsHaveTheirMomentsAndNoCorrelation) {
  constexpr int64_t n = 100'000;
  Array a = draw(f64, {n}, {}), b = draw(f64, {n}, {}, 1, "y");
  double sum = 0, square = 0, fourth = 0, next = 0, other = 0;
  for (int64_t i = 0; i < n; ++i) {
    double x = real_at(a, i);
    sum += x;
    square += x * x;
    fourth += x * x * x * x;
    if (i > 0) next += x * real_at(a, i - 1);
    other += x * real_at(b, i);
  }
  double sigma = 1 / std::sqrt(n);  // of each mean below, times 1, sqrt(2), sqrt(96), 1, 1
  EXPECT_NEAR(sum / n, 0, 5 * sigma);
  EXPECT_NEAR(square / n, 1, 5 * 1.42 * sigma);
  EXPECT_NEAR(fourth / n, 3, 5 * 9.8 * sigma);
  EXPECT_NEAR(next / n, 0, 5 * sigma);
  EXPECT_NEAR(other / n, 0, 5 * sigma);
}

TEST(Random, EveryTypeHasADefaultThatFits) {
  for (const TypeRow& r : type_rows()) {
    Array a = draw(r.type, {4, 500}, default_fill(r.type));
    std::set<double> values;
    for (int64_t i = 0; i < a.elements(); ++i) {
      ASSERT_TRUE(std::isfinite(real_at(a, i))) << r.name;
      values.insert(real_at(a, i));
    }
    EXPECT_GE(values.size(), r.kind == Kind::kBool ? 2u : 6u) << r.name;
    if (r.kind == Kind::kInt && r.bits <= 8) {
      EXPECT_EQ(*values.begin(), static_cast<double>(least_int(r.type))) << r.name;
      EXPECT_EQ(*values.rbegin(), static_cast<double>(greatest_int(r.type))) << r.name;
    }
  }
  Array scales = draw(f8e8m0, {1000}, {});
  for (int64_t i = 0; i < 1000; ++i) {
    EXPECT_GE(real_at(scales, i), 1.0 / 64);
    EXPECT_LE(real_at(scales, i), 64);
  }
}

TEST(Random, UniformIntegersStayInTheirBoundsAndReachThem) {
  for (ScalarType t : {i32, i64, u8, i4, f32, bf16}) {
    int64_t hi = t == i4 ? 7 : 13;
    std::vector<int64_t> seen(20);
    Array a = draw(t, {2000}, {Fill::kUniformInt, -3, hi});
    int64_t lo = t == u8 ? 0 : -3;
    for (int64_t i = 0; i < 2000; ++i) {
      auto v = static_cast<int64_t>(real_at(a, i));
      ASSERT_GE(v, lo) << name(t);
      ASSERT_LT(v, hi) << name(t);
      ++seen[static_cast<size_t>(v + 3)];
    }
    double expected = 2000.0 / static_cast<double>(hi - lo);
    for (int64_t v = lo; v < hi; ++v) EXPECT_NEAR(static_cast<double>(seen[v + 3]), expected, 6 * std::sqrt(expected));
  }
  std::vector<int64_t> wide = ints(draw(i64, {1000}, {Fill::kUniformInt, INT64_MIN, INT64_MAX}));
  EXPECT_TRUE(std::any_of(wide.begin(), wide.end(), [](int64_t v) { return v < -(int64_t{1} << 62); }));
  EXPECT_TRUE(std::any_of(wide.begin(), wide.end(), [](int64_t v) { return v > int64_t{1} << 62; }));
}

TEST(Random, LengthsIncludeEmptyAndFullRows) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    for (int64_t n : {2, 3, 10}) {
      std::vector<int64_t> v = ints(draw(i32, {n}, {Fill::kLengths, 0, 40}, seed));
      EXPECT_EQ(*std::min_element(v.begin(), v.end()), 0);
      EXPECT_EQ(*std::max_element(v.begin(), v.end()), 40);
    }
    int64_t one = ints(draw(i32, {1}, {Fill::kLengths, 2, 5}, seed))[0];
    EXPECT_TRUE(one >= 2 && one <= 5);
  }
  EXPECT_EQ(ints(draw(i32, {3}, {Fill::kLengths, 7, 7})), (std::vector<int64_t>{7, 7, 7}));
}

TEST(Random, StartsRiseFromTheFirstToTheLastWithEmptyRanges) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    for (int64_t n : {2, 3, 9}) {
      std::vector<int64_t> all = ints(draw(i32, {4, n}, {Fill::kSortedStarts, 5, 60}, seed));
      for (int64_t r = 0; r < 4; ++r) {
        std::vector<int64_t> v(all.begin() + r * n, all.begin() + (r + 1) * n);
        EXPECT_EQ(v.front(), 5);
        EXPECT_EQ(v.back(), 60);
        EXPECT_TRUE(std::is_sorted(v.begin(), v.end()));
        if (n > 2) {
          EXPECT_NE(std::adjacent_find(v.begin(), v.end()), v.end());
        }
      }
    }
  }
  EXPECT_EQ(ints(draw(i32, {1}, {Fill::kSortedStarts, 5, 60})), std::vector<int64_t>{5});
  EXPECT_EQ(ints(draw(i32, {}, {Fill::kSortedStarts, 5, 60})), std::vector<int64_t>{5});
}

TEST(Random, DistinctNumbersAreASubsetOrAllWithGaps) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    std::vector<int64_t> few = ints(draw(i32, {2, 5}, {Fill::kDistinct, 3, 20}, seed));
    EXPECT_EQ(std::set(few.begin(), few.end()).size(), 10u);
    for (int64_t v : few) EXPECT_TRUE(v >= 3 && v < 20);
    std::vector<int64_t> all = ints(draw(i32, {17}, {Fill::kDistinct, 3, 20}, seed));
    std::sort(all.begin(), all.end());
    for (int64_t i = 0; i < 17; ++i) EXPECT_EQ(all[i], 3 + i);
    std::vector<int64_t> gaps = ints(draw(i64, {30}, {Fill::kDistinct, 3, 20}, seed));
    EXPECT_EQ(std::count(gaps.begin(), gaps.end(), -1), 13);
    EXPECT_EQ(std::set(gaps.begin(), gaps.end()).size(), 18u);
  }
  std::vector<int64_t> wide = ints(draw(i64, {1000}, {Fill::kDistinct, 0, INT64_MAX}));
  EXPECT_EQ(std::set(wide.begin(), wide.end()).size(), 1000u);
  // Each of the six orders of three numbers, about equally often.
  std::map<std::vector<int64_t>, int> orders;
  for (uint64_t seed = 0; seed < 600; ++seed) ++orders[ints(draw(u8, {3}, {Fill::kDistinct, 0, 3}, seed))];
  ASSERT_EQ(orders.size(), 6u);
  for (const auto& [order, times] : orders) EXPECT_NEAR(times, 100, 50);
}

TEST(Random, ConstantsAndBools) {
  EXPECT_EQ(ints(draw(u4, {4}, {Fill::kConstant, 9})), (std::vector<int64_t>{9, 9, 9, 9}));
  EXPECT_EQ(real_at(draw(f16, {2}, {Fill::kConstant, 0, 0, 0.1}), 1), round_to(f16, 0.1));
  std::vector<int64_t> flips = ints(draw(boolean, {1000}, {Fill::kBool}));
  EXPECT_NEAR(static_cast<double>(std::accumulate(flips.begin(), flips.end(), int64_t{0})), 500, 100);
  EXPECT_EQ(real_at(draw(f32, {1}, {Fill::kNormal, 0, 0, 0}), 0), 0);
  EXPECT_EQ(real_at(draw(f32, {1}, {Fill::kNormal, 0, 0, 0, 7}), 0), 7);
}

TEST(Random, WhatCantBeDrawn) {
  EXPECT_EQ(refused(i32, {4}, {Fill::kUniformInt, 3, 3}),
            "E732: can't draw x: i32[4]: no i32 is in [3, 3); give other bounds");
  EXPECT_EQ(refused(u8, {4}, {Fill::kUniformInt, 300, 400}),
            "E732: can't draw x: u8[4]: no u8 is in [300, 400); give other bounds");
  EXPECT_EQ(refused(u8, {4}, {Fill::kDistinct, INT64_MIN, INT64_MIN}),
            "E732: can't draw x: u8[4]: no u8 is in [-9223372036854775808, -9223372036854775808); give other bounds");
  EXPECT_EQ(refused(i32, {4}, {Fill::kLengths, 5, 3}),
            "E732: can't draw x: i32[4]: [5, 3] is empty; give other bounds");
  EXPECT_EQ(refused(i8, {4}, {Fill::kSortedStarts, 0, 200}),
            "E732: can't draw x: i8[4]: i8 does not hold all of [0, 200]; give other bounds");
  EXPECT_EQ(refused(u32, {4}, {Fill::kDistinct, 0, 3}),
            "E732: can't draw x: u32[4]: there are 4 entries for 3 numbers, and u32 has no -1; give other bounds");
  EXPECT_EQ(refused(boolean, {4}, {}), "E732: can't draw x: bool[4]: a bool is not a number; give other bounds");
  EXPECT_EQ(refused(u8, {4}, {Fill::kConstant, -1}),
            "E732: can't draw x: u8[4]: u8 does not hold -1; give other bounds");
  EXPECT_EQ(refused(u4, {3}, {}),
            "E512: x packs two elements a byte: its last dimension must be even, found 3; pad it by one");
  EXPECT_EQ(refused(i32, {0}, {Fill::kUniformInt, 3, 3}), "") << "nothing has to be drawn";
}

// Hostile numbers stand among the normals of the same seed.
TEST(Random, HostileNumbers) {
  for (ScalarType type : {f64, f32, bf16, f16, f8e4m3, f8e5m2, f8e8m0, f4e2m1}) {
    Array plain = draw(type, {4000}, {Fill::kNormal}), masked = draw(type, {4000}, {Fill::kMasked}),
          special = draw(type, {4000}, {Fill::kSpecial});
    int same_masked = 0, same_special = 0;
    for (int64_t i = 0; i < 4000; ++i) {
      same_masked += real_at(masked, i) == real_at(plain, i);
      same_special += real_at(special, i) == real_at(plain, i);
    }
    EXPECT_GT(same_masked, 2600) << name(type);
    EXPECT_GT(same_special, 2600) << name(type);
    if (row(type).bits < 16) continue;
    EXPECT_LT(same_masked, 3000) << name(type);
    int minus = 0, plus = 0, nan = 0, zero = 0;
    for (int64_t i = 0; i < 4000; ++i) {
      double m = real_at(masked, i), s = real_at(special, i);
      EXPECT_TRUE(m == real_at(plain, i) || (std::isinf(m) && m < 0));
      minus += std::isinf(s) && s < 0;
      plus += std::isinf(s) && s > 0;
      nan += std::isnan(s);
      zero += s == 0;
    }
    for (int count : {minus, plus, nan, zero}) EXPECT_GT(count, 60) << name(type);
  }
}

}  // namespace
}  // namespace quern::array
