// Is every message the right one? A case is a file CODE_what.qn: a program, the line `# --- expect`, and exactly what
// Quern prints for it. A case of several files is a folder of that name whose main.qn has that form.
//
// QUERN_UPDATE=1 rewrites what is expected; read the difference before it lands. docs/errors.md shows the first case
// of each code.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "base/diagnostic.h"
#include "lang/load.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExpect = "# --- expect\n";
constexpr std::string_view kFolder = "tests/errors";

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Paths below kFolder, in order of name.
std::vector<std::string> cases() {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    fs::path name = entry.path().filename();
    if (entry.is_directory()) out.push_back((name / "main.qn").string());
    if (name.extension() == ".qn") out.push_back(name.string());
  }
  std::ranges::sort(out);
  return out;
}

std::string code_of(const std::string& path) { return path.substr(0, path.find_first_of("_./")); }

class Messages : public testing::TestWithParam<std::string> {
 protected:
  // Messages show paths as they were given: those of the cases are short.
  void SetUp() override { fs::current_path(kFolder); }
  void TearDown() override { fs::current_path(root_); }

 private:
  fs::path root_ = fs::current_path();
};

TEST_P(Messages, AreAsExpected) {
  std::string file = read(GetParam());
  size_t end = file.find(kExpect);
  ASSERT_NE(end, std::string::npos) << "no line `# --- expect`";
  std::string program = file.substr(0, end), expected = file.substr(end + kExpect.size());
  std::string rendered = render(lang::load(Source::make(GetParam(), program)).errors);
  const char* update = std::getenv("QUERN_UPDATE");
  if (update && std::string_view(update) == "1" && rendered != expected) {
    std::ofstream(GetParam(), std::ios::binary) << program << kExpect << rendered;
  } else {
    EXPECT_EQ(rendered, expected);
  }
  EXPECT_NE(rendered.find("error " + code_of(GetParam()) + ":"), std::string::npos) << "its own code is not among them";
}

// The notation has braces of its own, but never `{name}` in one word.
TEST_P(Messages, AreFilledIn) {
  std::string file = read(GetParam());
  std::string program = file.substr(0, file.find(kExpect));
  for (const Diagnostic& d : lang::load(Source::make(GetParam(), program)).errors) {
    std::string text = d.message + "\n" + d.remedy;
    EXPECT_FALSE(std::regex_search(text, std::regex(R"(\{\w+\})"))) << text;
    EXPECT_TRUE(d.span.source || d.code == Code::E117) << "no place: " << d.message;
    EXPECT_FALSE(d.message.ends_with('.')) << d.message;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Messages, testing::ValuesIn(cases()), [](const auto& info) {
  std::string name = info.param.substr(0, info.param.find('.'));
  std::ranges::replace(name, '/', '_');
  return name;
});

// Codes that no file by itself can cause, and the suites that cause them.
struct Elsewhere {
  std::string_view first, last;
  std::string_view suite;  // a folder or file of tests/; empty: nothing in this version gives them
};
constexpr Elsewhere kElsewhere[] = {
    {"E306", "E306", "unit/expr"},   // sizes: the prover
    {"E512", "E512", "unit/expr"},   // sizes: binding
    {"E701", "E717", "unit/expr"},   // arguments
    {"E720", "E731", "unit/array"},  // array files
    {"E740", "E744", "cli"},         // the command line
    {"E801", "E806", "unit/expr"},   // data: the interpreter
    {"N902", "N904", ""},            // devices
    {"N905", "N905", "cli"},
    {"R1", "R3", "unit/expr"},
    {"B001", "B001", ""},            // nothing should be able to
};

const Elsewhere* elsewhere(std::string_view code) {
  for (const Elsewhere& e : kElsewhere) {
    if (code.size() == e.first.size() && e.first <= code && code <= e.last) return &e;
  }
  return nullptr;
}

TEST(Catalogue, EveryCodeHasACaseOrASuite) {
  std::set<std::string> covered;
  for (const std::string& path : cases()) covered.insert(code_of(path));
  std::map<std::string_view, std::string> texts;
  for (const Elsewhere& e : kElsewhere) {
    fs::path suite = fs::path("tests") / e.suite;
    if (e.suite.empty() || texts.contains(e.suite) || !fs::exists(suite)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(suite)) {
      if (entry.is_regular_file()) texts[e.suite] += read(entry.path());
    }
  }
  std::set<std::string_view> absent;
  for (const CodeRow& row : code_rows()) {
    if (covered.contains(std::string(row.name))) continue;
    const Elsewhere* e = elsewhere(row.name);
    if (!e) {
      ADD_FAILURE() << row.name << " has no case in tests/errors/";
    } else if (!e->suite.empty() && !texts.contains(e->suite)) {
      absent.insert(e->suite);
    } else if (!e->suite.empty()) {
      bool found = std::regex_search(texts[e->suite], std::regex("\\b" + std::string(row.name) + "\\b"));
      EXPECT_TRUE(found) << row.name << " does not occur in tests/" << e->suite;
    }
  }
  for (std::string_view suite : absent) ADD_FAILURE() << "there is no tests/" << suite;
}

}  // namespace
}  // namespace quern
