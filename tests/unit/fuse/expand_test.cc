// From checked kernels to tile expressions: which axes are shared, what is guarded, in which order updates run.
#include "fuse/expand.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <unordered_set>

#include "expr/bind.h"
#include "fuse/all_pairs.h"
#include "lang/load.h"

namespace quern::fuse {
namespace {

struct Kernel {
  explicit Kernel(const std::string& text, const std::map<std::string, int64_t>& sizes) {
    unit = lang::load(Source::make("test.qn", text));
    EXPECT_TRUE(unit.errors.empty()) << render(unit.errors);
    expr::Request request;
    for (const auto& [name, size] : sizes) request.dimensions[Symbol(name)] = size;
    auto bound = expr::bind(*unit.kernels.front().program, request);
    EXPECT_TRUE(bound) << render(bound.error());
    binding = *std::move(bound);
  }
  Result<Graph> expanded(const ExpandOptions& options = {}) const {
    return expand(*unit.kernels.front().program, binding, options);
  }

  lang::Unit unit;
  expr::Binding binding;
};

// All expressions of a graph, each once.
void each(const Graph& graph, const std::function<void(const tile::Expr&)>& see) {
  std::unordered_set<const tile::Expr*> seen;
  std::function<void(const tile::ExprPtr&)> walk = [&](const tile::ExprPtr& e) {
    if (!e || !seen.insert(e.get()).second) return;
    see(*e);
    for (const tile::ExprPtr& a : e->args) walk(a);
    walk(e->guard);
  };
  for (const Definition& d : graph.definitions) {
    walk(d.store.value);
    walk(d.store.when);
    for (const tile::ExprPtr& s : d.store.subscripts) walk(s);
    for (const tile::ExprPtr& c : d.checks) walk(c);
  }
}

int count(const Graph& graph, const std::function<bool(const tile::Expr&)>& which) {
  int out = 0;
  each(graph, [&](const tile::Expr& e) { out += which(e); });
  return out;
}

TEST(Expand, ReductionsOverOneRangeShareAnAxis) {
  Kernel k(
      "kernel f(q: f32[M, D], k: f32[N, D], v: f32[N, E]) -> o: f32[M, E] {\n"
      "  s[m, n] = sum[d] q[m, d] * k[n, d]\n"
      "  p[m, n] = softmax[n](s[m, n])\n"
      "  o[m, e] = sum[n] p[m, n] * v[n, e]\n}\n",
      {{"M", 3}, {"N", 5}, {"D", 4}, {"E", 2}});
  auto graph = k.expanded();
  ASSERT_TRUE(graph);
  EXPECT_EQ(graph->axes.size(), 4u);  // m, e, n, d
  EXPECT_EQ(count(*graph, [](const tile::Expr& e) { return e.op == tile::Op::kSum; }), 3);
  EXPECT_EQ(count(*graph, [](const tile::Expr& e) { return e.op == tile::Op::kMax; }), 1);
}

TEST(Expand, RaggedRowsShareTheirScores) {
  Kernel k(
      "kernel f(x: f32[B, N], length: i32[B]) -> y: f32[B] {\n"
      "  p[b, n < length[b]] = softmax[n < length[b]](x[b, n])\n"
      "  y[b] = sum[n < length[b]] p[b, n] * x[b, n]\n}\n",
      {{"B", 3}, {"N", 5}});
  auto graph = k.expanded();
  ASSERT_TRUE(graph);
  EXPECT_EQ(count(*graph, [](const tile::Expr& e) { return e.op == tile::Op::kAxis; }), 2);
  EXPECT_EQ(count(*graph, [](const tile::Expr& e) { return e.op == tile::Op::kExp; }), 1);
  // The range is cut to the dimension, which is said once for each tensor that is read there.
  EXPECT_FALSE(graph->definitions[0].checks.empty());
}

TEST(Expand, AReadThatIsInRangeOnlyUnderItsGuardKeepsIt) {
  Kernel k("kernel f(x: f32[N]) -> y: f32[N] {\n  y[n] = (x[n - 1] if n > 0 else 0) + x[n]\n}\n", {{"N", 5}});
  auto graph = k.expanded();
  ASSERT_TRUE(graph);
  int guarded = 0, plain = 0;
  each(*graph, [&](const tile::Expr& e) {
    if (e.op == tile::Op::kLoad) ++(e.guard ? guarded : plain);
  });
  EXPECT_EQ(guarded, 1);
  EXPECT_EQ(plain, 1);
  // Also where the condition reads the very same element elsewhere.
  Kernel again(
      "kernel f(x: f32[N]) -> y: f32[N] {\n"
      "  y[n] = (x[n - 1] if n > 0 and x[n] > 0 else 0)\n}\n",
      {{"N", 5}});
  auto second = again.expanded();
  ASSERT_TRUE(second);
  each(*second, [&](const tile::Expr& e) {
    if (e.op == tile::Op::kLoad && e.args[0]->op != tile::Op::kAxis) {
      EXPECT_TRUE(e.guard);
    }
  });
}

TEST(Expand, ReadersOfAParameterThatIsWrittenComeFirst) {
  Kernel k(
      "kernel f(inout w: f32[N], inout m: f32[N]) {\n"
      "  m[i] = m[i] * 0.5\n"
      "  w[i] = w[i] - m[i]\n}\n",
      {{"N", 5}});
  auto graph = k.expanded();
  ASSERT_TRUE(graph);
  ASSERT_EQ(graph->definitions.size(), 2u);
  EXPECT_EQ(graph->program.parameters[static_cast<size_t>(graph->definitions[0].store.parameter)].name.str(), "w");
  EXPECT_LT(graph->definitions[0].step, graph->definitions[1].step);
}

TEST(Expand, ACircleOfReadersIsBrokenByACopy) {
  Kernel k("kernel f(inout a: f32[N], inout b: f32[N]) {\n  a[i] = b[i] + 1\n  b[i] = a[i] + 2\n}\n", {{"N", 5}});
  auto graph = k.expanded();
  ASSERT_TRUE(graph);
  ASSERT_EQ(graph->definitions.size(), 3u);
  EXPECT_EQ(graph->program.parameters.back().role, tile::Role::kTmp);
  EXPECT_EQ(graph->definitions[0].store.parameter, static_cast<int32_t>(graph->program.parameters.size() - 1));
}

TEST(Expand, MoreThan64RangesAreTooMany) {
  std::string given;
  std::map<std::string, int64_t> sizes;
  for (int i = 0; i < 65; ++i) {
    given += fmt::format("{}A{}", i ? ", " : "", i);
    sizes[fmt::format("A{}", i)] = i + 2;
  }
  std::string varying;
  for (int i = 0; i < 65; ++i) varying += fmt::format("{}(sum[j{} < A{}] x * j{})", i ? " + " : "", i, i, i);
  Kernel many(fmt::format("kernel f[{}](x: f32) -> y: f32 {{\n  y = {}\n}}\n", given, varying), sizes);
  auto graph = many.expanded();
  ASSERT_FALSE(graph);
  ASSERT_EQ(graph.error().front().code, Code::N907);
  EXPECT_EQ(graph.error().front().message, "f has more than 64 different ranges");
}

// N902: a device's table of what it lacks.
TEST(Expand, AFunctionThatTheDeviceLacks) {
  Kernel k("kernel f(x: f32[N], w: f64[N]) -> y: f64[N] {\n  y[i] = erf(x[i]) + exp(x[i]) + erf(w[i]) + erf(0.5)\n}\n",
           {{"N", 5}});
  EXPECT_TRUE(k.expanded());
  auto graph = k.expanded({.device = "cuda:0", .lacks = {{tile::Op::kErf, ScalarType::f64}}});
  ASSERT_FALSE(graph);
  EXPECT_EQ(render(graph.error()),
            "error N902: erf isn't available on cuda:0 for f64\n"
            "   --> test.qn:2:34\n"
            "   |\n"
            " 2 |   y[i] = erf(x[i]) + exp(x[i]) + erf(w[i]) + erf(0.5)\n"
            "   |                                  ^^^^^^^^^\n"
            "   = help: cast what it takes to another type\n");
}

// N903: known by its form, under whatever name.
TEST(Expand, ComparingAllPairsOfALongRange) {
  auto graph_at = [](const std::string& text, int64_t entries) { return Kernel(text, {{"N", entries}}).expanded(); };
  std::string rank = "kernel f(x: T[N]) -> y: i32[N] {\n  t[n] = rank[n](2 * x[n])\n  y[n] = t[n]\n}\n";
  EXPECT_TRUE(graph_at(rank, kMostPairs));
  auto refused = graph_at(rank, kMostPairs + 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(render(refused.error()),
            "error N903: rank over 262145 entries compares all pairs\n"
            "   --> test.qn:2:3\n"
            "   |\n"
            " 2 |   t[n] = rank[n](2 * x[n])\n"
            "   |   ^^^^^^^^^^^^^^^^^^^^^^^^\n"
            "   = help: rank parts of up to 262144 entries, then the first ones of each part\n");
  std::string own = "kernel f(x: T[N]) -> y: i32[N] {\n  y[n] = sum[j < N] (1 if x[n] < x[j] and n != j else 0)\n}\n";
  refused = graph_at(own, 300'000);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().front().code, Code::N903);
  // Not pairs of one range: against another tensor, and against one element.
  for (const char* fine : {"sum[j < N] (1 if x[j] > z[n] else 0)", "sum[j < N] (1 if x[j] > x[0] else 0)",
                           "sum[j < N] (1 if j < n else 0)"}) {
    std::string text = "kernel f(x: T[N], z: T[N]) -> y: i32[N] {\n  y[n] = " + std::string(fine) + " + i32(z[n])\n}\n";
    EXPECT_TRUE(graph_at(text, 300'000)) << fine;
  }
}

}  // namespace
}  // namespace quern::fuse
