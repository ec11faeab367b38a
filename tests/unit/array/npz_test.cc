// .npz: NumPy's archives come back, and hostile ones are refused before they cost anything.
#include "array/npz.h"

#include "bad_files.h"
#include "base/philox.h"

namespace quern::array {
namespace {

using enum ScalarType;

const std::string kArray = npy_of("|u1", "(4,)", "abcd");

std::string parsed(std::string_view archive, int64_t limit = kNpzLimit) {
  return error_of(parse_npz(memory(archive), "z", {}, limit));
}

// A deflate stream of one stored block (RFC 1951, 3.2.4).
std::string deflated(const std::string& data) { return "\1" + little(data.size(), 2) + little(~data.size(), 2) + data; }

Member deflated_member(const std::string& name, const std::string& data) {
  Member m{name, deflated(data), 8};
  m.size = data.size();
  m.right_checksum = false;
  m.checksum = crc32(data);
  return m;
}

class Npz : public InFolder {};

TEST_F(Npz, ReadsWhatNumpyCompresses) {
  // numpy.savez_compressed(f, w=numpy.arange(6, dtype='f4').reshape(2, 3)), with its zip64 local header
  const std::string archive(
      "\x50\x4b\x03\x04\x2d\x00\x00\x00\x08\x00\x00\x00\x21\x00\x4f\xe9\x00\x2a\xff\xff\xff\xff\xff\xff\xff\xff\x05\x00"
      "\x14\x00\x77\x2e\x6e\x70\x79\x01\x00\x10\x00\x98\x00\x00\x00\x00\x00\x00\x00\x55\x00\x00\x00\x00\x00\x00\x00\x9b"
      "\xec\x17\xea\x1b\x10\xc9\xc8\x50\xc6\x50\xad\x9e\x92\x5a\x9c\x5c\xa4\x6e\xa5\xa0\x6e\x93\x66\xa2\xae\xa3\xa0\x9e"
      "\x96\x5f\x54\x52\x94\x98\x17\x9f\x5f\x94\x92\x0a\x12\x77\x4b\xcc\x29\x4e\x05\x8a\x17\x67\x24\x16\xa4\x02\xf9\x1a"
      "\x46\x3a\x0a\xc6\x9a\x3a\x0a\xb5\x0a\x64\x03\x2e\x06\x30\x68\xb0\x07\x12\x0e\x40\x04\xc4\x0d\x40\xbc\xc0\x01\x00"
      "\x50\x4b\x01\x02\x2d\x03\x2d\x00\x00\x00\x08\x00\x00\x00\x21\x00\x4f\xe9\x00\x2a\x55\x00\x00\x00\x98\x00\x00\x00"
      "\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x01\x00\x00\x00\x00\x77\x2e\x6e\x70\x79\x50\x4b\x05\x06\x00"
      "\x00\x00\x00\x01\x00\x01\x00\x33\x00\x00\x00\x8c\x00\x00\x00\x00\x00",
      213);
  auto arrays = read_npz(file("a.npz", archive));
  ASSERT_EQ(error_of(arrays), "");
  ASSERT_EQ(arrays->size(), 1u);
  EXPECT_EQ(arrays->at(0).name, "w");
  EXPECT_EQ(type_text(f32, arrays->at(0).array.shape), "f32[2, 3]");
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(real_at(arrays->at(0).array, i), static_cast<double>(i));
}

TEST_F(Npz, EveryTypeComesBackInOrderAndTheSameBytesGoOut) {
  std::vector<Named> arrays;
  for (const TypeRow& r : type_rows()) {
    for (uint64_t seed = 0; seed < 5; ++seed) {
      arrays.push_back(
          {std::string(r.name) + "/" + std::to_string(seed), any_array(r.type, any_shape(r.type, seed), seed)});
    }
  }
  ASSERT_EQ(error_of(write_npz(path("a.npz"), arrays)), "");
  auto as = [](std::string_view name) { return parse_type(name.substr(0, name.find('/'))); };
  auto back = read_npz(path("a.npz"), as);
  ASSERT_EQ(error_of(back), "");
  ASSERT_EQ(back->size(), arrays.size());
  for (size_t i = 0; i < arrays.size(); ++i) {
    EXPECT_EQ((*back)[i].name, arrays[i].name);
    EXPECT_TRUE(identical((*back)[i].array, arrays[i].array)) << arrays[i].name;
    EXPECT_NE((*back)[i].array.mutable_data(), nullptr);
  }
  ASSERT_EQ(error_of(write_npz(path("b.npz"), *back)), "");
  EXPECT_EQ(contents(path("a.npz")), contents(path("b.npz")));
}

TEST_F(Npz, OneArrayByName) {
  std::string archive =
      file("a.npz", zip({{"bias.npy", kArray}, {"weight.npy", kArray}, {"odd.npy", npy_of("|O", "()", "")}}));
  EXPECT_EQ(read_npz_array(archive, "weight").value().shape, std::vector<int64_t>{4});
  EXPECT_EQ(read_npz_array(archive, "bias", u4).value().shape, std::vector<int64_t>{8});
  EXPECT_EQ(error_of(read_npz_array(archive, "weigth")),
            "E729: '" + archive + "' has no array 'weigth'; did you mean weight? it holds bias, weight, odd");
  EXPECT_EQ(error_of(read_npz_array(archive, "x")),
            "E729: '" + archive + "' has no array 'x'; it holds bias, weight, odd");
  EXPECT_EQ(error_of(parse_npz_array(memory(zip({})), "z", "x")), "E729: 'z' has no array 'x'; it holds no arrays");
  EXPECT_EQ(error_of(read_npz(archive)),
            "E725: '" + archive +
                ":odd' has elements of type |O, which the notation does not have; convert it with a.astype(...)");
}

TEST_F(Npz, AnArchiveWithoutMembers) {
  ASSERT_EQ(error_of(write_npz(path("a.npz"), {})), "");
  EXPECT_EQ(contents(path("a.npz")), zip({}));
  EXPECT_EQ(read_npz(path("a.npz")).value().size(), 0u);
}

TEST_F(Npz, ReplacesAFileOnlyWhole) {
  std::string old = file("a.npz", "old");
  EXPECT_EQ(error_of(write_npz(old, {{"../up", Array{}}})),
            "E730: can't write '" + old + "': array '../up': its name leads upward");
  EXPECT_EQ(error_of(write_npz(old, {{"/up", Array{}}})),
            "E730: can't write '" + old + "': array '/up': its name is absolute");
  EXPECT_EQ(error_of(write_npz(old, {{"x", Array{}}, {"x", Array{}}})),
            "E730: can't write '" + old + "': array 'x' occurs twice");
  EXPECT_EQ(error_of(write_npz(old, {{"\xff", Array{}}})),
            "E730: can't write '" + old + "': array '\\xff': its name is not UTF-8");
  EXPECT_EQ(error_of(write_npz(folder_, {{"x", Array{}}})), "E730: can't write '" + folder_ + "': Is a directory");
  EXPECT_EQ(contents(old), "old");
  ASSERT_EQ(error_of(write_npz(old, {{"x", Array{}}})), "");
  EXPECT_EQ(read_npz(old).value()[0].name, "x");
  EXPECT_TRUE(error_of(write_npz(path("no/a.npz"), {{"x", Array{}}}))
                  .starts_with("E730: can't write '" + path("no/a.npz") + "': "));
}

TEST_F(Npz, WhatIsNotAnArchive) {
  EXPECT_EQ(error_of(read_npz(path("no.npz"))), "E720: can't read '" + path("no.npz") + "': No such file or directory");
  EXPECT_EQ(error_of(read_npz(folder_)), "E720: can't read '" + folder_ + "': it is a directory");
  EXPECT_EQ(parsed(""), "E722: 'z' is truncated: 22 bytes expected, 0 found; copy it again");
  EXPECT_EQ(parsed("P"), "E722: 'z' is truncated: 22 bytes expected, 1 found; copy it again");
  EXPECT_EQ(parsed(kArray), "E721: 'z' is not a .npz file: it does not begin with PK");
}

TEST(NpzHostile, EveryPrefixIsDamaged) {
  std::string archive = zip({{"a.npy", kArray}, {"b.npy", kArray}});
  EXPECT_EQ(parsed(archive), "");
  for (size_t n = 22; n < archive.size(); ++n) {
    EXPECT_EQ(parsed(archive.substr(0, n)), "E728: 'z': its directory is missing, as if the end was cut off") << n;
  }
  // The end record stays, a part before it is lost.
  std::string torn = archive.substr(0, 100) + archive.substr(archive.size() - 22);
  EXPECT_EQ(parsed(torn), "E728: 'z': its directory is damaged");
}

TEST(NpzHostile, Names) {
  auto named = [](const std::string& name) { return parsed(zip({{name, kArray}})); };
  EXPECT_EQ(named("/etc/passwd.npy"), "E728: 'z': member '/etc/passwd.npy': its name is absolute");
  EXPECT_EQ(named("\\a.npy"), "E728: 'z': member '\\a.npy': its name is absolute");
  EXPECT_EQ(named("C:\\a.npy"), "E728: 'z': member 'C:\\a.npy': its name is absolute");
  EXPECT_EQ(named("../a.npy"), "E728: 'z': member '../a.npy': its name leads upward");
  EXPECT_EQ(named("a/../../b.npy"), "E728: 'z': member 'a/../../b.npy': its name leads upward");
  EXPECT_EQ(named("a\\..\\b.npy"), "E728: 'z': member 'a\\..\\b.npy': its name leads upward");
  EXPECT_EQ(named("\xff.npy"), "E728: 'z': member '\\xff.npy': its name is not UTF-8");
  EXPECT_EQ(named("\x1b[2J.txt"), "E728: 'z': member '\\x1b[2J.txt' is not an .npy array");
  EXPECT_EQ(named("inner.zip"), "E728: 'z': member 'inner.zip' is not an .npy array");
  EXPECT_EQ(named("folder/"), "E728: 'z': member 'folder/' is not an .npy array");
  EXPECT_EQ(named("a/b.c..d.npy"), "");
  EXPECT_EQ(named("w:0.npy"), "");
  EXPECT_EQ(parsed(zip({{"a.npy", kArray}, {"b.npy", kArray}, {"a.npy", kArray}})),
            "E728: 'z': member 'a.npy' occurs twice");
}

TEST(NpzHostile, MethodsAndEncryption) {
  EXPECT_EQ(parsed(zip({{"a.npy", kArray, 0, 1}})), "E728: 'z': member 'a.npy' is encrypted");
  EXPECT_EQ(parsed(zip({{"a.npy", kArray, 0, 0x41}})), "E728: 'z': member 'a.npy' is encrypted");
  EXPECT_EQ(parsed(zip({{"a.npy", kArray, 12}})),
            "E728: 'z': member 'a.npy' is compressed with method 12, known are 0 (stored) and 8 (deflate)");
  EXPECT_EQ(parsed(zip({deflated_member("a.npy", kArray)})), "");
}

TEST(NpzHostile, ABombIsRefusedByItsDirectory) {
  uint64_t huge = uint64_t{17} << 30;
  std::string header = npy_of("|u1", "(18253611008,)", "");
  Member bomb{"a.npy", deflated(header), 8};
  bomb.size = huge;
  EXPECT_EQ(parsed(zip({bomb})), "E716: 'z' would take 17.0 GiB, more than this run may use (16.0 GiB); smaller sizes");
  // Many members, each below the limit, that share one piece of data or not: the sum counts.
  std::vector<Member> many;
  for (int i = 0; i < 40; ++i) {
    many.push_back({std::to_string(i) + ".npy", deflated(header), 8});
    many.back().size = uint64_t{1} << 30;
  }
  EXPECT_EQ(parsed(zip(many)), "E716: 'z' would take 40.0 GiB, more than this run may use (16.0 GiB); smaller sizes");
  many.resize(2);
  many[0].size = many[1].size = UINT64_MAX - 1;
  EXPECT_EQ(parsed(zip(many)), "E716: 'z' would take 16.0 EiB, more than this run may use (16.0 GiB); smaller sizes");
  EXPECT_EQ(parsed(zip({{"a.npy", kArray}}), 10),
            "E716: 'z' would take 72 B, more than this run may use (10 B); smaller sizes");
  EXPECT_EQ(parsed(zip({{"a.npy", kArray}}), static_cast<int64_t>(kArray.size())), "");
}

TEST(NpzHostile, TheHeaderAndTheDirectoryMustAgree) {
  // A header that asks for 8 GiB in a member of a few bytes: nothing is allocated.
  std::string greedy = npy_of("|u1", "(8589934592,)", "ab");
  EXPECT_EQ(parsed(zip({{"a.npy", greedy}})),
            "E722: 'z:a' is truncated: 8589934669 bytes expected, 79 found; copy it again");
  EXPECT_EQ(parsed(zip({{"a.npy", kArray + "zz"}})), "E728: 'z:a': 2 bytes follow the array");
  // The directory declares more, or less, than is there.
  Member lies = deflated_member("a.npy", npy_of("|u1", "(99,)", "ab"));
  lies.size = lies.data.size() - 5 + 97;
  EXPECT_EQ(parsed(zip({lies})), "E722: 'z:a' is truncated: 168 bytes expected, 71 found; copy it again");
  lies = deflated_member("a.npy", kArray + "zz");
  lies.size = kArray.size();
  EXPECT_EQ(parsed(zip({lies})), "E728: 'z:a': it is longer than the directory says");
  for (size_t n = 0; n < 10; ++n) {
    EXPECT_EQ(parsed(zip({{"a.npy", kArray.substr(0, n)}})),
              "E722: 'z:a' is truncated: 10 bytes expected, " + std::to_string(n) + " found; copy it again");
  }
  EXPECT_EQ(parsed(zip({{"a.npy", "not an array"}})),
            "E721: 'z:a' is not a .npy file: it does not begin with \\x93NUMPY");
}

TEST(NpzHostile, ChecksumsAndDeflateStreams) {
  Member wrong{"a.npy", kArray};
  wrong.right_checksum = false;
  EXPECT_EQ(parsed(zip({wrong})), "E728: 'z:a': its checksum is wrong");
  Member torn = deflated_member("a.npy", kArray);
  torn.data[0] = '\7';  // a reserved block type
  EXPECT_EQ(parsed(zip({torn})), "E728: 'z:a': its compressed data is damaged");
}

TEST(NpzHostile, AHeaderShorterThanThePrefixThatIsRead) {
  // A version 1.0 header can't be that short and valid, but the length field can say so.
  std::string archive = zip({{"a.npy", "\x93NUMPY" + little(1, 2) + little(1, 2) + "{x"}});
  EXPECT_EQ(parsed(archive), "E721: 'z:a' is not a .npy file: a key of the header is not a plain string");
}

TEST(NpzHostile, OneWrongByteGivesArraysOrAnError) {
  std::string good = zip({{"a.npy", kArray}, deflated_member("b.npy", kArray)});
  ASSERT_EQ(parsed(good), "");
  for (int64_t i = 0; i < 5000; ++i) {
    std::string bad = good;
    bad[random_bits(1, i) % bad.size()] = static_cast<char>(random_bits(2, i));
    auto arrays = parse_npz(memory(bad), "z", {}, 1 << 20);
    if (arrays) {
      for (const Named& n : *arrays) {
        EXPECT_LE(n.array.byte_size(), 1 << 20);
      }
    }
  }
}

}  // namespace
}  // namespace quern::array
