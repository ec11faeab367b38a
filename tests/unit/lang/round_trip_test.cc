// Printing and parsing: parse(print(x)) is x, print(parse(t)) is a fixed point, no comment is lost.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <sstream>

#include "expr/print.h"
#include "lang/load.h"
#include "lang/parse.h"
#include "lang/token.h"
#include "library.h"
#include "random_kernel.h"
#include "random_syntax.h"

namespace quern::lang {
namespace {

Parsed parsed(const std::string& text) { return parse(Source::make("test.qn", text)); }

std::vector<std::string> comments(const std::string& text) {
  Diagnostics ignored;
  std::vector<std::string> out;
  for (const Comment& c : tokenize(*Source::make("test.qn", text), ignored).comments) out.push_back(c.text);
  return out;
}

// A line longer than 120 columns has no place left to break: no comma and no operator behind its `=`, or none at all.
// First lines of kernels break between parameters only.
void expect_no_break_left(const std::string& text, uint64_t seed) {
  std::istringstream lines(text);
  bool signature = false;
  for (std::string line; std::getline(lines, line);) {
    signature |= line.starts_with("kernel");
    bool skipped = signature || line.starts_with("fn");
    signature &= !line.ends_with("{");
    line = line.substr(0, std::min(line.find("  # "), line.size()));
    if (skipped || line.size() <= 120) continue;
    size_t left = line.find(" = ");
    size_t begin = left != std::string::npos ? left + 3 : line.find_first_not_of(' ');
    std::string_view rest = std::string_view(line).substr(0, 120);
    for (std::string_view sign : {", ", " + ", " * ", " and "}) {
      size_t at = rest.rfind(sign);
      EXPECT_FALSE(at != std::string_view::npos && at > begin) << "seed " << seed << ": " << line;
    }
  }
}

TEST(RoundTrip, OfTheLibrary) {
  if (fuzz::library().empty()) GTEST_SKIP() << "no kernels/";
  for (const fuzz::File& file : fuzz::library()) {
    Parsed first = parsed(file.text);
    EXPECT_EQ(render(first.errors), "") << file.path;
    std::string text = expr::print(first.module);
    EXPECT_EQ(text, file.text) << file.path << " is not in canonical form";
    Parsed second = parsed(text);
    EXPECT_TRUE(expr::equal(first.module, second.module)) << file.path;
    EXPECT_EQ(expr::print(second.module), text) << file.path;
    EXPECT_EQ(comments(text), comments(file.text)) << file.path;
  }
}

TEST(RoundTrip, OfThePrelude) {
  std::string text(prelude()->text());
  EXPECT_EQ(expr::print(parsed(text).module), text);
}

TEST(RoundTrip, OfRandomModules) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    expr::Module module = fuzz::random_syntax(seed);
    std::string text = expr::print(module);
    Parsed second = parsed(text);
    ASSERT_EQ(render(second.errors), "") << "seed " << seed << "\n" << text;
    ASSERT_TRUE(expr::equal(module, second.module)) << "seed " << seed << "\n" << text << "\n--- read as\n" << expr::print(second.module);
    ASSERT_EQ(expr::print(second.module), text) << "seed " << seed;
    expect_no_break_left(text, seed);
  }
}

// However a program is laid out, formatting it keeps its tokens and its comments in order.
TEST(RoundTrip, OfRandomLayouts) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::string text = expr::print(fuzz::random_syntax(seed));
    std::string tight = std::regex_replace(text, std::regex(", "), ",");
    std::string wide = std::regex_replace(text, std::regex("\n"), " \r\n");
    std::string apart = std::regex_replace(text, std::regex(R"(([-+*/]) )"), "$1 # between\n      ");
    for (const std::string& layout : {tight, wide, apart}) {
      if (layout == apart && text.find('#') != std::string::npos) continue;  // it would cut comments
      Parsed module = parsed(layout);
      ASSERT_EQ(render(module.errors), "") << "seed " << seed << "\n" << layout;
      std::string formatted = expr::print(module.module);
      ASSERT_EQ(comments(formatted), comments(layout)) << "seed " << seed << "\n" << layout << "\n---\n" << formatted;
      ASSERT_EQ(expr::print(parsed(formatted).module), formatted) << "seed " << seed << "\n" << layout;
    }
  }
}

TEST(RoundTrip, CommentsStayWithTheirItem) {
  std::string text = R"(# About the file.

# About f.
fn f(x) {
  # About a.
  a = 2 * x  # doubled
  # About the value.
  return a  # returned
  # The end of f.
}  # behind f

# About k.
kernel k(x: T[N]) -> y: T[N] {
  # About y.
  y[i] = x[i]  # copied
  # The end of k.
}

# The end of the file.
)";
  EXPECT_EQ(expr::print(parsed(text).module), text);
}

TEST(RoundTrip, CommentsInsideMoveAboveInOrder) {
  std::string text = "kernel k(  # one\n  x: T[N]  # two\n) -> y: T[N] {  # three\n  y[i] = x[i] +  # four\n    1  # five\n}  # six\n";
  std::string out = expr::print(parsed(text).module);
  EXPECT_EQ(comments(out), comments(text)) << out;
  EXPECT_EQ(expr::print(parsed(out).module), out);
}

TEST(RoundTrip, LongLinesBreak) {
  std::string sum = "x[i]";
  for (int i = 0; i < 200; ++i) sum += " + x[i]";
  std::string parameters = "x: T[N]", results = "y: T[N]";
  for (int i = 0; i < 40; ++i) parameters += ", parameter" + std::to_string(i) + ": f32[N, M]";
  for (int i = 0; i < 20; ++i) results += ", result" + std::to_string(i) + ": f32[N, M]";
  for (const std::string& text : {"kernel k(x: T[N]) -> y: T[N] {\n  y[i] = " + sum + "\n}\n",
                                  "fn f(x) = " + sum + "\n", "fn f(x) {\n  return " + sum + "\n}\n", "const A = " + sum + "\n",
                                  "kernel k(" + parameters + ") -> (" + results + ") {\n  y[i] = x[i]\n}\n",
                                  "kernel k(x: T[N]) -> y: T[N] {\n  y[i] = max(" + sum + ", 0) if all[i] x[i] == 1 else (" + sum + ")\n}\n"}) {
    Parsed module = parsed(text);
    ASSERT_EQ(render(module.errors), "");
    std::string out = expr::print(module.module);
    for (size_t begin = 0, end; (end = out.find('\n', begin)) != std::string::npos; begin = end + 1) {
      EXPECT_LE(end - begin, 120u) << out.substr(begin, end - begin);
    }
    EXPECT_TRUE(expr::equal(module.module, parsed(out).module));
    EXPECT_EQ(expr::print(parsed(out).module), out);
  }
}

}  // namespace
}  // namespace quern::lang
