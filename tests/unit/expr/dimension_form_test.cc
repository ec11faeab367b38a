// Laws of the normal form of dimensions, on random polynomials.
#include "expr/dimension_form.h"

#include <gtest/gtest.h>

#include "choices.h"
#include "expr/print.h"
#include "lang/parse.h"

namespace quern::expr {
namespace {

NodePtr dimension(const std::string& text) { return *lang::parse_expression(Source::make("test", text)); }
bool same(const std::string& a, const std::string& b) { return same_dimension(dimension(a), dimension(b)); }

// Small, so that products of a few don't overflow.
NodePtr random_dimension(fuzz::Choices& choose, int depth) {
  if (depth <= 0 || choose.one_in(4)) return dimension(choose.of<std::string>({"M", "N", "K", "0", "1", "2", "3"}));
  NodePtr a = random_dimension(choose, depth - 1), b = random_dimension(choose, depth - 1);
  switch (choose.below(6)) {
    case 0: return make_op(Op::kFloorDiv, {a, make_integer(1 + choose.below(4))});
    case 1: return make_op(Op::kDiv, {a, make_integer(1 + choose.below(4))});
    case 2: return make_op(Op::kSub, {a, b});
    case 3: return make_op(Op::kMul, {a, b});
    default: return make_op(Op::kAdd, {a, b});
  }
}

NodePtr op(Op o, NodePtr a, NodePtr b) { return make_op(o, {std::move(a), std::move(b)}); }

TEST(DimensionForm, IsARing) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    fuzz::Choices choose(seed);
    NodePtr a = random_dimension(choose, 3), b = random_dimension(choose, 3), c = random_dimension(choose, 2);
    auto equal_forms = [&](const char* law, const NodePtr& x, const NodePtr& y) {
      auto p = dimension_form(x), q = dimension_form(y);
      if (!p || !q) return;  // overflow
      EXPECT_TRUE(*p == *q) << law << ", seed " << seed << ": " << print(x) << " and " << print(y);
    };
    equal_forms("a + b", op(Op::kAdd, a, b), op(Op::kAdd, b, a));
    equal_forms("a * b", op(Op::kMul, a, b), op(Op::kMul, b, a));
    equal_forms("associative", op(Op::kAdd, op(Op::kAdd, a, b), c), op(Op::kAdd, a, op(Op::kAdd, b, c)));
    equal_forms("associative", op(Op::kMul, op(Op::kMul, a, b), c), op(Op::kMul, a, op(Op::kMul, b, c)));
    equal_forms("distributive", op(Op::kMul, op(Op::kAdd, a, b), c), op(Op::kAdd, op(Op::kMul, a, c), op(Op::kMul, b, c)));
    equal_forms("a + b - b", op(Op::kSub, op(Op::kAdd, a, b), b), a);
    equal_forms("a - a", op(Op::kSub, a, a), make_integer(0));
    equal_forms("-a", make_op(Op::kNeg, {a}), op(Op::kSub, make_integer(0), a));
    equal_forms("a / 6 * 6", op(Op::kMul, op(Op::kDiv, a, make_integer(6)), make_integer(6)), a);
    equal_forms("a // 3", op(Op::kFloorDiv, op(Op::kAdd, a, b), make_integer(3)), op(Op::kFloorDiv, op(Op::kAdd, b, a), make_integer(3)));
  }
}

TEST(DimensionForm, EqualityIsThatOfFormulas) {
  EXPECT_TRUE(same("K / 2 * 2", "K"));
  EXPECT_TRUE(same("N - M + M", "N"));
  EXPECT_TRUE(same("2 * (N + 1)", "N + N + 2"));
  EXPECT_TRUE(same("(N + 31) // 32", "(31 + N) // 32"));
  EXPECT_TRUE(same("N * M / M", "N"));
  EXPECT_TRUE(same("7 // 2", "3"));
  EXPECT_TRUE(same("-7 // 2", "-4"));
  EXPECT_FALSE(same("N // 2 * 2", "N"));
  EXPECT_FALSE(same("N", "M"));
  EXPECT_FALSE(same("N // 2", "N / 2"));
  EXPECT_FALSE(same("(N + 1) // 2", "(N + 2) // 2"));
  EXPECT_FALSE(same("N", "N + 1"));
  EXPECT_FALSE(same("N * N", "N"));
}

TEST(DimensionForm, OfWhatIsNoneIsNone) {
  for (const char* text : {"0.5 * N", "n", "x[0]", "N % 2", "max(N, 2)", "N & 3", "sum[i < N] 1"}) {
    EXPECT_FALSE(dimension_form(dimension(text))) << text;
  }
  std::string big = "9223372036854775807";
  EXPECT_FALSE(dimension_form(dimension(big + " * N * 2")));
  EXPECT_FALSE(dimension_form(dimension(big + " + 1")));
}

TEST(DimensionForm, NamesAreFoundEverywhere) {
  std::vector<Symbol> names = dimension_names(dimension("(N + M // (K * 2)) / N"));
  EXPECT_EQ(names, (std::vector<Symbol>{Symbol("N"), Symbol("M"), Symbol("K")}));
}

TEST(DimensionForm, LinearInAName) {
  auto linear = [](const std::string& text, const char* name) { return linear_in(*dimension_form(dimension(text)), Symbol(name)); };
  auto form = [](const std::string& text) { return *dimension_form(dimension(text)); };
  auto n = linear("2 * N + M - 1", "N");
  ASSERT_TRUE(n);
  EXPECT_TRUE(n->slope == form("2"));
  EXPECT_TRUE(n->offset == form("M - 1"));
  auto product = linear("N * M + N // 1", "N");
  EXPECT_FALSE(linear("N * N", "N"));
  EXPECT_FALSE(linear("M + 1", "N"));
  EXPECT_FALSE(linear("N + N // 2", "N"));
  EXPECT_FALSE(linear("M / N", "N"));
  EXPECT_TRUE(linear("N * M", "N"));
  EXPECT_TRUE(linear("N + M // 2", "N"));
}

TEST(Rational, StaysInLowestTerms) {
  EXPECT_EQ(*add({1, 2}, {1, 3}), (Rational{5, 6}));
  EXPECT_EQ(*multiply({2, 3}, {3, 2}), (Rational{1, 1}));
  EXPECT_EQ(*divide({1, 2}, {-1, 4}), (Rational{-2, 1}));
  EXPECT_EQ(*add({1, 2}, {-1, 2}), (Rational{0, 1}));
  EXPECT_FALSE(divide({1, 1}, {0, 1}));
  EXPECT_FALSE(multiply({INT64_MAX, 1}, {2, 1}));
  EXPECT_FALSE(add({INT64_MAX, 1}, {1, 1}));
}

}  // namespace
}  // namespace quern::expr
