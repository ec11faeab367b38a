// Operands of products that may be rounded to the 16-bit type beside them, on a machine that gains by it.
#include "fuse/round_operands.h"

#include <gtest/gtest.h>

#include "expr/bind.h"
#include "fuse/expand.h"
#include "fuse/lower.h"
#include "lang/load.h"
#include "tile/print.h"

namespace quern::fuse {
namespace {

tile::Machine machine(bool fast_bf16) {
  tile::Machine m;
  m.near_bytes = 1 << 18;
  m.dots = {{.operand = ScalarType::f32, .per_cycle = 16},
            {.operand = ScalarType::bf16, .k = fast_bf16 ? 2 : 1, .per_cycle = fast_bf16 ? 32.0 : 16.0}};
  return m;
}

struct Lowered {
  std::string text;
  Diagnostics remarks;
};

// The lines with products, and what is remarked.
Lowered lowered(const std::string& body, bool fast_bf16 = true, int64_t n = 64) {
  lang::Unit unit = lang::load(Source::make(
      "test.qn",
      "kernel f(s: f32[M, N], v: bf16[N, E], w: f32[N, E], h: f16[N]) -> o: f32[M, E] {\n" + body + "\n}\n"));
  EXPECT_TRUE(unit.errors.empty()) << render(unit.errors);
  const expr::Program& program = *unit.kernels.front().program;
  expr::Request request;
  request.dimensions = {{Symbol("M"), 8}, {Symbol("N"), n}, {Symbol("E"), 16}};
  auto binding = expr::bind(program, request);
  EXPECT_TRUE(binding) << render(binding.error());
  auto graph = expand(program, *binding);
  EXPECT_TRUE(graph) << render(graph.error());
  tile::Machine m = machine(fast_bf16);
  RoundedProgram out = round_operands(lower(*graph, m, {.always = true}).program, graph->roundings, m);
  std::string lines, all = tile::print(out.program);
  for (size_t at = 0; at < all.size();) {
    size_t end = all.find('\n', at);
    std::string line = all.substr(at, end - at);
    if (line.find(" = dot[") != std::string::npos) lines += line.substr(line.find("dot[")) + "\n";
    at = end + 1;
  }
  return {lines, out.remarks};
}

const std::string kUsed = "+ sum[n] w[n, e] * h[n] * s[m, 0]";  // so that nothing is without use

TEST(RoundOperands, OfAStreamedSoftmax) {
  std::string text = "p[m, n] = softmax[n](s[m, n])\n o[m, e] = (sum[n] p[m, n] * v[n, e]) " + kUsed;
  Lowered out = lowered(text);
  EXPECT_NE(out.text.find("dot[n](bf16(p), load v[n, e])"), std::string::npos) << out.text;
  ASSERT_EQ(out.remarks.size(), 1u);
  EXPECT_EQ(out.remarks[0].message, "p[m, n] rounded to bf16 for the tensor cores");
  // Nothing is gained, or the sum is too short: nothing is rounded.
  EXPECT_EQ(lowered(text, false).text.find("bf16(p)"), std::string::npos);
  EXPECT_EQ(lowered(text, true, 15).text.find("bf16("), std::string::npos);
}

TEST(RoundOperands, OfAMap) {
  Lowered out = lowered("o[m, e] = (sum[n] exp(s[m, n]) * v[n, e]) " + kUsed);
  EXPECT_NE(out.text.find("dot[n](bf16(exp(load s[m, n])), load v[n, e])"), std::string::npos) << out.text;
}

TEST(RoundOperands, NotWhereTheNotationForbidsIt) {
  for (const char* sum : {
           "sum[n] s[m, n] * v[n, e]",                                   // a plain read
           "sum[n] f32(exp(s[m, n])) * v[n, e]",                         // a cast
           "sum[n] exp(s[m, n]) * w[n, e] * v[0, 0]",                    // v does not stand beside it
           "sum[n] exp(s[m, n]) * h[n] * v[n, e]",                       // bf16 and f16
           "(sum[n] exp(s[m, n]) * v[n, e]) + sum[n] s[m, n] * v[n, e]"  // one of two sums allows it
       }) {
    Lowered out = lowered(std::string("o[m, e] = (") + sum + ") " + kUsed);
    EXPECT_EQ(out.text.find("bf16("), std::string::npos) << sum << "\n" << out.text;
    EXPECT_TRUE(out.remarks.empty());
  }
}

// What is multiplied is the difference from a centre that moves with the sum, which is another number than the
// notation's.
TEST(RoundOperands, NotAMovingDifference) {
  Lowered out = lowered("u[m, n] = s[m, n] - mean[n](s[m, n])\n o[m, e] = (sum[n] u[m, n] * v[n, e]) " + kUsed);
  EXPECT_EQ(out.text.find("bf16("), std::string::npos) << out.text;
}

}  // namespace
}  // namespace quern::fuse
