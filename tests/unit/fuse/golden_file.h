// A golden file: a text whose first comment says which trap it guards, a line `# --- expect`, and what comes of it.
// QUERN_UPDATE=1 rewrites what is expected.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/text.h"

namespace quern::fuse {

class GoldenFile {
 public:
  explicit GoldenFile(std::string path) : path_(std::move(path)) {
    std::ifstream file(path_);
    std::stringstream whole;
    whole << file.rdbuf();
    text_ = whole.str();
    mark_ = text_.find(kMark);
    input_ = text_.substr(0, mark_);
    EXPECT_TRUE(input_.starts_with("# ")) << path_ << " does not say which trap it guards";
  }

  const std::string& input() const { return input_; }

  // What stands behind these words on the first line that holds them.
  std::string line(std::string_view words) const {
    size_t at = input_.find(words);
    EXPECT_NE(at, std::string::npos) << path_ << " has no line '" << words << "'";
    if (at == std::string::npos) return {};
    at += words.size();
    return input_.substr(at, input_.find('\n', at) - at);
  }

  void expect(const std::string& got) const {
    if (std::getenv("QUERN_UPDATE")) {
      ASSERT_TRUE(write_file(path_, input_ + std::string(kMark) + got).has_value());
      return;
    }
    ASSERT_NE(mark_, std::string::npos) << path_ << " has no expectation: run with QUERN_UPDATE=1";
    EXPECT_EQ(got, text_.substr(mark_ + kMark.size())) << path_;
  }

  // All of a folder of tests/golden.
  static std::vector<std::string> in(const std::string& folder) {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator("tests/golden/" + folder)) {
      if (entry.path().extension() == ".qn") out.push_back(entry.path().string());
    }
    std::sort(out.begin(), out.end());
    return out;
  }

  static std::string name(const testing::TestParamInfo<std::string>& info) {
    return std::filesystem::path(info.param).stem().string();
  }

 private:
  static constexpr std::string_view kMark = "# --- expect\n";
  std::string path_, text_, input_;
  size_t mark_ = std::string::npos;
};

}  // namespace quern::fuse
