// What looks right in C++ and would mean something else: most of it doesn't compile, and the rest means what it says.
#include <gtest/gtest.h>

#include "quern/notation.h"
#include "quern/prelude.h"

namespace quern {
namespace {

template <class A, class B>
concept Divides = requires(const A& a, const B& b) {
  a / b;
};
template <class A, class B>
concept FloorDivides = requires(const A& a, const B& b) {
  floor_div(a, b);
};
template <class A, class B, class C>
concept Chains = requires(const A& a, const B& b, const C& c) {
  a <= b < c;
};
template <class A, class B, class C>
concept ChainsDown = requires(const A& a, const B& b, const C& c) {
  a > b >= c;
};
template <class A>
concept IsTrue = requires(const A& a) {
  a ? 1 : 0;
};

// Index / int would be a real subscript: floor_div.
static_assert(!Divides<Index, int>);
static_assert(!Divides<Index, int64_t>);
static_assert(!Divides<Index, Dim>);
static_assert(!Divides<Index, DimExpr>);
static_assert(!Divides<Index, Index>);
static_assert(FloorDivides<Index, int> && FloorDivides<Index, Dim> && FloorDivides<Index, Index>);
static_assert(Divides<Expr, int> && Divides<Index, double> && Divides<Expr, Dim> && Divides<Dim, int>);

// lo <= n < hi is C++'s (lo <= n) < hi: between.
static_assert(!Chains<int, Index, int>);
static_assert(!Chains<int, Index, Dim>);
static_assert(!Chains<Expr, Expr, Expr>);
static_assert(!ChainsDown<Dim, Index, int>);

// A comparison of expressions is an expression, never C++'s truth.
static_assert(!IsTrue<Condition> && !IsTrue<Expr>);

// Definitions give nothing back, and a tensor can't be given another one.
static_assert(std::is_same_v<decltype(std::declval<Ref&>() = std::declval<const Ref&>()), void>);
static_assert(std::is_same_v<decltype(std::declval<Ref&>() = std::declval<const Expr&>()), void>);
static_assert(!std::is_assignable_v<Tensor&, const Tensor&> && !std::is_assignable_v<Tensor&, Expr>);

// An index is no number, sizes are formulas of dimensions, and a range is no value.
static_assert(!std::is_constructible_v<Index, int> && !std::is_convertible_v<int, Index>);
static_assert(!std::is_convertible_v<Index, DimExpr> && !std::is_convertible_v<double, DimExpr>);
static_assert(std::is_convertible_v<Dim, DimExpr> && std::is_convertible_v<int, DimExpr>);
static_assert(!std::is_convertible_v<Range, Expr> && std::is_convertible_v<Index, Range>);
static_assert(!std::is_convertible_v<const char*, Expr> && !std::is_convertible_v<std::nullptr_t, Expr>);

const Type T("T");
const Dim M("M"), N("N");
const Index m("m"), n("n");

TEST(Traps, RefToRefDefines) {
  Tensor x("x", T, {M, N}), y("y", T, {N, M});
  y(n, m) = x(m, n);  // both sides are Ref
  EXPECT_EQ(print(Kernel("transpose", {x}, {y})),
            "kernel transpose(x: T[M, N]) -> y: T[N, M] {\n  y[n, m] = x[m, n]\n}\n");
}

TEST(Traps, ANamedRefDefinesToo) {
  Tensor x("x", T, {M}), y("y", T, {M});
  Ref left = y(m);
  Ref right = x(m);
  left = right;
  EXPECT_EQ(print(Kernel("copy", {x}, {y})), "kernel copy(x: T[M]) -> y: T[M] {\n  y[m] = x[m]\n}\n");
}

TEST(Traps, MaxOfAnIndexReducesAndOfOtherThingsCompares) {
  Tensor x("x", T, {M});
  EXPECT_EQ(max(m, x(m)).text(), "max[m] x[m]");
  EXPECT_EQ(max(m.below(3), x(m)).text(), "max[m < 3] x[m]");
  EXPECT_EQ(max({m}, x(m)).text(), "max[m] x[m]");
  EXPECT_EQ(max({m, n.below(N)}, x(m)).text(), "max[m, n < N] x[m]");
  EXPECT_EQ(max(x(m), 0).text(), "max(x[m], 0)");
  EXPECT_EQ(max(0, m).text(), "max(0, m)");
  EXPECT_EQ(min(x(m), m, 1.5).text(), "min(x[m], m, 1.5)");
  EXPECT_EQ(min(Expr(m), n).text(), "min(m, n)");
}

TEST(Traps, BetweenIsTheNotationsChain) {
  EXPECT_EQ(between(m + 1, 0, M).text(), "0 <= m + 1 < M");
  EXPECT_EQ((0 <= m && m < M).text(), "0 <= m and m < M");
}

TEST(Traps, RangesSayTheirBounds) {
  EXPECT_EQ(sum(n.between(1, m), n).text(), "sum[1 <= n < m] n");
  EXPECT_EQ(sum(n.from(1).at_most(m), n).text(), "sum[1 <= n <= m] n");
  EXPECT_EQ(sum(n.above(0).below(m), n).text(), "sum[0 < n < m] n");
  EXPECT_EQ(sum(n.above(0).at_most(m), n).text(), "sum[0 < n <= m] n");
  EXPECT_EQ(sum(n.at_most(m), n).text(), "sum[n <= m] n");
}

TEST(Traps, NumbersPrintAsTheyReadBack) {
  EXPECT_EQ(Expr(-3).text(), "-3");
  EXPECT_EQ(Expr(0.5).text(), "0.5");
  EXPECT_EQ(Expr(2.0).text(), "2.0");
  EXPECT_EQ(Expr(1e-6).text(), "1e-6");
  EXPECT_EQ(Expr(1e30).text(), "1e30");
  EXPECT_EQ(Expr(-inf).text(), "-inf");
  EXPECT_EQ(Expr(nan).text(), "nan");
  EXPECT_EQ(Expr(true).text(), "true");
  EXPECT_EQ(Expr(INT64_MIN).text(), "0x8000000000000000");
  EXPECT_EQ((2 - Expr(-3)).text(), "2 - -3");
  EXPECT_EQ((m - (n - 1) * 2 / M).text(), "m - (n - 1) * 2 / M");
  EXPECT_EQ((-Expr(M) * m).text(), "-M * m");
}

TEST(Traps, EveryOperatorIsTheNotations) {
  EXPECT_EQ(((m & 3) | (n ^ 1)).text(), "(m & 3) | (n ^ 1)");
  EXPECT_EQ(((m << 2) >> n).text(), "(m << 2) >> n");
  EXPECT_EQ((m % 4 == 0 || (!(n != 1) && m > 2)).text(), "m % 4 == 0 or (not n != 1 and m > 2)");
  EXPECT_EQ(if_else(m >= n, m, inf).text(), "m if m >= n else inf");
  EXPECT_EQ(i32(floor(Expr(m) / 2)).text(), "i32(floor(m / 2))");
  EXPECT_EQ(boolean(m).text(), "bool(m)");
  EXPECT_EQ(T(m).text(), "T(m)");
  EXPECT_EQ(floor_div(m, N - M).text(), "m // (N - M)");
  EXPECT_EQ(any(m.below(3), m == n).text(), "any[m < 3] (m == n)");
}

}  // namespace
}  // namespace quern
