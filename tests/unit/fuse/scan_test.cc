// Reductions up to the index itself as one walk: which are, and what the walk carries.
#include "fuse/scan.h"

#include <gtest/gtest.h>

#include "expr/bind.h"
#include "fuse/expand.h"
#include "fuse/lower.h"
#include "lang/load.h"
#include "tile/print.h"
#include "tile/verify.h"

namespace quern::fuse {
namespace {

LoweredProgram lowering(const std::string& definition, int64_t n = 32) {
  lang::Unit unit = lang::load(Source::make(
      "test.qn", "kernel f(x: f32[N, D], a: f32[N, D], w: f32[N]) -> y: f32[N, D] {\n  " + definition + "\n}\n"));
  EXPECT_TRUE(unit.errors.empty()) << render(unit.errors);
  const expr::Program& program = *unit.kernels.front().program;
  expr::Request request;
  request.dimensions = {{Symbol("N"), n}, {Symbol("D"), 8}};
  auto binding = expr::bind(program, request);
  EXPECT_TRUE(binding) << render(binding.error());
  auto graph = expand(program, *binding);
  EXPECT_TRUE(graph) << render(graph.error());
  LoweredProgram out = lower(*graph, {});
  Diagnostics wrong = tile::verify(out.program);
  EXPECT_TRUE(wrong.empty()) << render(wrong);
  return out;
}

std::string lowered(const std::string& definition, int64_t n = 32) {
  std::string text = tile::print(lowering(definition, n).program);
  return text.substr(text.find("scalar") == std::string::npos ? 0 : text.find("scalar"));
}

// The unused parameters must be read.
const std::string kUse = " + 0 * a[t, d] * w[t]", kUseW = " + 0 * w[t]";

TEST(Scan, APrefixSumCarriesItself) {
  EXPECT_EQ(lowered("y[t, d] = (sum[s <= t] x[s, d])" + kUse), R"(scalar t
  for t
    carry so_far = fill[d](0.0)
    now = so_far + load x[t, d]
    store y[t, d] = now + 0.0 * load a[t, d] * load w[t]
    next so_far = now
)");
}

TEST(Scan, WithoutTheIndexItself) {
  EXPECT_EQ(lowered("y[t, d] = (max[s < t] x[s, d])" + kUse), R"(scalar t
  for t
    carry so_far = fill[d](-inf)
    now = max(so_far, (load x[t, d] if t < 31) if t < 31 else -inf)
    store y[t, d] = so_far + 0.0 * load a[t, d] * load w[t]
    next so_far = now
)");
}

TEST(Scan, HornersRule) {
  // The first gate is not read: nothing is carried to it.
  EXPECT_EQ(lowered("y[t, d] = (sum[s <= t] x[s, d] * prod[s < j <= t] a[j, d])" + kUseW), R"(scalar t
  for t
    carry so_far = fill[d](0.0)
    now = (so_far * (load a[t, d] if t >= 1) if t >= 1 else so_far) + load x[t, d]
    store y[t, d] = now + 0.0 * load w[t]
    next so_far = now
)");
  EXPECT_EQ(lowered("y[t, d] = (sum[s <= t] x[s, d] * w[s] * prod[s <= j <= t] a[j, d])"), R"(scalar t
  for t
    carry so_far = fill[d](0.0)
    now = (so_far + load x[t, d] * load w[t]) * load a[t, d]
    store y[t, d] = now
    next so_far = now
)");
}

TEST(Scan, SeveralAndConditions) {
  std::string text = lowered(
      "y[t, d] = (sum[s <= t] (x[s, d] if w[s] > 0 else 0)) / (1 + sum[s <= t] abs(a[s, d])) + (max[s < t] w[s])");
  EXPECT_NE(text.find("for t\n"), std::string::npos);
  EXPECT_NE(text.find("so_far_2"), std::string::npos);
  EXPECT_EQ(text.find("sum["), std::string::npos);
}

// What R25 says, one a line.
std::string remarks(const std::string& definition, int64_t n = 32) {
  std::string out;
  for (const Diagnostic& d : lowering(definition, n).remarks) {
    if (d.code == Code::R25) out += (out.empty() ? "" : "\n") + d.message;
  }
  return out;
}

TEST(Scan, OthersArePlainAndARemarkSaysWhy) {
  const std::pair<const char*, const char*> kOthers[] = {
      {"y[t, d] = sum[s <= t] x[s, d] * a[t, d] * w[s]",
       "what is reduced changes with t, by more than a product of gates after s"},
      // From the index on: nothing that a reader would take for a walk.
      {"y[t, d] = sum[t <= s < N] x[s, d] * a[s, d] * w[s]", ""},
      {"y[t, d] = sum[s <= t + 1] (x[s, d] * a[s, d] * w[s] if s < N else 0)",
       "its condition is more than s <= t or s < t"},
      // The last gate is left out; all gates; divided.
      {"y[t, d] = sum[s <= t] x[s, d] * w[s] * prod[s < j < t] a[j, d]",
       "what is reduced changes with t, by more than a product of gates after s"},
      {"y[t, d] = sum[s <= t] x[s, d] * w[s] * prod[j <= t] a[j, d]",
       "what is reduced changes with t, by more than a product of gates after s"},
      {"y[t, d] = sum[s <= t] x[s, d] * w[s] / prod[s < j <= t] a[j, d]",
       "what is reduced changes with t, by more than a product of gates after s"},
      // Would be summed again each time.
      {"y[t, d] = sum[s <= t] x[s, d] * w[s] * (sum[e] a[s, e])", "what is reduced holds a reduction for each s"},
      {"y[t, d] = (sum[s <= t] x[s, d]) * (sum[e] x[t, e] * a[t, e]) * w[t]",
       "isn't one: it is no reduction up to t"},
  };
  for (auto [definition, why] : kOthers) {
    EXPECT_EQ(lowered(definition).find("so_far"), std::string::npos) << definition;
    std::string got = remarks(definition);
    EXPECT_EQ(got.empty(), std::string_view(why).empty()) << definition << "\n" << got;
    EXPECT_NE(got.find(why), std::string::npos) << definition << "\n" << got;
  }
}

TEST(Scan, ShortOnesAndAttentionArePlainWithoutARemark) {
  std::string sum = "y[t, d] = (sum[s <= t] x[s, d])" + kUse;
  EXPECT_EQ(lowered(sum, 8).find("so_far"), std::string::npos);
  EXPECT_EQ(remarks(sum, 8), "");
  EXPECT_EQ(remarks(sum), "");
  EXPECT_EQ(remarks("y[t, d] = sum[s <= t] (sum[e] x[t, e] * a[s, e]) * w[s] + 0 * a[0, d]"), "");
}

}  // namespace
}  // namespace quern::fuse
