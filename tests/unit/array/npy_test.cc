// .npy: what NumPy and ml_dtypes write is read and written bit for bit, and everything else is refused by name.
#include "array/npy.h"

#include "bad_files.h"
#include "base/philox.h"

namespace quern::array {
namespace {

using enum ScalarType;

std::string parsed(std::string_view bytes, std::optional<ScalarType> as = std::nullopt) {
  return error_of(parse_npy(memory(bytes), "x", as));
}

std::string shape_of(std::string_view shape) {  // of an array that is read
  std::string bytes = npy_of("|u1", shape, std::string(24, 'x'));
  auto r = parse_npy(memory(bytes), "x");
  return r ? shape_text(r->shape) : error_of(r);
}

class Npy : public InFolder {};

TEST_F(Npy, WritesTheBytesOfNumpySave) {
  Array a = make(f32, {2, 3}).value();
  for (int64_t i = 0; i < 6; ++i) set_int(a, i, i);
  ASSERT_EQ(error_of(write_npy(path("a.npy"), a)), "");
  std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }" + std::string(58, ' ') + "\n";
  std::string data;
  for (uint64_t bits : {0x0, 0x3f800000, 0x40000000, 0x40400000, 0x40800000, 0x40a00000}) data += little(bits, 4);
  EXPECT_EQ(contents(path("a.npy")), npy(dict, data));
  ASSERT_EQ(error_of(write_npy(path("a.npy"), make(f64, {}).value())), "");
  dict = "{'descr': '<f8', 'fortran_order': False, 'shape': (), }" + std::string(62, ' ') + "\n";
  EXPECT_EQ(contents(path("a.npy")), npy(dict, std::string(8, '\0')));
}

TEST_F(Npy, EveryTypeAndShapeComesBack) {
  for (const TypeRow& r : type_rows()) {
    for (uint64_t seed = 0; seed < 12; ++seed) {
      Array a = any_array(r.type, any_shape(r.type, seed), seed);
      ASSERT_EQ(error_of(write_npy(path("a.npy"), a, 1 + static_cast<int>(seed % 3))), "");
      auto back = read_npy(path("a.npy"), r.type);
      ASSERT_EQ(error_of(back), "") << type_text(r.type, a.shape);
      EXPECT_TRUE(identical(*back, a)) << type_text(r.type, a.shape);
      EXPECT_EQ(back->mutable_data(), nullptr);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(back->data()) % 64, 0u);
      if (!r.npy.empty()) {
        EXPECT_EQ(read_npy(path("a.npy")).value().type, r.type);
      }
    }
  }
}

TEST_F(Npy, AnArrayOutlivesItsFile) {
  ASSERT_EQ(error_of(write_npy(path("a.npy"), any_array(i32, {1000}, 1))), "");
  Array a = read_npy(path("a.npy")).value();
  ASSERT_EQ(error_of(write_npy(path("a.npy"), make(i32, {1000}).value())), "");
  std::filesystem::remove(path("a.npy"));
  EXPECT_TRUE(identical(a, any_array(i32, {1000}, 1)));
}

TEST_F(Npy, WhatCantBeRead) {
  EXPECT_EQ(error_of(read_npy(path("no.npy"))), "E720: can't read '" + path("no.npy") + "': No such file or directory");
  EXPECT_EQ(error_of(read_npy(folder_)), "E720: can't read '" + folder_ + "': it is a directory");
  EXPECT_EQ(error_of(read_npy("/dev/null")), "E720: can't read '/dev/null': it is not a regular file");
  EXPECT_EQ(error_of(read_npy(file("e.npy", ""))),
            "E722: '" + path("e.npy") + "' is truncated: 10 bytes expected, 0 found; copy it again");
}

TEST_F(Npy, WhatCantBeWritten) {
  EXPECT_EQ(error_of(write_npy(path("no/a.npy"), Array{})),
            "E730: can't write '" + path("no/a.npy") + "': No such file or directory");
}

TEST(NpyHeader, MagicAndVersion) {
  std::string good = npy_of("|u1", "(2,)", "ab");
  EXPECT_EQ(parsed(good), "");
  EXPECT_EQ(parsed("PK\3\4xxxxxxxxxxxxx"), "E721: 'x' is not a .npy file: it does not begin with \\x93NUMPY");
  EXPECT_EQ(parsed("x"), "E721: 'x' is not a .npy file: it does not begin with \\x93NUMPY");
  for (auto [major, minor, text] : {std::tuple(4, 0, "4.0"), {0, 0, "0.0"}, {1, 1, "1.1"}, {255, 255, "255.255"}}) {
    std::string bad = good;
    bad[6] = static_cast<char>(major);
    bad[7] = static_cast<char>(minor);
    EXPECT_EQ(parsed(bad),
              "E721: 'x' is not a .npy file: its version is " + std::string(text) + ", known are 1.0, 2.0 and 3.0");
  }
}

TEST(NpyHeader, EveryPrefixIsTruncated) {
  for (int version : {1, 2, 3}) {
    std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n";
    std::string good = npy(dict, "01234567", version);
    size_t prefix = version == 1 ? 10 : 12, data = prefix + dict.size();
    ASSERT_EQ(parsed(good), "");
    for (size_t n = 0; n < good.size(); ++n) {
      size_t want = n < 10 ? 10 : n < prefix ? prefix : n < data ? data : good.size();
      EXPECT_EQ(parsed(good.substr(0, n)), "E722: 'x' is truncated: " + std::to_string(want) + " bytes expected, " +
                                               std::to_string(n) + " found; copy it again");
    }
    EXPECT_EQ(parsed(good + "zz"), "E728: 'x': 2 bytes follow the array");
  }
}

TEST(NpyHeader, ALengthThatLies) {
  std::string good = npy_of("|u1", "(60,)", std::string(60, 'x'));
  auto with_length = [&](uint64_t length) { return good.substr(0, 8) + little(length, 2) + good.substr(10); };
  uint64_t length = good.size() - 60 - 10;
  EXPECT_EQ(parsed(with_length(length)), "");
  EXPECT_EQ(parsed(with_length(length + 5)), "E721: 'x' is not a .npy file: something follows the header's dict");
  EXPECT_EQ(parsed(with_length(length - 4)), "E721: 'x' is not a .npy file: the header's dict does not end");
  EXPECT_EQ(parsed(with_length(0)), "E721: 'x' is not a .npy file: the header is not a dict");
  EXPECT_EQ(parsed(with_length(65535)),
            "E722: 'x' is truncated: 65545 bytes expected, " + std::to_string(good.size()) + " found; copy it again");
  EXPECT_EQ(parsed("\x93NUMPY" + little(2, 2) + little(0xffffffff, 4)),
            "E721: 'x' is not a .npy file: its header has 4294967295 bytes, at most 65536 are read");
}

TEST(NpyHeader, TakesAnyOrderOfKeysAndAnyBlanks) {
  EXPECT_EQ(parsed(npy("{'shape':(2,),'fortran_order':True,'descr':'|u1'}", "ab")), "");
  EXPECT_EQ(parsed(npy(" \n{ \"descr\" :\t\"|u1\" , 'fortran_order' :False,\r\n 'shape' : ( 1 , 2 , ) , } \n", "ab")),
            "");
  EXPECT_EQ(parsed(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2L,)}", "ab")), "") << "Python 2";
}

TEST(NpyHeader, TakesNothingElse) {
  auto why = [](std::string_view dict) {
    std::string text = parsed(npy(dict, ""));
    std::string_view begin = "E721: 'x' is not a .npy file: ";
    return text.starts_with(begin) ? text.substr(begin.size()) : text;
  };
  EXPECT_EQ(why(""), "the header is not a dict");
  EXPECT_EQ(why("[]"), "the header is not a dict");
  EXPECT_EQ(why("{"), "a key of the header is not a plain string");
  EXPECT_EQ(why("{}"), "the header has no 'descr'");
  EXPECT_EQ(why("{descr: 1}"), "a key of the header is not a plain string");
  EXPECT_EQ(why("{'de\\x73cr': '|u1'}"), "a key of the header is not a plain string");
  EXPECT_EQ(why("{'descr'}"), "a key of the header has no value");
  EXPECT_EQ(why("{'descr': None}"), "'descr' is neither a string nor a list");
  EXPECT_EQ(why("{'descr': '|u1"), "'descr' is neither a string nor a list");
  EXPECT_EQ(why("{'descr': '|u1' 'shape': ()}"), "the header's dict does not end");
  EXPECT_EQ(why("{'descr': '|u1', 'descr': '|u1'}"), "the header has 'descr' twice");
  EXPECT_EQ(why("{'descr': '|u1', '\x1b[2J': 1}"), "the header has an unknown key '\\x1b[2J'");
  EXPECT_EQ(why("{'descr': '|u1', 'shape': ()}"), "the header has no 'fortran_order'");
  EXPECT_EQ(why("{'descr': '|u1', 'fortran_order': False}"), "the header has no 'shape'");
  EXPECT_EQ(why("{'fortran_order': 0}"), "'fortran_order' is neither True nor False");
  EXPECT_EQ(why("{'shape': 3}"), "'shape' is not a tuple");
  EXPECT_EQ(why("{'shape': (3)}"), "'shape' is not a tuple");
  EXPECT_EQ(why("{'shape': [3,]}"), "'shape' is not a tuple");
  EXPECT_EQ(why("{'shape': (3 4)}"), "the tuple of 'shape' does not end");
  EXPECT_EQ(why("{'shape': (3,"), "'shape' holds something that is not a whole number");
  EXPECT_EQ(why("{'shape': (,)}"), "'shape' holds something that is not a whole number");
  EXPECT_EQ(why("{'shape': (1.5,)}"), "the tuple of 'shape' does not end");
  EXPECT_EQ(why("{'shape': (0x2,)}"), "the tuple of 'shape' does not end");
  EXPECT_EQ(why("{'shape': (007,)}"), "'shape' holds something that is not a whole number");
  EXPECT_EQ(why("{'shape': (+1,)}"), "'shape' holds something that is not a whole number");
  EXPECT_EQ(why("{'shape': (-,)}"), "'shape' holds something that is not a whole number");
  EXPECT_EQ(why("{'descr': [('a', '<f4')"), "the list of 'descr' does not end");
  EXPECT_EQ(why("{'descr': " + std::string(60000, '[')), "the list of 'descr' does not end");
  EXPECT_EQ(why("{'descr': '|u1', 'fortran_order': False, 'shape': ()} os.system()"),
            "something follows the header's dict");
  EXPECT_EQ(why("{'descr': '|u1', 'fortran_order': Falsehood, 'shape': ()}"), "the header's dict does not end");
}

TEST(NpyHeader, TypesThatTheNotationLacks) {
  for (std::string descr : {"|O", "<c8", ">c16", "<U5", "|S3", "<M8[ns]", "<f16", "<u8", ">u8", "<V3", "|V0", "f4",
                            "=f4", "<", "<f", "!f4"}) {
    EXPECT_EQ(parsed(npy_of(descr, "(1,)", "12345678")),
              "E725: 'x' has elements of type " + descr +
                  ", which the notation does not have; convert it with a.astype(...)");
  }
  EXPECT_EQ(parsed(npy("{'descr': [('a', '<f4'), ('b', '|O', (2,))], 'fortran_order': False, 'shape': (1,)}", "")),
            "E725: 'x' has elements of type [('a', '<f4'), ('b', '|O', (2,))], which the notation does not have; "
            "convert it with a.astype(...)");
  for (std::string descr : {"<u2", "|V2", "<V1"}) {
    EXPECT_EQ(parsed(npy_of(descr, "(1,)", "12")),
              "E725: 'x' has elements of type " + descr +
                  ", which the notation does not have; "
                  "convert it with a.astype(...), or say which type its bits stand for");
  }
}

TEST(NpyHeader, BigEndian) {
  for (std::string descr : {">f8", ">f4", ">f2", ">i8", ">i4", ">i2", ">u4", ">u2", ">V2"}) {
    EXPECT_EQ(parsed(npy_of(descr, "(0,)", "")),
              "E724: 'x' is big-endian (" + descr + "); a.astype(a.dtype.newbyteorder('<'))");
  }
  EXPECT_EQ(parsed(npy_of(">u1", "(2,)", "ab")), "") << "one byte has no order";
}

TEST(NpyHeader, ColumnMajorUnlessItMakesNoDifference) {
  EXPECT_EQ(parsed(npy_of("|u1", "(2, 3)", "abcdef", "True")),
            "E723: 'x' is in Fortran order; numpy.ascontiguousarray(a)");
  for (std::string shape : {"()", "(1,)", "(1, 1)"}) EXPECT_EQ(parsed(npy_of("|u1", shape, "a", "True")), "") << shape;
  for (std::string shape : {"(6,)", "(6, 1)", "(1, 6, 1)"})
    EXPECT_EQ(parsed(npy_of("|u1", shape, "abcdef", "True")), "");
  EXPECT_EQ(parsed(npy_of("|u1", "(2, 0, 3)", "", "True")), "");
}

TEST(NpyHeader, ShapesThatOverflow) {
  for (std::string shape : {"(-1,)", "(-0,)", "(2, -3)"}) {
    EXPECT_EQ(parsed(npy_of("<f8", shape, "")), "E721: 'x' is not a .npy file: 'shape' holds a negative number");
  }
  for (std::string shape : {"(9223372036854775808,)", "(99999999999999999999999999,)", "(9223372036854775807, 2)",
                            "(2305843009213693952,)", "(0, 9223372036854775807, 2)"}) {
    EXPECT_EQ(parsed(npy_of("<f8", shape, "")), "E726: 'x' has a shape that overflows: " + shape);
  }
  EXPECT_EQ(parsed(npy_of("|u1", "(4611686018427387904,)", ""), u4),
            "E726: 'x' has a shape that overflows: (4611686018427387904,)");
  EXPECT_EQ(parsed(npy_of("<f8", "(1152921504606846975,)", "")),
            "E722: 'x' is truncated: 9223372036854775886 bytes expected, 86 found; copy it again")
      << "the most that 63 bits hold";
  std::string ones = "(";
  for (int i = 0; i < 33; ++i) ones += "1, ";
  EXPECT_EQ(parsed(npy_of("|u1", ones + ")", "a")), "E728: 'x': it has 33 dimensions, at most 32 are supported");
  EXPECT_EQ(shape_of("(2, 3, 4)"), "(2, 3, 4)");
}

TEST(NpyTypes, RawBitsAreReadAsWhatIsWanted) {
  for (auto [descr, as] : {std::pair("<u2", bf16),
                           {"<V2", bf16},
                           {"|V2", f16},
                           {"|V2", i16},
                           {"|u1", f8e4m3},
                           {"|u1", f8e5m2},
                           {"|u1", f8e8m0},
                           {"<V1", f8e4m3},
                           {"|V1", boolean},
                           {"<f1", f8e5m2},
                           {"|u1", u8}}) {
    std::string bytes = npy_of(descr, "(2,)", std::string("\1\2\3\4", row(as).bits / 4));
    auto a = parse_npy(memory(bytes), "x", as);
    ASSERT_EQ(error_of(a), "") << descr << " " << name(as);
    EXPECT_EQ(a->type, as);
    EXPECT_EQ(a->shape, std::vector<int64_t>{2});
    EXPECT_EQ(bits_at(*a, 1), row(as).bits == 16 ? 0x0403u : 2u);
  }
  EXPECT_EQ(parse_npy(memory(npy_of("<f1", "(0,)", "")), "x").value().type, f8e5m2) << "ml_dtypes' name for it";
}

TEST(NpyTypes, PackedTypesHaveTheirLogicalShape) {
  std::string bytes = npy_of("|u1", "(2, 3)", "\x10\x32\x54\x76\x98\xba");
  for (ScalarType t : {u4, i4, f4e2m1}) {
    Array a = parse_npy(memory(bytes), "x", t).value();
    EXPECT_EQ(a.shape, (std::vector<int64_t>{2, 6}));
    for (uint64_t i = 0; i < 12; ++i) EXPECT_EQ(bits_at(a, static_cast<int64_t>(i)), i);
  }
}

TEST(NpyTypes, AnythingElseIsAnError) {
  auto wanted = [](std::string descr, ScalarType as) { return parsed(npy_of(descr, "(0,)", ""), as); };
  std::string raw = "; raw u1 for 8-bit and 4-bit types, u2 for 16-bit ones",
              other = "; convert the array, or choose another type";
  EXPECT_EQ(wanted("<u2", f8e4m3), "E727: 'x' holds <u2, which can't be read as f8e4m3" + raw);
  EXPECT_EQ(wanted("|u1", bf16), "E727: 'x' holds |u1, which can't be read as bf16" + raw);
  EXPECT_EQ(wanted("<f4", bf16), "E727: 'x' holds <f4, which can't be read as bf16" + raw);
  EXPECT_EQ(wanted("|i1", i4), "E727: 'x' holds |i1, which can't be read as i4" + raw) << "surely not packed";
  EXPECT_EQ(wanted("|V1", i4), "E727: 'x' holds |V1, which can't be read as i4" + raw) << "ml_dtypes does not pack";
  EXPECT_EQ(wanted("<u2", f16), "E727: 'x' holds <u2, which can't be read as f16" + other);
  EXPECT_EQ(wanted("|u1", i8), "E727: 'x' holds |u1, which can't be read as i8" + other);
  EXPECT_EQ(wanted("<f8", f32), "E727: 'x' holds <f8, which can't be read as f32" + other);
  EXPECT_EQ(parsed(npy_of("|u1", "()", "a"), u4),
            "E727: 'x' holds |u1 without dimensions, which can't be read as u4" + raw);
  EXPECT_EQ(wanted("<u8", i64),
            "E725: 'x' has elements of type <u8, which the notation does not have; convert it with a.astype(...)");
}

// Not a fuzzer, which has its own program: a few thousand files that are almost right, in every build.
TEST(NpyHostile, OneWrongByteGivesAnArrayOrAnErrorAndNeverMoreThanTheFile) {
  std::string good = npy_of("<f4", "(2, 3)", std::string(24, 'd'));
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    std::string bad = good;
    bad[random_bits(1, static_cast<int64_t>(seed)) % bad.size()] =
        static_cast<char>(random_bits(2, static_cast<int64_t>(seed)));
    auto a = parse_npy(memory(bad), "x");
    if (a) {
      EXPECT_EQ(a->data() + a->byte_size(), memory(bad).first.get() + bad.size());
    }
  }
}

}  // namespace
}  // namespace quern::array
