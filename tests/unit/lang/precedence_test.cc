// How tightly each operator binds: Python's order, with reductions between + and *. Expectations are written with all
// parentheses, by a printer of its own.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "expr/node.h"
#include "expr/print.h"
#include "lang/parse.h"

namespace quern::lang {
namespace {

using expr::Family;
using expr::NodePtr;
using expr::Op;

std::string full(const NodePtr& n) {
  const expr::OpRow& r = expr::row(*n);
  switch (r.family) {
    case Family::arithmetic:
    case Family::bits:
    case Family::compare:
    case Family::logic: return fmt::format("({} {} {})", full(n->args[0]), r.text, full(n->args[1]));
    case Family::negate: return "(-" + full(n->args[0]) + ")";
    case Family::negation: return "(not " + full(n->args[0]) + ")";
    case Family::select: return fmt::format("({} if {} else {})", full(n->args[0]), full(n->args[1]), full(n->args[2]));
    case Family::reduction: return fmt::format("({}[{}] {})", r.text, expr::print(n->binders[0]), full(n->args[0]));
    default: return expr::print(n);
  }
}

std::string parsed(const std::string& text) {
  auto node = parse_expression(Source::make("test", text));
  return node ? full(*node) : "error: " + node.error()[0].message;
}

// Loosest first; all of one row are equal and group from the left.
const std::vector<std::vector<std::string>> kLevels = {
    {"or"}, {"and"}, {"<", "<=", ">", ">=", "==", "!="}, {"|"}, {"^"}, {"&"}, {"<<", ">>"}, {"+", "-"}, {"*", "/", "//", "%"},
};

TEST(Precedence, OfEachPairOfOperators) {
  for (size_t i = 0; i < kLevels.size(); ++i) {
    for (size_t j = 0; j < kLevels.size(); ++j) {
      for (const std::string& first : kLevels[i]) {
        for (const std::string& second : kLevels[j]) {
          bool chain = i == 2 && j == 2;
          std::string expected = chain ? fmt::format("((a {} b) and (b {} c))", first, second)
                                 : j > i ? fmt::format("(a {} (b {} c))", first, second)
                                         : fmt::format("((a {} b) {} c)", first, second);
          EXPECT_EQ(parsed(fmt::format("a {} b {} c", first, second)), expected);
        }
      }
    }
  }
}

TEST(Precedence, OfReductions) {
  EXPECT_EQ(parsed("sum[k] a * b + c"), "((sum[k] (a * b)) + c)");
  EXPECT_EQ(parsed("x * sum[k] a * y"), "(x * (sum[k] (a * y)))");
  EXPECT_EQ(parsed("x + sum[k] a + y"), "((x + (sum[k] a)) + y)");
  EXPECT_EQ(parsed("sum[k] a / b % c - d"), "((sum[k] ((a / b) % c)) - d)");
  EXPECT_EQ(parsed("-sum[k] a * b"), "(-(sum[k] (a * b)))");
  EXPECT_EQ(parsed("sum[k] -a * b"), "(sum[k] ((-a) * b))");
  EXPECT_EQ(parsed("sum[k] a > 0"), "((sum[k] a) > 0)");
  EXPECT_EQ(parsed("sum[i] a * sum[j] b * c"), "(sum[i] (a * (sum[j] (b * c))))");
  EXPECT_EQ(parsed("sum[i] sum[j] a << 2"), "((sum[i] (sum[j] a)) << 2)");
  EXPECT_EQ(parsed("max[i] a if c else b"), "((max[i] a) if c else b)");
}

TEST(Precedence, OfPrefixes) {
  EXPECT_EQ(parsed("-a * b"), "((-a) * b)");
  EXPECT_EQ(parsed("a * -b"), "(a * (-b))");
  EXPECT_EQ(parsed("--a"), "(-(-a))");
  EXPECT_EQ(parsed("a - -b"), "(a - (-b))");
  EXPECT_EQ(parsed("not a and b"), "((not a) and b)");
  EXPECT_EQ(parsed("not not a or b"), "((not (not a)) or b)");
  EXPECT_EQ(parsed("not a < b"), "(not (a < b))");
  EXPECT_EQ(parsed("a and not b or c"), "((a and (not b)) or c)");
}

TEST(Precedence, OfConditions) {
  EXPECT_EQ(parsed("a if b else c if d else e"), "(a if b else (c if d else e))");
  EXPECT_EQ(parsed("a or b if c or d else e"), "((a or b) if (c or d) else e)");
  EXPECT_EQ(parsed("a + b if c else d + e"), "((a + b) if c else (d + e))");
  EXPECT_EQ(parsed("(a if b else c) if d else e"), "((a if b else c) if d else e)");
}

TEST(Precedence, OfChains) {
  EXPECT_EQ(parsed("0 <= i < n"), "((0 <= i) and (i < n))");
  EXPECT_EQ(parsed("a < b < c < d"), "(((a < b) and (b < c)) and (c < d))");
  EXPECT_EQ(parsed("a < b and b < c"), "((a < b) and (b < c))");
  EXPECT_EQ(parsed("a + 1 < b | c <= d"), "(((a + 1) < (b | c)) and ((b | c) <= d))");
  // A chain prints as one; the same comparisons joined by hand don't.
  auto chain = parse_expression(Source::make("test", "a < b < c")), joined = parse_expression(Source::make("test", "a < b and b < c"));
  EXPECT_EQ(expr::print(*chain), "a < b < c");
  EXPECT_EQ(expr::print(*joined), "a < b and b < c");
}

TEST(Precedence, ACallIsToldFromASubscriptByWhatFollows) {
  auto op = [](const char* text) { return (*parse_expression(Source::make("test", text)))->op; };
  EXPECT_EQ(op("f[i](x)"), Op::kCall);
  EXPECT_EQ(op("f[i]"), Op::kSubscript);
  EXPECT_EQ(op("f(i)"), Op::kCall);
  EXPECT_EQ(op("max[i] x"), Op::kMax);
  EXPECT_EQ(op("max(i, x)"), Op::kMaxOf);
  EXPECT_EQ(op("T(x)"), Op::kCall);
  EXPECT_EQ(op("f32(x)"), Op::kCast);
}

TEST(Precedence, NumbersHaveTheirValue) {
  auto integer = [](const char* text) { return (*parse_expression(Source::make("test", text)))->integer; };
  EXPECT_EQ(integer("12"), 12);
  EXPECT_EQ(integer("007"), 7);
  EXPECT_EQ(integer("0x1F"), 31);
  EXPECT_EQ(integer("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(integer("0xffffffffffffffff"), -1);
  auto real = [](const char* text) { return (*parse_expression(Source::make("test", text)))->real; };
  EXPECT_EQ(real("0.1"), 0.1);
  EXPECT_EQ(real("1e-6"), 1e-6);
  EXPECT_EQ(real("1e-999"), 0.0);  // underflow is a zero
  EXPECT_EQ(real("4.9406564584124654e-324"), 4.9406564584124654e-324);
  EXPECT_EQ(real("1E-999"), 0.0);
}

}  // namespace
}  // namespace quern::lang
