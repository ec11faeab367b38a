// Conversions of element types against slow definitions, for every code of the formats of 4, 8 and 16 bits.
//
// The definition of rounding: a number goes to the nearest value of the format, and from the middle between two to the
// one whose code is even. So it is enough to look at each pair of neighbours: at both, at their middle, and right
// beside the middle. Doubles have room for all of these exactly.
#include "base/scalar_type.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace quern {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<ScalarType> small_reals() {
  return {ScalarType::f16, ScalarType::bf16, ScalarType::f8e4m3, ScalarType::f8e5m2, ScalarType::f4e2m1};
}

uint64_t codes(ScalarType type) { return uint64_t{1} << row(type).bits; }
uint64_t sign(ScalarType type) { return codes(type) / 2; }

TEST(ScalarType, ValuesAreThoseOfTheirSpecifications) {
  using enum ScalarType;
  // OCP OFP8 rev 1.0, tables 1 and 2; OCP MX v1.0, section 5.3; IEEE 754 binary16; bfloat16.
  EXPECT_EQ(decode_real(f8e4m3, 0x7e), 448);
  EXPECT_EQ(decode_real(f8e4m3, 0x08), 0x1p-6);
  EXPECT_EQ(decode_real(f8e4m3, 0x07), 0.875 * 0x1p-6);
  EXPECT_EQ(decode_real(f8e4m3, 0x01), 0x1p-9);
  EXPECT_TRUE(std::isnan(decode_real(f8e4m3, 0x7f)));
  EXPECT_TRUE(std::isnan(decode_real(f8e4m3, 0xff)));
  EXPECT_EQ(decode_real(f8e5m2, 0x7b), 57344);
  EXPECT_EQ(decode_real(f8e5m2, 0x01), 0x1p-16);
  EXPECT_EQ(decode_real(f8e5m2, 0x7c), kInf);
  EXPECT_EQ(decode_real(f8e5m2, 0xfc), -kInf);
  const double fp4[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (uint64_t i = 0; i < 8; ++i) {
    EXPECT_EQ(decode_real(f4e2m1, i), fp4[i]);
    EXPECT_EQ(decode_real(f4e2m1, 8 + i), -fp4[i]);
  }
  EXPECT_EQ(decode_real(f16, 0x7bff), 65504);
  EXPECT_EQ(decode_real(f16, 0x0001), 0x1p-24);
  EXPECT_EQ(decode_real(f16, 0x7c00), kInf);
  EXPECT_EQ(decode_real(f16, 0x3555), 0.333251953125);
}

TEST(ScalarType, Bf16IsTheUpperHalfOfF32AndE5m2OfF16) {
  for (uint64_t b = 0; b < 0x10000; ++b) {
    float wide = std::bit_cast<float>(static_cast<uint32_t>(b << 16));
    double value = decode_real(ScalarType::bf16, b);
    EXPECT_TRUE(std::isnan(wide) ? std::isnan(value) : wide == value) << b;
  }
  for (uint64_t b = 0; b < 0x100; ++b) {
    double wide = decode_real(ScalarType::f16, b << 8), value = decode_real(ScalarType::f8e5m2, b);
    EXPECT_TRUE(std::isnan(wide) ? std::isnan(value) : wide == value) << b;
  }
}

TEST(ScalarType, F16HasItsFormula) {
  for (uint64_t b = 0; b < 0x7c00; ++b) {
    int exponent = static_cast<int>(b >> 10);
    double mantissa = static_cast<double>(b & 1023) / 1024;
    double value = exponent == 0 ? mantissa * std::pow(2, -14) : (1 + mantissa) * std::pow(2, exponent - 15);
    ASSERT_EQ(decode_real(ScalarType::f16, b), value) << b;
    ASSERT_EQ(decode_real(ScalarType::f16, 0x8000 | b), -value) << b;
  }
}

TEST(ScalarType, EveryFiniteCodeSurvivesDecodeAndEncode) {
  for (ScalarType type : small_reals()) {
    for (uint64_t b = 0; b < codes(type); ++b) {
      double value = decode_real(type, b);
      uint64_t back = encode_real(type, value);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(decode_real(type, back))) << name(type) << " " << b;
      } else if (std::isinf(value) && type == ScalarType::f8e5m2) {
        EXPECT_EQ(back, (b & 0x80) | 0x7b);  // 8-bit formats saturate, also from their own infinity
      } else {
        EXPECT_EQ(back, b) << name(type);
      }
    }
  }
}

TEST(ScalarType, RoundsToNearestAndTiesToEven) {
  for (ScalarType type : small_reals()) {
    for (uint64_t b = 0; b + 1 < sign(type); ++b) {
      double low = decode_real(type, b), high = decode_real(type, b + 1);
      if (!std::isfinite(low) || !std::isfinite(high)) continue;
      double middle = low + (high - low) / 2;
      uint64_t even = b % 2 == 0 ? b : b + 1;
      for (uint64_t s : {uint64_t{0}, sign(type)}) {
        double minus = s ? -1 : 1;
        ASSERT_EQ(encode_real(type, minus * middle), s | even) << name(type) << " " << b;
        ASSERT_EQ(encode_real(type, minus * std::nextafter(middle, 0)), s | b) << name(type) << " " << b;
        ASSERT_EQ(encode_real(type, minus * std::nextafter(middle, kInf)), s | (b + 1)) << name(type) << " " << b;
        ASSERT_EQ(encode_real(type, minus * std::nextafter(high, 0)), s | (b + 1)) << name(type) << " " << b;
        ASSERT_EQ(encode_real(type, minus * std::nextafter(low, kInf)), s | b) << name(type) << " " << b;
      }
    }
  }
}

TEST(ScalarType, LargeNumbersOverflowIn16BitsAndSaturateIn8And4) {
  using enum ScalarType;
  EXPECT_EQ(encode_real(f16, 65519.999), 0x7bffu);
  EXPECT_EQ(encode_real(f16, 65520), 0x7c00u);  // the middle to 65536, whose code would be even
  EXPECT_EQ(encode_real(f16, -1e300), 0xfc00u);
  EXPECT_EQ(encode_real(f16, -kInf), 0xfc00u);
  EXPECT_EQ(encode_real(bf16, 0x1.fep127), 0x7f7fu);
  EXPECT_EQ(encode_real(bf16, 0x1.ffp127), 0x7f80u);
  EXPECT_EQ(encode_real(bf16, std::nextafter(0x1.ffp127, 0)), 0x7f7fu);
  EXPECT_EQ(encode_real(f32, 1e300), 0x7f800000u);
  for (double huge : {464.0, 465.0, 1e9, 1e300, kInf}) {
    EXPECT_EQ(encode_real(f8e4m3, huge), 0x7eu) << huge;
    EXPECT_EQ(encode_real(f8e4m3, -huge), 0xfeu) << huge;
  }
  for (double huge : {61440.0, 65536.0, 1e300, kInf}) {
    EXPECT_EQ(encode_real(f8e5m2, huge), 0x7bu) << huge;
    EXPECT_EQ(encode_real(f8e5m2, -huge), 0xfbu) << huge;
  }
  for (double huge : {5.5, 7.0, 8.0, 1e300, kInf}) {
    EXPECT_EQ(encode_real(f4e2m1, huge), 7u) << huge;
    EXPECT_EQ(encode_real(f4e2m1, -huge), 15u) << huge;
  }
}

TEST(ScalarType, NanZeroAndTheLeastNumbers) {
  for (ScalarType type : small_reals()) {
    EXPECT_EQ(encode_real(type, 0.0), 0u);
    EXPECT_EQ(encode_real(type, -0.0), sign(type)) << "the sign of zero stays";
    EXPECT_EQ(encode_real(type, 1e-320), 0u);
    EXPECT_EQ(encode_real(type, -1e-320), sign(type));
    if (type == ScalarType::f4e2m1) {
      EXPECT_EQ(encode_real(type, kNan), 7u) << "no NaN in this format";
    } else {
      EXPECT_TRUE(std::isnan(round_to(type, kNan))) << name(type);
      EXPECT_TRUE(std::isnan(round_to(type, -kNan))) << name(type);
    }
  }
}

TEST(ScalarType, F8e8m0IsAPowerOfTwo) {
  constexpr ScalarType t = ScalarType::f8e8m0;
  for (uint64_t b = 0; b < 255; ++b) {
    double value = std::pow(2, static_cast<double>(b) - 127);
    EXPECT_EQ(decode_real(t, b), value);
    EXPECT_EQ(encode_real(t, value), b);
    if (b == 254) continue;
    EXPECT_EQ(encode_real(t, 1.5 * value), b % 2 == 0 ? b : b + 1) << "the middle goes to the even code";
    EXPECT_EQ(encode_real(t, std::nextafter(1.5 * value, 0)), b);
    EXPECT_EQ(encode_real(t, std::nextafter(1.5 * value, kInf)), b + 1);
  }
  EXPECT_TRUE(std::isnan(decode_real(t, 255)));
  EXPECT_EQ(encode_real(t, kNan), 255u);
  EXPECT_EQ(encode_real(t, kInf), 254u);
  EXPECT_EQ(encode_real(t, 1e300), 254u);
  for (double small : {0.0, -0.0, -1.0, -kInf, 1e-300, 5e-324}) EXPECT_EQ(encode_real(t, small), 0u) << small;
}

TEST(ScalarType, IntegersKeepTheirLowBits) {
  for (const TypeRow& r : type_rows()) {
    if (r.kind != Kind::kInt || r.bits > 16) continue;
    int64_t span = int64_t{1} << r.bits;
    for (int64_t v = -2 * span; v < 2 * span; ++v) {
      int64_t wrapped = ((v % span) + span) % span;
      if (wrapped > greatest_int(r.type)) wrapped -= span;
      ASSERT_EQ(wrap_to(r.type, v), wrapped) << r.name << " " << v;
      ASSERT_EQ(decode_int(r.type, encode_int(r.type, v)), wrapped) << r.name << " " << v;
    }
  }
  EXPECT_EQ(wrap_to(ScalarType::i64, INT64_MIN), INT64_MIN);
  EXPECT_EQ(wrap_to(ScalarType::u32, -1), 0xffffffff);
  EXPECT_EQ(wrap_to(ScalarType::i32, int64_t{1} << 31), -(int64_t{1} << 31));
  EXPECT_EQ(decode_int(ScalarType::boolean, 2), 1);
  EXPECT_EQ(encode_int(ScalarType::boolean, -7), 1u);
}

TEST(ScalarType, RealToIntegerTruncatesAndSaturates) {
  for (const TypeRow& r : type_rows()) {
    if (r.kind != Kind::kInt) continue;
    EXPECT_EQ(truncate_to(r.type, 1e30), greatest_int(r.type)) << r.name;
    EXPECT_EQ(truncate_to(r.type, kInf), greatest_int(r.type)) << r.name;
    EXPECT_EQ(truncate_to(r.type, -1e30), least_int(r.type)) << r.name;
    EXPECT_EQ(truncate_to(r.type, -kInf), least_int(r.type)) << r.name;
    EXPECT_EQ(truncate_to(r.type, kNan), 0) << r.name;
    EXPECT_EQ(truncate_to(r.type, 2.999), 2) << r.name;
    EXPECT_EQ(truncate_to(r.type, -0.999), 0) << r.name;
    EXPECT_EQ(truncate_to(r.type, -2.999), least_int(r.type) < 0 ? -2 : 0) << r.name;
  }
  EXPECT_EQ(truncate_to(ScalarType::i64, 0x1p63), INT64_MAX);
  EXPECT_EQ(truncate_to(ScalarType::i64, std::nextafter(0x1p63, 0)), INT64_MAX - 1023);
  EXPECT_EQ(truncate_to(ScalarType::i64, -0x1p63), INT64_MIN);
  EXPECT_EQ(truncate_to(ScalarType::u32, 4294967295.5), 4294967295);
}

TEST(ScalarType, BoolIsWhetherNotZero) {
  for (double v : {0.25, -0.25, 7.0, kInf, kNan}) EXPECT_EQ(truncate_to(ScalarType::boolean, v), 1) << v;
  EXPECT_EQ(truncate_to(ScalarType::boolean, -0.0), 0);
}

TEST(ScalarType, RoundoffBoundsHold) {
  for (ScalarType type : small_reals()) {
    EXPECT_EQ(round_to(type, largest(type)), largest(type)) << name(type);
    for (uint64_t b = 0; b + 1 < sign(type); ++b) {
      double low = decode_real(type, b), high = decode_real(type, b + 1);
      if (!std::isfinite(low) || !std::isfinite(high)) continue;
      double middle = low + (high - low) / 2;
      double error = std::fabs(round_to(type, middle) - middle);
      ASSERT_LE(error, std::max(unit_roundoff(type) * middle, underflow_error(type))) << name(type) << " " << b;
    }
  }
}

TEST(ScalarType, PackedMemoryHoldsTheEvenElementInTheLowHalf) {
  for (const TypeRow& r : type_rows()) {
    unsigned char memory[9 * 8 + 1] = {};
    unsigned char* odd = memory + 1;  // elements may lie at any address
    uint64_t mask = r.bits == 64 ? ~uint64_t{0} : (uint64_t{1} << r.bits) - 1;
    auto pattern = [&](int64_t i) { return (0x9E3779B97F4A7C15 * static_cast<uint64_t>(i + 1)) & mask; };
    for (int64_t i : {3, 0, 7, 1, 2, 5, 6, 4}) store_bits(r.type, odd, i, pattern(i));
    for (int64_t i = 0; i < 8; ++i) EXPECT_EQ(load_bits(r.type, odd, i), pattern(i)) << r.name << " " << i;
    if (r.bits == 4) {
      EXPECT_EQ(odd[0], pattern(0) | pattern(1) << 4);
    }
    EXPECT_EQ(odd[byte_size(r.type, 8)], 0) << "nothing behind the elements is touched";
  }
}

TEST(ScalarType, NamesParseBack) {
  for (const TypeRow& r : type_rows()) EXPECT_EQ(parse_type(r.name), r.type);
  EXPECT_EQ(parse_type("boolean"), std::nullopt);
  EXPECT_EQ(parse_type("F32"), std::nullopt);
  EXPECT_EQ(parse_type(""), std::nullopt);
}

}  // namespace
}  // namespace quern
