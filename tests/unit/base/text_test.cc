// Text and files: UTF-8 to the letter of the standard, suggestions, and writing that never leaves half a file.
#include "base/text.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace quern {
namespace {

namespace fs = std::filesystem;

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "quern_text_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  static std::string contents(const std::string& path) {
    std::stringstream out;
    out << std::ifstream(path, std::ios::binary).rdbuf();
    return out.str();
  }
  int64_t entries() const { return std::distance(fs::directory_iterator(folder_), fs::directory_iterator()); }

  std::string folder_;
};

std::string text_of(const Result<void>& result) {
  return result ? "" : std::string(row(result.error()[0].code).name) + ": " + result.error()[0].message;
}

TEST(Utf8, TakesWhatTheStandardTakes) {
  // The Unicode Standard, table 3-7: the first and last of each row.
  for (std::string_view good : {"", "a", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xE0\xBF\xBF", "\xE1\x80\x80",
                                "\xEC\xBF\xBF", "\xED\x80\x80", "\xED\x9F\xBF", "\xEE\x80\x80", "\xEF\xBF\xBF",
                                "\xF0\x90\x80\x80", "\xF1\x80\x80\x80", "\xF3\xBF\xBF\xBF", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_EQ(invalid_utf8(good), std::nullopt) << good;
    EXPECT_EQ(invalid_utf8(std::string(good) + "x"), std::nullopt) << good;
  }
}

TEST(Utf8, RefusesOverlongSurrogatesAndCutSequences) {
  for (std::string_view bad :
       {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xC2", "\xC2x", "\xE0\x9F\xBF", "\xE0\xA0", "\xED\xA0\x80",
        "\xED\xBF\xBF", "\xF0\x8F\xBF\xBF", "\xF0\x90\x80", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF"}) {
    EXPECT_EQ(invalid_utf8(bad), 0u) << bad;
    EXPECT_EQ(invalid_utf8("ab" + std::string(bad)), 2u) << bad;
    EXPECT_EQ(invalid_utf8("\xC3\xA9" + std::string(bad) + "c"), 2u) << bad;
  }
}

TEST(Nearest, FindsWhatWasMeantAndNothingElse) {
  std::vector<std::string> names = {"softmax", "logsumexp", "mean", "max", "exp2"};
  EXPECT_EQ(nearest("sofmax", names), "softmax");
  EXPECT_EQ(nearest("sotfmax", names), "softmax");  // neighbours swapped
  EXPECT_EQ(nearest("maen", names), "mean");
  EXPECT_EQ(nearest("exp", names), "exp2");
  EXPECT_EQ(nearest("attention", names), std::nullopt);
  EXPECT_EQ(nearest("", names), std::nullopt);
  EXPECT_EQ(nearest("max", {}), std::nullopt);
  EXPECT_EQ(nearest(std::string(1000, 'a'), names), std::nullopt);
  EXPECT_EQ(nearest("ab", std::vector<std::string>{"ac", "ad"}), "ac") << "ties go to the first";
  EXPECT_EQ(nearest("x", std::vector<std::string>{"y"}), std::nullopt)
      << "one letter has nothing in common with another";
}

TEST(Printable, ShowsWhatATerminalWouldObey) {
  EXPECT_EQ(printable("caf\xC3\xA9 \xE2\x82\xAC"), "caf\xC3\xA9 \xE2\x82\xAC");
  EXPECT_EQ(printable("a\x1b[31m\n\x7f"), "a\\x1b[31m\\x0a\\x7f");
  EXPECT_EQ(printable("\xC2\x9B"), "\\x9b") << "the eight-bit escape";
  EXPECT_EQ(printable("a\xFF\xC3"), "a\\xff\\xc3");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("abcdef", 3), "abc...");
  EXPECT_EQ(printable("ab\xE2\x82\xAC", 4), "ab...") << "a character is not cut";
  EXPECT_EQ(printable("\x80\x80\x80", 2), "...");
}

TEST(HumanBytes, KeepsOneDigit) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1536), "1.5 KiB");
  EXPECT_EQ(human_bytes(UINT64_MAX), "16.0 EiB");
}

TEST_F(Files, WritesPartsOneAfterAnother) {
  std::string_view parts[] = {"head", "", "body", std::string_view("\0", 1)};
  EXPECT_EQ(text_of(write_file(path("a"), parts)), "");
  EXPECT_EQ(contents(path("a")), std::string("headbody\0", 9));
  EXPECT_EQ(text_of(write_file(path("a"), "new")), "");
  EXPECT_EQ(contents(path("a")), "new");
  EXPECT_EQ(entries(), 1) << "no temporary file stays";
}

TEST_F(Files, KeepsPermissionsWhateverTheUmask) {
  ASSERT_TRUE(write_file(path("a"), "old"));
  for (mode_t mode : {0600, 0666, 0755, 0640}) {
    ASSERT_EQ(::chmod(path("a").c_str(), mode), 0);
    ASSERT_TRUE(write_file(path("a"), "new"));
    struct stat info {};
    ASSERT_EQ(::stat(path("a").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, mode);
  }
}

TEST_F(Files, FollowsASymbolicLink) {
  ASSERT_TRUE(write_file(path("real"), "old"));
  fs::create_symlink("real", path("link"));
  ASSERT_TRUE(write_file(path("link"), "new"));
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(contents(path("real")), "new");
}

TEST_F(Files, PassesByATemporaryFileOfAKilledProcess) {
  for (int i = 0; i < 50; ++i) {
    std::ofstream(path("a") + "." + std::to_string(::getpid()) + "-" + std::to_string(i) + ".tmp") << "half";
  }
  ASSERT_TRUE(write_file(path("a"), "whole"));
  EXPECT_EQ(contents(path("a")), "whole");
}

TEST_F(Files, SaysWhyNot) {
  EXPECT_EQ(text_of(write_file(folder_, "x")), "E730: can't write '" + folder_ + "': Is a directory");
  EXPECT_EQ(text_of(write_file(path("no/a"), "x")),
            "E730: can't write '" + path("no/a") + "': No such file or directory");
  EXPECT_EQ(text_of(write_file("", "x")), "E730: can't write '': No such file or directory");
  EXPECT_EQ(text_of(write_file("/dev/full", "x")), "E730: can't write '/dev/full': No space left on device");
  EXPECT_EQ(text_of(write_file("/dev/null", "x")), "");
  EXPECT_EQ(entries(), 0);
}

TEST_F(Files, AReaderSeesOneOfTheWritesAndNeverAMixture) {
  std::vector<std::thread> writers;
  for (char c : {'a', 'b', 'c', 'd'}) {
    writers.emplace_back([&, c] {
      for (int i = 0; i < 20; ++i) EXPECT_TRUE(write_file(path("shared"), std::string(100'000, c)));
    });
  }
  for (int i = 0; i < 50; ++i) {
    std::string seen = contents(path("shared"));
    if (seen.empty()) continue;  // not there yet
    EXPECT_EQ(seen, std::string(100'000, seen[0]));
  }
  for (std::thread& w : writers) w.join();
  EXPECT_EQ(entries(), 1);
}

TEST_F(Files, SourcesAreUtf8RegularFiles) {
  ASSERT_TRUE(write_file(path("good.qn"), "# \xC3\xA9\n"));
  auto good = read_source(path("good.qn"));
  ASSERT_TRUE(good);
  EXPECT_EQ((*good)->text(), "# \xC3\xA9\n");
  auto missing = read_source(path("none.qn"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error()[0].message, "can't read '" + path("none.qn") + "': No such file or directory");
  auto folder = read_source(folder_);
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error()[0].message, "can't read '" + folder_ + "': it is a directory");
  ASSERT_TRUE(write_file(path("bad.qn"), "ab\xFFz"));
  auto bad = read_source(path("bad.qn"));
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error()[0].message, "byte 0xff at offset 2 is not valid UTF-8");
}

}  // namespace
}  // namespace quern
