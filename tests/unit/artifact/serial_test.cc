// Artifacts as bytes: they come back equal, and any other bytes give nothing or an artifact, never a crash.
#include "artifact/serial.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/philox.h"

namespace quern::artifact {
namespace {

Artifact example() {
  Artifact a;
  a.name = "attention";
  a.dims = {"N"};
  a.parameters.push_back({"x", Role::kIn, ScalarType::bf16, {Size::dim(0), Size(64)}});
  a.parameters.push_back({"t", Role::kTmp, ScalarType::f32, {Size::apply(Size::Op::kMul, Size::dim(0), 3)}, true});
  a.parameters.push_back({"c", Role::kConst, ScalarType::u4, {Size(2)}, false, "\x12"});
  a.kernels.push_back({"first", std::string("\x7f\x45LF\0\1\2", 7), {"n", "d"}, true, 1000});
  a.kernels.push_back({"second", "code", {}});
  a.sites.push_back({"E803", "y", "slot[i]", {0, 7, 14}});
  a.sites.push_back({"E801", "x", "n", {0, 7, 14}, "len[m]", true, 40});
  a.remarks.push_back({"R1", "kept a check", "", {1, 2, 3}});
  a.schedule = "attention: m 48 grid";
  return a;
}

TEST(Serial, ComesBackEqual) {
  EXPECT_EQ(from_bytes(to_bytes(example())), example());
  EXPECT_EQ(from_bytes(to_bytes(Artifact{})), Artifact{});
}

TEST(Serial, IsTheSameBytesEachTime) { EXPECT_EQ(to_bytes(example()), to_bytes(example())); }

TEST(Serial, EveryCutIsRefused) {
  std::string bytes = to_bytes(example());
  for (size_t n = 0; n < bytes.size(); ++n) EXPECT_FALSE(from_bytes(bytes.substr(0, n))) << n;
  EXPECT_FALSE(from_bytes(bytes + '\0'));
}

// A changed byte is refused, or it is part of a number or text and shows in what comes back.
TEST(Serial, EveryChangedByteIsSeen) {
  std::string bytes = to_bytes(example());
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ 1 << bit);
      EXPECT_NE(from_bytes(damaged), example()) << i;
    }
  }
}

TEST(Serial, HostileBytesDontCrash) {
  for (int64_t seed = 0; seed < 2000; ++seed) {
    std::string bytes = to_bytes(example());
    for (int64_t k = 0; k < 4; ++k) {
      uint64_t r = random_bits(seed, k);
      bytes[r % bytes.size()] = static_cast<char>(r >> 24);
    }
    if (auto a = from_bytes(bytes)) {
      for (const Parameter& p : a->parameters) {
        for (const Size& s : p.shape) s.at(std::vector<int64_t>{5});
      }
    }
  }
}

TEST(Size, ComputesAsTheNotationDoes) {
  auto at = [](Size::Op op, int64_t a, int64_t b) {
    std::vector<int64_t> dims = {a, b};
    auto formula = Size::apply(op, Size::dim(0), Size::dim(1)).at(dims);
    EXPECT_EQ(formula, Size::apply(op, a, b).at({}));
    return formula;
  };
  for (int64_t a : {-7, -6, 0, 6, 7}) {
    for (int64_t b : {-3, 3}) {
      int64_t floor = *at(Size::Op::kFloorDiv, a, b);
      EXPECT_EQ(floor, static_cast<int64_t>(std::floor(static_cast<double>(a) / static_cast<double>(b))));
      EXPECT_EQ(*at(Size::Op::kCeilDiv, a, b), -*at(Size::Op::kFloorDiv, -a, b));
      EXPECT_EQ(*at(Size::Op::kMod, a, b), a - b * floor);
    }
  }
  EXPECT_EQ(at(Size::Op::kMin, 3, -4), -4);
  EXPECT_EQ(at(Size::Op::kMax, 3, -4), 3);
  EXPECT_EQ(at(Size::Op::kSub, 3, -4), 7);
}

TEST(Size, WhatHasNoValueHasNone) {
  EXPECT_FALSE(Size::apply(Size::Op::kMul, INT64_MAX, 2).at({}));
  EXPECT_FALSE(Size::apply(Size::Op::kAdd, INT64_MAX, 1).at({}));
  EXPECT_FALSE(Size::apply(Size::Op::kMod, 1, 0).at({}));
  EXPECT_FALSE(Size::apply(Size::Op::kFloorDiv, INT64_MIN, -1).at({}));
  EXPECT_FALSE(Size::dim(1).at(std::vector<int64_t>{4}));
  EXPECT_FALSE(Size::dim(-1).at(std::vector<int64_t>{4}));
  EXPECT_FALSE(Size(std::vector<Size::Step>{}).at({}));
  EXPECT_FALSE(Size(std::vector<Size::Step>{{Size::Op::kAdd, 0}}).at({}));
  EXPECT_FALSE(Size(std::vector<Size::Step>{{Size::Op::kNumber, 1}, {Size::Op::kNumber, 1}}).at({}));
}

}  // namespace
}  // namespace quern::artifact
