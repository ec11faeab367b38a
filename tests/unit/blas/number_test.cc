// f16 and bf16 against the conversions of base, which go through f64.
#include "blas/number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/scalar_type.h"

namespace quern::blas {
namespace {

TEST(Number, EveryCodeWidensAndComesBack) {
  for (uint32_t code = 0; code < 0x10000; ++code) {
    Half h{static_cast<uint16_t>(code)};
    Brain b{static_cast<uint16_t>(code)};
    double half = decode_real(ScalarType::f16, code), brain = decode_real(ScalarType::bf16, code);
    if (std::isnan(half)) {
      EXPECT_TRUE(std::isnan(widen(h)));
      EXPECT_TRUE(std::isnan(widen(to_half(widen(h)))));
    } else {
      EXPECT_EQ(widen(h), half) << code;
      EXPECT_EQ(to_half(widen(h)).bits, code);
    }
    if (std::isnan(brain)) {
      EXPECT_TRUE(std::isnan(widen(b)));
      EXPECT_TRUE(std::isnan(widen(to_brain(widen(b)))));
    } else {
      EXPECT_EQ(widen(b), brain) << code;
      EXPECT_EQ(to_brain(widen(b)).bits, code);
    }
  }
}

TEST(Number, RoundsToNearestEven) {
  std::mt19937 random(1);
  auto check = [](uint32_t bits) {
    auto v = std::bit_cast<float>(bits);
    if (std::isnan(v)) return;
    ASSERT_EQ(to_half(v).bits, encode_real(ScalarType::f16, v)) << bits;
    ASSERT_EQ(to_brain(v).bits, encode_real(ScalarType::bf16, v)) << bits;
  };
  for (int i = 0; i < 300000; ++i) check(static_cast<uint32_t>(random()));
  // Around every f16: its neighbours, and halfway to the next.
  for (uint32_t code = 0; code < 0x7c00; ++code) {
    uint32_t here = std::bit_cast<uint32_t>(widen(Half{static_cast<uint16_t>(code)}));
    float next = widen(Half{static_cast<uint16_t>(code + 1)});
    uint32_t middle = std::bit_cast<uint32_t>((std::bit_cast<float>(here) + (std::isinf(next) ? 65536 : next)) / 2);
    for (uint32_t d : {0u, 1u, 2u}) check(here + d), check(middle + d - 1);
  }
}

}  // namespace
}  // namespace quern::blas
