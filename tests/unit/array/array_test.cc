// The array itself: sizes that overflow are refused before anything is allocated, copies share, 4-bit types pack.
#include "array/array.h"

#include <gtest/gtest.h>

#include <cmath>

#include "bad_files.h"
#include "base/text.h"

namespace quern::array {
namespace {

using enum ScalarType;

TEST(Array, IsZeroedAlignedAndShared) {
  Array a = make(f32, {3, 5}).value();
  EXPECT_EQ(a.elements(), 15);
  EXPECT_EQ(a.byte_size(), 60);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a.data()) % 64, 0u);
  for (int64_t i = 0; i < 15; ++i) EXPECT_EQ(bits_at(a, i), 0u);
  Array same = a;
  set_real(a, 7, 1.5);
  EXPECT_EQ(real_at(same, 7), 1.5);
  Array copy = clone(a).value();
  set_real(copy, 7, 2);
  EXPECT_EQ(real_at(a, 7), 1.5);
  EXPECT_FALSE(identical(a, copy));
}

TEST(Array, HasRank0EmptyDimensionsAndADefault) {
  EXPECT_EQ(make(f64, {}).value().elements(), 1);
  EXPECT_EQ(make(f64, {}).value().byte_size(), 8);
  EXPECT_EQ(make(f64, {4, 0, 3}).value().byte_size(), 0);
  EXPECT_EQ(make(u4, {4, 0}).value().byte_size(), 0);
  EXPECT_EQ(Array{}.elements(), 0);
  EXPECT_TRUE(identical(Array{}, make(f32, {0}).value()));
}

TEST(Array, RefusesShapes) {
  std::vector<int64_t> many(33, 1);
  std::string ones = "1";
  for (int i = 1; i < 33; ++i) ones += ", 1";
  EXPECT_EQ(error_of(make(f32, {2, -3})),
            "E711: a dimension of f32[2, -3] is -3: a dimension can't be negative; larger sizes");
  EXPECT_EQ(error_of(make(f32, many)),
            "E716: f32[" + ones + "] would take 33 dimensions, more than this run may use (32); fewer dimensions");
  EXPECT_EQ(error_of(make(u4, {2, 3}, "w")),
            "E512: w packs two elements a byte: its last dimension must be even, found 3; pad it by one");
  EXPECT_EQ(error_of(make(f4e2m1, {}, "w")),
            "E512: w packs two elements a byte: its last dimension must be even, found none; pad it by one");
  EXPECT_EQ(error_of(make(f64, {int64_t{1} << 60})),
            "E710: f64[1152921504606846976] overflows: dimensions and sizes have 63 bits; smaller sizes");
  EXPECT_EQ(error_of(make(i8, {int64_t{1} << 32, int64_t{1} << 31, 0})),
            "E710: i8[4294967296, 2147483648, 0] overflows: dimensions and sizes have 63 bits; smaller sizes");
  EXPECT_EQ(error_of(make(i8, {int64_t{1} << 62})),
            "E716: i8[4611686018427387904] would take 4.0 EiB, more than this run may use (" +
                human_bytes(static_cast<uint64_t>(memory_limit())) + "); smaller sizes");
}

TEST(Array, ChecksSizesExactly) {
  EXPECT_EQ(checked_byte_size(i8, std::vector<int64_t>{INT64_MAX}), INT64_MAX);
  EXPECT_EQ(checked_byte_size(i16, std::vector<int64_t>{INT64_MAX / 2}), INT64_MAX - 1);
  EXPECT_EQ(checked_byte_size(i16, std::vector<int64_t>{INT64_MAX / 2 + 1}), std::nullopt);
  EXPECT_EQ(checked_byte_size(u4, std::vector<int64_t>{INT64_MAX - 1}), INT64_MAX / 2);
  EXPECT_EQ(checked_byte_size(f64, std::vector<int64_t>{0, -1}), std::nullopt);
  EXPECT_EQ(checked_byte_size(f64, {}), 8);
}

TEST(Array, PacksTwoElementsAByte) {
  Array a = make(i4, {2, 4}).value();
  EXPECT_EQ(a.byte_size(), 4);
  for (int64_t i = 0; i < 8; ++i) set_int(a, i, i - 4);
  for (int64_t i = 0; i < 8; ++i) EXPECT_EQ(int_at(a, i), i - 4);
  EXPECT_EQ(static_cast<int>(a.data()[0]), 0xdc) << "the even element in the low half";
}

TEST(Array, ElementsConvertAsStoresDo) {
  Array a = make(f8e4m3, {3}).value();
  set_real(a, 0, 1e9);
  set_int(a, 1, 17);
  EXPECT_EQ(real_at(a, 0), 448);
  EXPECT_EQ(real_at(a, 1), 16);
  Array b = make(u8, {2}).value();
  set_real(b, 0, 300.7);
  set_int(b, 1, 257);
  EXPECT_EQ(int_at(b, 0), 255);
  EXPECT_EQ(real_at(b, 1), 1);
  Array c = make(boolean, {1}).value();
  set_real(c, 0, 0.5);
  EXPECT_EQ(real_at(c, 0), 1);
}

TEST(Array, TextsArePythonsAndTheNotations) {
  EXPECT_EQ(shape_text({}), "()");
  EXPECT_EQ(shape_text(std::vector<int64_t>{3}), "(3,)");
  EXPECT_EQ(shape_text(std::vector<int64_t>{3, 4}), "(3, 4)");
  EXPECT_EQ(type_text(boolean, {}), "bool[]");
  EXPECT_EQ(type_text(bf16, std::vector<int64_t>{3, 4}), "bf16[3, 4]");
}

}  // namespace
}  // namespace quern::array
