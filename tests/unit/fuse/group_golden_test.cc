// tests/golden/group/*.qn: a kernel, a line `# at M=…` with its sizes, a line `# --- expect`, then what is stored and the
// kernels that it becomes, for a machine of two units. The first comment says which trap the file guards.
// QUERN_UPDATE=1 rewrites the expectations.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/text.h"
#include "fuse/group.h"
#include "fuse/lower.h"
#include "grouped.h"
#include "tile/print.h"
#include "tile/verify.h"

namespace quern::fuse {
namespace {

constexpr std::string_view kMark = "# --- expect\n";
constexpr std::string_view kAt = "# at ";

std::map<std::string, int64_t> sizes_of(const std::string& line) {
  std::map<std::string, int64_t> out;
  std::istringstream words(line);
  for (std::string w; words >> w;) out[w.substr(0, w.find('='))] = std::stoll(w.substr(w.find('=') + 1));
  return out;
}

class GroupGolden : public testing::TestWithParam<std::string> {};

TEST_P(GroupGolden, Kernels) {
  std::ifstream file(GetParam());
  std::stringstream whole;
  whole << file.rdbuf();
  std::string text = whole.str();
  size_t mark = text.find(kMark), at = text.find(kAt);
  ASSERT_NE(at, std::string::npos);
  std::string input = text.substr(0, mark);
  ASSERT_TRUE(input.starts_with("# ")) << GetParam() << " does not say which trap it guards";
  Bound b(input, sizes_of(text.substr(at + kAt.size(), text.find('\n', at) - at - kAt.size())));
  auto grouped = group(*b.program, b.binding, two_units());
  ASSERT_TRUE(grouped) << render(grouped.error());
  std::string got;
  for (const Diagnostic& d : grouped->remarks) got += std::string(row(d.code).name) + " " + d.message + "\n";
  tile::Program lowered = lower(grouped->graph, two_units()).program;
  EXPECT_EQ(render(tile::verify(lowered)), "");
  got += tile::print(lowered);
  if (std::getenv("QUERN_UPDATE")) {
    ASSERT_TRUE(write_file(GetParam(), input + std::string(kMark) + got).has_value());
    return;
  }
  ASSERT_NE(mark, std::string::npos) << GetParam() << " has no expectation: run with QUERN_UPDATE=1";
  EXPECT_EQ(got, text.substr(mark + kMark.size())) << GetParam();
}

std::vector<std::string> files() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator("tests/golden/group")) {
    if (entry.path().extension() == ".qn") out.push_back(entry.path().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

INSTANTIATE_TEST_SUITE_P(Files, GroupGolden, testing::ValuesIn(files()),
                         [](const auto& info) { return std::filesystem::path(info.param).stem().string(); });

}  // namespace
}  // namespace quern::fuse
