// Golden files: tests/golden/expr/*.qn hold a file of the notation, a line `# --- expect`, and its kernels as checked
// programs print them. The first comment says which trap the file guards. QUERN_UPDATE=1 rewrites the expectations.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/text.h"
#include "expr/print.h"
#include "lang/load.h"

namespace quern {
namespace {

constexpr std::string_view kMark = "# --- expect\n";

std::string printed(const std::string& name, const std::string& text) {
  lang::Unit unit = lang::load(Source::make(name, text));
  std::string out = render(unit.errors);
  for (const lang::CheckedKernel& k : unit.kernels) {
    if (!out.empty()) out += "\n";
    if (k.program) out += expr::print(expr::to_kernel(*k.program));
  }
  return out;
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, CheckedProgram) {
  std::string path = GetParam();
  std::ifstream file(path);
  std::stringstream whole;
  whole << file.rdbuf();
  std::string text = whole.str();
  size_t mark = text.find(kMark);
  std::string input = text.substr(0, mark);
  ASSERT_TRUE(input.starts_with("# ")) << path << " does not say which trap it guards";
  std::string got = printed(path, input);
  if (std::getenv("QUERN_UPDATE")) {
    ASSERT_TRUE(write_file(path, input + std::string(kMark) + got).has_value());
    return;
  }
  ASSERT_NE(mark, std::string::npos) << path << " has no expectation: run with QUERN_UPDATE=1";
  EXPECT_EQ(got, text.substr(mark + kMark.size())) << path;
  // What is printed means the same: checked again it prints the same.
  for (const lang::CheckedKernel& k : lang::load(Source::make("again", got)).kernels) {
    ASSERT_TRUE(k.program.has_value());
    EXPECT_NE(got.find(expr::print(expr::to_kernel(*k.program))), std::string::npos);
  }
}

std::vector<std::string> files() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator("tests/golden/expr")) {
    if (entry.path().extension() == ".qn") out.push_back(entry.path().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

INSTANTIATE_TEST_SUITE_P(Expr, Golden, testing::ValuesIn(files()),
                         [](const auto& info) { return std::filesystem::path(info.param).stem().string(); });

}  // namespace
}  // namespace quern
