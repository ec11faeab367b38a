// .safetensors: the reference implementation's bytes, and every rule of the format that a hostile header can break.
#include "array/safetensors.h"

#include "bad_files.h"
#include "base/philox.h"

namespace quern::array {
namespace {

using enum ScalarType;

std::string parsed(std::string_view bytes, const Wanted& as = {}) {
  return error_of(parse_safetensors(memory(bytes), "s", as));
}

// Why a header of this JSON over `bytes` bytes of data is refused.
std::string of(std::string_view json, size_t bytes = 0) { return parsed(safetensors(json, std::string(bytes, 'd'))); }

std::string entry(std::string_view name, std::string_view dtype, std::string_view shape, std::string_view offsets) {
  return "\"" + std::string(name) + "\":{\"dtype\":\"" + std::string(dtype) + "\",\"shape\":" + std::string(shape) +
         ",\"data_offsets\":" + std::string(offsets) + "}";
}

std::string not_one(std::string_view why) { return "E721: 's' is not a .safetensors file: " + std::string(why); }

class Safe : public InFolder {};

TEST_F(Safe, WritesTheBytesOfTheReferenceImplementation) {
  // safetensors.numpy.save({'b': numpy.zeros((2, 3), 'f4'), 'a"\u00e9\n/\x7f': numpy.zeros((), 'u1')}, {'k': 'v'}),
  // 0.8.0
  std::string json =
      "{\"__metadata__\":{\"k\":\"v\"},\"b\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
      "\"a\\\"\xc3\xa9\\n/\x7f\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[24,25]}} ";
  std::vector<Named> arrays = {{"a\"\xc3\xa9\n/\x7f", make(u8, {}).value()}, {"b", make(f32, {2, 3}).value()}};
  ASSERT_EQ(error_of(write_safetensors(path("a.safetensors"), arrays, {{"k", "v"}})), "");
  EXPECT_EQ(contents(path("a.safetensors")), safetensors(json, std::string(25, '\0')));
  auto back = read_safetensors(path("a.safetensors"));
  ASSERT_EQ(error_of(back), "");
  EXPECT_EQ(back->metadata, (std::map<std::string, std::string>{{"k", "v"}}));
  EXPECT_EQ(back->arrays[1].name, arrays[0].name);
  ASSERT_EQ(error_of(write_safetensors(path("a.safetensors"), {})), "");
  EXPECT_EQ(contents(path("a.safetensors")), safetensors("{}      ", ""));
  EXPECT_EQ(read_safetensors(path("a.safetensors")).value().arrays.size(), 0u);
}

TEST_F(Safe, EveryTypeComesBack) {
  std::vector<Named> arrays;
  for (const TypeRow& r : type_rows()) {
    for (uint64_t seed = 0; seed < 5; ++seed) {
      arrays.push_back(
          {std::string(r.name) + "." + std::to_string(seed), any_array(r.type, any_shape(r.type, seed), seed)});
    }
  }
  ASSERT_EQ(error_of(write_safetensors(path("a.safetensors"), arrays)), "");
  auto as = [](std::string_view name) { return parse_type(name.substr(0, name.find('.'))); };
  auto back = read_safetensors(path("a.safetensors"), as);
  ASSERT_EQ(error_of(back), "");
  ASSERT_EQ(back->arrays.size(), arrays.size());
  for (const Named& n : arrays) {
    auto one = read_safetensors_array(path("a.safetensors"), n.name, as(n.name));
    ASSERT_EQ(error_of(one), "");
    EXPECT_TRUE(identical(*one, n.array)) << n.name;
    if (row(n.array.type).bits >= 8 && one->elements() > 0) {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(one->data()) % static_cast<uint64_t>(row(n.array.type).bits / 8), 0u);
    }
  }
  ASSERT_EQ(error_of(write_safetensors(path("b.safetensors"), back->arrays)), "");
  EXPECT_EQ(contents(path("a.safetensors")), contents(path("b.safetensors"))) << "whatever the order they are given in";
}

TEST_F(Safe, WhatCantBeReadOrWritten) {
  EXPECT_EQ(error_of(read_safetensors(path("no"))), "E720: can't read '" + path("no") + "': No such file or directory");
  EXPECT_EQ(error_of(read_safetensors(folder_)), "E720: can't read '" + folder_ + "': it is a directory");
  std::string old = file("a.safetensors", "old"), cant = "E730: can't write '" + old + "': ";
  EXPECT_EQ(error_of(write_safetensors(old, {{"x", make(f32, {0}).value()}, {"x", make(u8, {0}).value()}})),
            cant + "array 'x' occurs twice");
  EXPECT_EQ(error_of(write_safetensors(old, {{"\xff", Array{}}})), cant + "array '\\xff': its name is not UTF-8");
  EXPECT_EQ(error_of(write_safetensors(old, {{"__metadata__", Array{}}})),
            cant + "array '__metadata__': the name is reserved");
  EXPECT_EQ(error_of(write_safetensors(old, {}, {{"k", "\xff"}})), cant + "metadata 'k' is not UTF-8");
  EXPECT_EQ(contents(old), "old");
}

TEST(SafeData, MayLieAtAnyAddress) {
  std::string bytes =
      safetensors("{" + entry("a", "U8", "[1]", "[0,1]") + "," + entry("b", "F32", "[2]", "[1,9]") + "}",
                  std::string("x") + little(0x3f800000, 4) + little(0x40000000, 4));
  Array b = parse_safetensors_array(memory(bytes), "s", "b").value();
  EXPECT_EQ(real_at(b, 0), 1);
  EXPECT_EQ(real_at(b, 1), 2);
}

TEST(SafeData, EveryPrefixIsTruncated) {
  std::string json = "{" + entry("a", "F32", "[2]", "[0,8]") + "}", good = safetensors(json, "01234567");
  ASSERT_EQ(parsed(good), "");
  for (size_t n = 0; n < good.size(); ++n) {
    size_t want = n < 8 ? 8 : n < 8 + json.size() ? 8 + json.size() : good.size();
    EXPECT_EQ(parsed(good.substr(0, n)), "E722: 's' is truncated: " + std::to_string(want) + " bytes expected, " +
                                             std::to_string(n) + " found; copy it again");
  }
  EXPECT_EQ(parsed(good + "zz"), "E728: 's': 2 bytes follow the last array");
}

TEST(SafeHeader, ItsLengthIsCapped) {
  EXPECT_EQ(parsed(little(100'000'000, 8)), "E722: 's' is truncated: 100000008 bytes expected, 8 found; copy it again");
  EXPECT_EQ(parsed(little(100'000'001, 8)),
            not_one("its header would have 100000001 bytes, at most 100000000 are allowed"));
  EXPECT_EQ(parsed(little(UINT64_MAX, 8)),
            not_one("its header would have 18446744073709551615 bytes, at most 100000000 are allowed"));
}

TEST(SafeHeader, IsJsonOfThisFormAndNothingElse) {
  EXPECT_EQ(of(""), not_one("its header does not begin with {"));
  EXPECT_EQ(of(" {}"), not_one("its header does not begin with {"));
  EXPECT_EQ(of("\xef\xbb\xbf{}"), not_one("its header does not begin with {"));
  EXPECT_EQ(of("{} \n\t "), "");
  EXPECT_EQ(of("{"), not_one("its header is not JSON (at byte 2 of it)"));
  EXPECT_EQ(of("{}{}"), not_one("its header is not JSON (at byte 3 of it)"));
  EXPECT_EQ(of("{\"a\":1,}"), not_one("'a' is 1, not an object"));
  EXPECT_EQ(of("{/**/}"), not_one("its header is not JSON (at byte 2 of it)"));
  EXPECT_EQ(of("{\"\xff\":{}}"), not_one("its header is not JSON (at byte 3 of it)"));
  EXPECT_EQ(of(std::string_view("{}\0\0", 4)), not_one("its header holds a zero byte"));
  EXPECT_EQ(of("{\"a\":[]}"), not_one("'a' is an array, not an object"));
  EXPECT_EQ(of("{\"a\":null}"), not_one("'a' is null, not an object"));
  EXPECT_EQ(of("{\"a\":{}}"), not_one("'a' has no 'dtype'"));
  EXPECT_EQ(of("{\"a\":{\"dtype\":\"F32\"}}"), not_one("'a' has no 'shape'"));
  EXPECT_EQ(of("{\"a\":{\"dtype\":\"F32\",\"shape\":[]}}"), not_one("'a' has no 'data_offsets'"));
  EXPECT_EQ(of("{\"a\":{\"dtype\":1}}"), not_one("'a': dtype is 1, not a string"));
  EXPECT_EQ(of("{\"a\":{\"dtype\":[]}}"), not_one("'a': dtype is an array, not a string"));
  EXPECT_EQ(of("{\"a\":{\"shape\":\"x\"}}"), not_one("'a': shape is 'x', not an array"));
  EXPECT_EQ(of("{\"a\":{\"shape\":{}}}"), not_one("'a': shape is an object, not an array"));
  EXPECT_EQ(of("{\"a\":{\"order\":\"F\"}}"), not_one("'a' has an unknown key 'order'"));
  EXPECT_EQ(of("{\"a\\u001b\":true}"), not_one("'a\\x1b' is true, not an object"));
}

TEST(SafeHeader, NestingBombsStopAtTheFourthLevel) {
  std::string deep(10'000'000, '[');
  EXPECT_EQ(of("{\"a\":{\"shape\":" + deep), not_one("'a': shape holds an array, not a dimension of at most 63 bits"));
  EXPECT_EQ(of("{\"a\":" + deep), not_one("'a' is an array, not an object"));
  EXPECT_EQ(of("{\"__metadata__\":{\"k\":" + deep), not_one("'__metadata__': 'k' is an array, not a string"));
}

TEST(SafeHeader, NothingOccursTwice) {
  std::string a = entry("a", "U8", "[0]", "[0,0]");
  EXPECT_EQ(of("{" + a + "," + a + "}"), not_one("'a' occurs twice"));
  EXPECT_EQ(of("{" + a + "," + entry("\\u0061", "U8", "[0]", "[0,0]") + "}"), not_one("'a' occurs twice"));
  EXPECT_EQ(of("{\"a\":{\"dtype\":\"U8\",\"dtype\":\"F32\"}}"), not_one("'dtype' occurs twice in 'a'"));
  EXPECT_EQ(of("{\"__metadata__\":{\"k\":\"\",\"k\":\"\"}}"), not_one("'k' occurs twice in '__metadata__'"));
  EXPECT_EQ(of("{\"__metadata__\":{},\"__metadata__\":{}}"), not_one("'__metadata__' occurs twice"));
}

TEST(SafeHeader, MetadataMapsStringsToStrings) {
  EXPECT_EQ(of("{\"__metadata__\":{}}"), "");
  EXPECT_EQ(of("{\"__metadata__\":\"x\"}"), not_one("'__metadata__' is 'x', not an object"));
  EXPECT_EQ(of("{\"__metadata__\":{\"k\":1}}"), not_one("'__metadata__': 'k' is 1, not a string"));
  EXPECT_EQ(of("{\"__metadata__\":{\"k\":{}}}"), not_one("'__metadata__': 'k' is an object, not a string"));
}

TEST(SafeHeader, ShapesAreWholeNumbers) {
  auto shape = [](std::string_view s) { return of("{" + entry("a", "F64", s, "[0,0]") + "}"); };
  std::string holds = "'a': shape holds ", end = ", not a dimension of at most 63 bits";
  EXPECT_EQ(shape("[-1]"), not_one(holds + "-1" + end));
  EXPECT_EQ(shape("[1.0]"), not_one(holds + "1.0" + end));
  EXPECT_EQ(shape("[1e3]"), not_one(holds + "1e3" + end));
  EXPECT_EQ(shape("[18446744073709551616]"), not_one(holds + "18446744073709551616" + end));
  EXPECT_EQ(shape("[\"1\"]"), not_one(holds + "'1'" + end));
  EXPECT_EQ(shape("[9223372036854775808]"), "E726: 's:a' has a shape that overflows: (9223372036854775808,)");
  EXPECT_EQ(shape("[4294967296,2147483648,0]"), "E726: 's:a' has a shape that overflows: (4294967296, 2147483648, 0)");
  std::string ones = "[1";
  for (int i = 1; i < 33; ++i) ones += ",1";
  EXPECT_EQ(shape(ones + "]"), "E728: 's:a': it has 33 dimensions, at most 32 are supported");
}

TEST(SafeHeader, OffsetsAreARangeAndAsLongAsTheShape) {
  auto offsets = [](std::string_view o) { return of("{" + entry("a", "F32", "[2]", o) + "}", 8); };
  EXPECT_EQ(offsets("[0,8]"), "");
  EXPECT_EQ(offsets("[0,7]"), "E728: 's:a': its shape takes 8 bytes, its data_offsets span 7");
  EXPECT_EQ(offsets("[0,12]"), "E728: 's:a': its shape takes 8 bytes, its data_offsets span 12");
  EXPECT_EQ(offsets("[8,0]"), "E728: 's:a': its data_offsets 8 to 0 are not a range");
  EXPECT_EQ(offsets("[18446744073709551608,18446744073709551615]"),
            "E728: 's:a': its data_offsets 18446744073709551608 to 18446744073709551615 are not a range");
  for (std::string bad : {"[]", "[0]", "[0,4,8]", "[0,-1]", "[0,8.0]", "[[0,8]]", "[\"0\",8]"}) {
    EXPECT_EQ(offsets(bad), not_one("'a': data_offsets are not two numbers")) << bad;
  }
  EXPECT_EQ(of("{" + entry("a", "U8", "[9223372036854775807]", "[0,9223372036854775807]") + "}"),
            "E722: 's' is truncated: 9223372036854775904 bytes expected, 97 found; copy it again");
}

TEST(SafeHeader, ArraysNeitherOverlapNorLeaveHoles) {
  auto two = [](std::string_view first, std::string_view second) {
    return of("{" + entry("a", "U8", "[4]", first) + "," + entry("b", "U8", "[4]", second) + "}", 8);
  };
  EXPECT_EQ(two("[0,4]", "[4,8]"), "");
  EXPECT_EQ(two("[4,8]", "[0,4]"), "") << "the header may have them in any order";
  EXPECT_EQ(two("[0,4]", "[3,7]"), "E728: 's:b': its data begins at 3, where another array's goes on to 4");
  EXPECT_EQ(two("[0,4]", "[0,4]"), "E728: 's:b': its data begins at 0, where another array's goes on to 4");
  EXPECT_EQ(two("[0,4]", "[5,9]"), "E728: 's': bytes 4 to 5 of its data belong to no array");
  EXPECT_EQ(two("[1,5]", "[5,9]"), "E728: 's': bytes 0 to 1 of its data belong to no array");
  EXPECT_EQ(of("{}", 3), "E728: 's': 3 bytes follow the last array");
}

TEST(SafeTypes, DtypesThatTheNotationLacks) {
  std::string json = "{" + entry("a", "U16", "[2]", "[0,4]") + "," + entry("b", "F32", "[1]", "[4,8]") + "}";
  std::string bytes = safetensors(json, "01234567");
  EXPECT_EQ(parsed(bytes),
            "E725: 's:a' has elements of type U16, which the notation does not have; convert it with a.astype(...)");
  EXPECT_EQ(parse_safetensors_array(memory(bytes), "s", "b").value().type, f32)
      << "the other arrays need not be readable";
  EXPECT_EQ(error_of(parse_safetensors_array(memory(bytes), "s", "c")), "E729: 's' has no array 'c'; it holds a, b");
  EXPECT_EQ(of("{" + entry("a", "F128", "[2]", "[0,4]") + "}", 4),
            "E725: 's:a' has elements of type F128, which the notation does not have; convert it with a.astype(...)");
  EXPECT_EQ(of("{" + entry("a", "F6_E2M3", "[3]", "[0,3]") + "}", 3), "E728: 's:a': its data ends inside a byte");
  EXPECT_EQ(of("{" + entry("a", "C64", "[1]", "[0,8]") + "}", 8),
            "E725: 's:a' has elements of type C64, which the notation does not have; convert it with a.astype(...)");
}

TEST(SafeTypes, RawBitsAreReadAsWhatIsWanted) {
  auto read = [](std::string_view dtype, std::string_view shape, ScalarType as) {
    std::string bytes = safetensors("{" + entry("a", dtype, shape, "[0,4]") + "}", "\x10\x32\x54\x76");
    auto a = parse_safetensors_array(memory(bytes), "s", "a", as);
    return a ? type_text(a->type, a->shape) : error_of(a);
  };
  EXPECT_EQ(read("U16", "[2]", bf16), "bf16[2]");
  EXPECT_EQ(read("U8", "[4]", f8e4m3), "f8e4m3[4]");
  EXPECT_EQ(read("U8", "[2,2]", u4), "u4[2, 4]");
  EXPECT_EQ(read("U8", "[4]", i4), "i4[8]");
  EXPECT_EQ(read("U8", "[4]", f4e2m1), "f4e2m1[8]");
  EXPECT_EQ(read("I8", "[4]", f4e2m1), "f4e2m1[8]");
  EXPECT_EQ(read("F4", "[2,4]", f4e2m1), "f4e2m1[2, 4]") << "this dtype has its logical shape";
  std::string raw = "; convert the array, or choose another type";
  EXPECT_EQ(read("F4", "[2,4]", u4), "E727: 's:a' holds F4, which can't be read as u4" + raw);
  EXPECT_EQ(read("I8", "[4]", i4), "E727: 's:a' holds I8, which can't be read as i4" + raw);
  EXPECT_EQ(read("F32", "[1]", f16), "E727: 's:a' holds F32, which can't be read as f16" + raw);
  EXPECT_EQ(read("F8_E4M3", "[4]", f8e5m2), "E727: 's:a' holds F8_E4M3, which can't be read as f8e5m2" + raw);
  EXPECT_EQ(read("F4", "[8,1]", f4e2m1),
            "E512: s:a packs two elements a byte: its last dimension must be even, found 1; pad it by one");
  std::string one = safetensors("{" + entry("a", "U8", "[]", "[0,1]") + "}", "x");
  EXPECT_EQ(error_of(parse_safetensors_array(memory(one), "s", "a", u4)),
            "E727: 's:a' holds U8 without dimensions, which can't be read as u4" + raw);
  std::string empty = safetensors("{" + entry("a", "U8", "[0,4611686018427387904]", "[0,0]") + "}", "");
  EXPECT_EQ(error_of(parse_safetensors_array(memory(empty), "s", "a", u4)),
            "E726: 's:a' has a shape that overflows: (0, 4611686018427387904)");
}

TEST(SafeHostile, OneWrongByteGivesArraysInsideTheFileOrAnError) {
  std::string good = safetensors(
      "{" + entry("a", "U8", "[4]", "[0,4]") + "," + entry("b", "F32", "[2,1]", "[4,12]") + "}", "012345678901");
  ASSERT_EQ(parsed(good), "");
  for (int64_t i = 0; i < 5000; ++i) {
    std::string bad = good;
    bad[random_bits(1, i) % bad.size()] = static_cast<char>(random_bits(2, i));
    Bytes bytes = memory(bad);
    auto file = parse_safetensors(bytes, "s");
    if (!file) continue;
    for (const Named& n : file->arrays) {
      EXPECT_GE(n.array.data(), bytes.first.get());
      EXPECT_LE(n.array.data() + n.array.byte_size(), bytes.first.get() + bytes.size);
    }
  }
}

}  // namespace
}  // namespace quern::array
