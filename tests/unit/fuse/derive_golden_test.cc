// tests/golden/derive/*.qn: a kernel, a line `# over n` that names the streamed index, a line `# --- expect`, and the
// algebra as it prints. The first comment says which trap the file guards. QUERN_UPDATE=1 rewrites the expectations.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/text.h"
#include "derived.h"

namespace quern::fuse {
namespace {

constexpr std::string_view kMark = "# --- expect\n";

class DeriveGolden : public testing::TestWithParam<std::string> {};

TEST_P(DeriveGolden, Prints) {
  std::ifstream file(GetParam());
  std::stringstream whole;
  whole << file.rdbuf();
  std::string text = whole.str();
  size_t mark = text.find(kMark), over = text.find("# over ");
  ASSERT_NE(over, std::string::npos);
  std::string input = text.substr(0, mark);
  ASSERT_TRUE(input.starts_with("# ")) << GetParam() << " does not say which trap it guards";
  std::string axis = text.substr(over + 7, text.find('\n', over) - over - 7);
  // All different, so that no two indices are one axis.
  std::map<std::string, int64_t> sizes = {{"M", 16}, {"N", 32}, {"E", 8}, {"D", 4}};
  Derived d({input, sizes, axis, {}});
  std::string got = d.derivation.passes.empty() ? d.error + "\n" : print(d.derivation, d.facts);
  if (std::getenv("QUERN_UPDATE")) {
    ASSERT_TRUE(write_file(GetParam(), input + std::string(kMark) + got).has_value());
    return;
  }
  ASSERT_NE(mark, std::string::npos) << GetParam() << " has no expectation: run with QUERN_UPDATE=1";
  EXPECT_EQ(got, text.substr(mark + kMark.size())) << GetParam();
}

std::vector<std::string> files() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator("tests/golden/derive")) {
    if (entry.path().extension() == ".qn") out.push_back(entry.path().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

INSTANTIATE_TEST_SUITE_P(Files, DeriveGolden, testing::ValuesIn(files()),
                         [](const auto& info) { return std::filesystem::path(info.param).stem().string(); });

}  // namespace
}  // namespace quern::fuse
