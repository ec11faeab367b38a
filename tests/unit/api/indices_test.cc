// An index is an object: what its name is must not change what a kernel means.
#include <gtest/gtest.h>

#include "api/kernel_state.h"
#include "expr/print.h"
#include "lang/load.h"
#include "quern/notation.h"
#include "quern/prelude.h"

namespace quern {
namespace {

const Type T("T");
const Dim M("M"), N("N"), K("K");
const Index m("m"), n("n"), k("k");

std::string body(const Kernel& kernel) {
  std::string text = print(kernel);
  size_t begin = text.find("{\n") + 2;
  return text.substr(begin, text.rfind('}') - begin);
}

// The checked program of a kernel, as text.
std::string meaning(const Kernel& kernel) {
  auto program = internal::checked(*internal::Access::of(kernel));
  return program ? expr::print(expr::to_kernel(**program)) : render(program.error());
}

std::string meaning(const std::string& text) {
  lang::Unit unit = lang::load(Source::make("t", text));
  return unit.errors.empty() ? expr::print(expr::to_kernel(*unit.kernels[0].program)) : render(unit.errors);
}

TEST(Indices, AnInnerOneOfTheSameNameIsRenamed) {
  Index other("n");
  Tensor x("x", T, {N, N}), y("y", T, {N});
  y(n) = sum(other, x(n, other));
  EXPECT_EQ(body(Kernel("f", {x}, {y})), "  y[n] = sum[n2] x[n, n2]\n");
}

TEST(Indices, TheSameOneMayBeBoundAgain) {
  Tensor x("x", T, {N}), y("y", T, {N});
  y(n) = x(n) / sum(n, x(n));
  EXPECT_EQ(body(Kernel("f", {x}, {y})), "  y[n] = x[n] / sum[n] x[n]\n");
}

TEST(Indices, ANameIsKeptWhereTheOuterOneIsNotUsed) {
  Index other("n");
  Tensor x("x", T, {N}), y("y", T, {N});
  y(n) = x(n) / sum(other, x(other));
  EXPECT_EQ(body(Kernel("f", {x}, {y})), "  y[n] = x[n] / sum[n] x[n]\n");
}

TEST(Indices, TwoOfOneNameOnTheLeftAreNoDiagonal) {
  Index other("n");
  Tensor x("x", T, {N, N}), y("y", T, {N, N});
  y(n, other) = x(other, n);
  EXPECT_EQ(body(Kernel("f", {x}, {y})), "  y[n, n2] = x[n2, n]\n");
}

TEST(Indices, ABoundMayUseTheOuterOneOfItsName) {
  Index other("n");
  Tensor x("x", T, {N}), y("y", T, {N});
  y(n) = sum(other.at_most(n), x(other));
  EXPECT_EQ(body(Kernel("f", {x}, {y})), "  y[n] = sum[n2 <= n] x[n2]\n");
}

TEST(Indices, ACallWhoseValueDependsOnTheOuterOneIsNotCaptured) {
  Index other("n");
  Tensor x("x", T, {M, N}), y("y", T, {M, N});
  y(m, n) = sum(other, softmax(n, x(m, n)) * x(m, other));
  Kernel kernel("f", {x}, {y});
  EXPECT_EQ(body(kernel), "  y[m, n] = sum[n2] softmax[n](x[m, n]) * x[m, n2]\n");
  EXPECT_TRUE(kernel.check());
}

TEST(Indices, AnUnboundOneIsNotTakenForAnother) {
  Index other("n");
  Tensor x("x", T, {N}), y("y", T, {N});
  y(n) = x(n) + x(other);
  auto checked = Kernel("f", {x}, {y}).check();
  ASSERT_FALSE(checked);
  EXPECT_TRUE(checked.error().has("E201"));
  EXPECT_EQ(checked.error().front().message, "n2 is not bound here");
}

TEST(Indices, FreshOnesGiveWayToTensors) {
  Index j = Index::fresh("x");
  Tensor x("x", T, {N}), y("y", T, {N});
  y(n) = x(n) / sum(j, x(j));
  Kernel kernel("f", {x}, {y});
  EXPECT_EQ(body(kernel), "  y[n] = x[n] / sum[x2] x[x2]\n");
  EXPECT_TRUE(kernel.check());
}

TEST(Indices, OthersDoNot) {
  Index j("x");
  Tensor x("x", T, {N}), y("y", T, {N});
  y(n) = x(n) / sum(j, x(j));
  EXPECT_TRUE(Kernel("f", {x}, {y}).check().error().has("E203"));
}

// --- functions written in C++ ---

Expr my_softmax(const Ranges& i, const Expr& x) {
  Expr largest = max(i, x);
  return if_else(largest == -inf, 0, exp(x - largest) / sum(i, exp(x - largest)));
}

Expr my_rank(const Index& i, const Expr& x) {
  Index j = Index::fresh("j");
  Expr other = at(x, i, j);
  return count(j, other > x || (other == x && j < i));
}

TEST(Functions, AreExpandedToWhatTheirTextMeans) {
  Tensor x("x", T, {M, N}), y("y", T, {M, N});
  y(m, n) = my_softmax(n, x(m, n));
  EXPECT_EQ(meaning(Kernel("f", {x}, {y})),
            meaning("kernel f(x: T[M, N]) -> y: T[M, N] { y[m, n] = softmax[n](x[m, n]) }"));
}

TEST(Functions, ReadTheirArgumentElsewhere) {
  Tensor x("x", T, {M, N}), y("y", i32, {M, N});
  y(m, n) = my_rank(n, x(m, n));
  Kernel kernel("f", {x}, {y});
  EXPECT_EQ(body(kernel), "  y[m, n] = count[j](x[m, j] > x[m, n] or (x[m, j] == x[m, n] and j < n))\n");
  EXPECT_EQ(meaning(kernel), meaning("kernel f(x: T[M, N]) -> y: i32[M, N] { y[m, n] = rank[n](x[m, n]) }"));
}

TEST(Functions, AtDoesNotCapture) {
  Index inner("k");
  Tensor x("x", T, {M, K}), y("y", T, {M, K});
  // The sum's k is its own, the k that is put in for m is the one on the left.
  y(m, k) = at(sum(inner, x(m, inner)), m, k);
  EXPECT_EQ(body(Kernel("f", {x}, {y})), "  y[m, k] = sum[k2] x[k, k2]\n");
}

TEST(Functions, AtLeavesWhatIsBoundInside) {
  Tensor x("x", T, {N});
  EXPECT_EQ(at(x(n) / sum(n, x(n)), n, m + 1).text(), "x[m + 1] / sum[n] x[n]");
  EXPECT_EQ(at(logsumexp(n, x(n)), n, 3).text(), "logsumexp[n](x[n])");
}

TEST(Functions, AtRefusesACallThatHasAValueForEach) {
  Tensor x("x", T, {N}), y("y", T, {N});
  y(m) = at(softmax(n, x(n)), n, m);
  auto checked = Kernel("f", {x}, {y}).check();
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().front().code, "E602");
  EXPECT_EQ(checked.error().front().remedy, "give its value a name, p(n) = softmax(n, ...), and read that elsewhere");
}

// Every function of the prelude is there, and those that give a value for each index are known.
TEST(Prelude, HasItsFunctions) {
  Tensor x("x", f32, {N}), e("e", f32), seed("seed", i64);
  std::vector<Expr> calls = {
      sq(x(n)),         relu(x(n)),          sigmoid(x(n)),      silu(x(n)),         gelu(x(n)),
      gelu_tanh(x(n)),  softplus(x(n)),      clamp(x(n), 0, 1),  soft_cap(x(n), 30), logaddexp(x(n), e),
      uniform(seed, n), gumbel(seed, n),     count(m, x(m) > 0), mean(m, x(m)),      var(m, x(m)),
      rank(n, x(n)),    rmsnorm(n, x(n), e), softmax(n, x(n)),   logsumexp(m, x(m)), layernorm(n, x(n), e)};
  std::set<std::string> called;
  Tensor y("y", f32, {N});
  Expr total = 0;
  for (const Expr& call : calls) {
    total = total + call;
    called.insert(call.text().substr(0, call.text().find_first_of("[(")));
  }
  y(n) = total;
  auto checked = Kernel("f", {x, e, seed}, {y}).check();
  EXPECT_TRUE(checked) << checked.error().text();
  lang::Unit unit = lang::load(Source::make("t", ""));
  std::set<std::string> declared;
  for (const auto& [name, callable] : unit.declarations.functions) {
    declared.insert(name.str());
    if (callable.back().function->indices.empty()) continue;
    std::string use = name.str() + "[n](" + (name.str() == "count" ? "x[n] > 0" : "x[n]");
    if (callable.back().function->formals.size() > 1) use += ", 0.5";
    // Its value needs n outside just if it is one for each.
    lang::Unit probe = lang::load(Source::make("t", "kernel f(x: f32[N]) -> y: f32 { y = " + use + ") }"));
    EXPECT_EQ(internal::one_for_each(name), !probe.errors.empty()) << name.str();
  }
  EXPECT_EQ(called, declared);
}

}  // namespace
}  // namespace quern
