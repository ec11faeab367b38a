// Which sums are contractions and what may be rounded in them: the examples of section 7 of the notation, and the whole
// library as a table that was checked by hand (tests/unit/expr/contractions.txt; QUERN_UPDATE=1 writes it anew).
#include "expr/contraction.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <unordered_set>

#include "call.h"
#include "expr/print.h"

namespace quern::expr::test {
namespace {

constexpr const char* kTable = "tests/unit/expr/contractions.txt";

// All real sums of a program, inner ones after the ones they stand in.
std::vector<NodePtr> sums(const Program& program) {
  std::vector<NodePtr> out;
  std::unordered_set<const Node*> seen;
  auto walk = [&](auto& self, const NodePtr& node) -> void {
    if (!node || !seen.insert(node.get()).second) return;
    if (node->op == Op::kSum) out.push_back(node);
    for (const NodePtr& arg : node->args) self(self, arg);
  };
  for (const Local& l : program.locals) walk(walk, l.value);
  for (const Update& u : program.updates) walk(walk, u.value);
  return out;
}

std::string describe(const Program& program, const Binding& binding, const NodePtr& sum) {
  if (sum->kind == Kind::kInt) return "no: integers";
  auto c = contraction(program, binding, sum);
  if (!c) return "no";
  std::string out = "yes";
  for (int k : {0, 1}) {
    if (c->computed[static_cast<size_t>(k)] && c->rounds_to) {
      out += fmt::format(", {} to {}", print(operand(*c, k)), quern::name(*c->rounds_to));
    }
  }
  return out;
}

// Sizes of 32 fit every kernel: heads in whole groups, blocks that divide rows.
Binding sizes_of_32(const Program& program, ScalarType type) {
  Request r;
  r.default_type = type;
  bool window = program.name.str().starts_with("conv") || program.name.str() == "max_pool";
  for (const Dimension& d : program.dimensions) {
    std::string n = d.name.str();
    r.dimensions[d.name] = n == "G"                                                   ? 2
                           : n == "L"                                                 ? 4
                           : window && (n == "R" || n == "S" || n == "U" || n == "P") ? 4
                                                                                      : 32;
  }
  if (program.name == Symbol("nvfp4_linear")) r.dimensions[Symbol("K")] = 64;
  auto b = bind(program, r);
  EXPECT_TRUE(b) << program.name.str() << render(b.error());
  return b ? *b : Binding{};
}

TEST(Contractions, OfTheLibrary) {
  std::string table;
  int yes = 0, no = 0;
  for (const LibraryKernel& k : library()) {
    Binding binding = sizes_of_32(*k.program, ScalarType::bf16);
    for (const NodePtr& sum : sums(*k.program)) {
      std::string what = describe(*k.program, binding, sum);
      ++(what.starts_with("yes") ? yes : no);
      std::string body = print(sum);
      if (body.size() > 90) body = body.substr(0, 87) + "...";
      table += fmt::format("{}: {}\n    {}\n", k.name, body, what);
    }
  }
  table += fmt::format("{} contractions, {} other sums\n", yes, no);
  if (std::getenv("QUERN_UPDATE")) std::ofstream(kTable) << table;
  std::ifstream file(kTable);
  std::stringstream want;
  want << file.rdbuf();
  EXPECT_EQ(table, want.str()) << "checked by hand? then QUERN_UPDATE=1";
}

std::string first(const std::string& kernel, const Dims& dims, const Types& types = {}, size_t which = 0) {
  Text text(kernel);
  auto binding = bind(text.program(), request(dims, types));
  EXPECT_TRUE(binding) << render(binding.error());
  return describe(text.program(), *binding, sums(text.program()).at(which));
}

const Types kBf16{{"T", ScalarType::bf16}};

TEST(Contractions, PlainOperandsAreNotRounded) {
  std::string matmul = "kernel f(a: T[M, K], b: U[K, N]) -> c: f32[M, N] { c[m, n] = sum[k] a[m, k] * b[k, n] }";
  Dims dims{{"M", 2}, {"K", 16}, {"N", 2}};
  EXPECT_EQ(first(matmul, dims, kBf16), "yes");
  dims["K"] = 15;
  EXPECT_EQ(first(matmul, dims, kBf16), "no");
}

TEST(Contractions, ComputedOperandsRoundToThe16BitTypeBesideThem) {
  auto f = [](const std::string& body, const Types& types = kBf16, int64_t k = 16) {
    return first(
        "kernel f(a: f32[M, K], b: T[K, N], s: f32[N, (K + 7) // 8], h: f16[K], d: f32[K]) -> c: f32[M, N] { p[m < M, "
        "k < K] = exp(a[m, k])\n"
        " q[m < M, k < K]: f32 = exp(a[m, k])\n c[m, n] = (sum[k < K] " +
            body + ") + h[0] + d[0] + s[0, 0] + p[0, 0] + q[0, 0] }",
        {{"M", 2}, {"K", k}, {"N", 2}}, types);
  };
  EXPECT_EQ(f("exp(a[m, k]) * b[k, n]"), "yes, exp(a[m, k]) to bf16");
  EXPECT_EQ(f("p[m, k] * b[k, n]"), "yes, p[m, k] to bf16");
  EXPECT_EQ(f("q[m, k] * b[k, n]"), "yes");                                 // declared f32
  EXPECT_EQ(f("f32(exp(a[m, k])) * b[k, n]"), "yes");                       // cast
  EXPECT_EQ(f("a[m, k] * b[k, n]"), "yes");                                 // plain
  EXPECT_EQ(f("a[m, k] * d[k] * b[k, n]"), "yes, a[m, k] * d[k] to bf16");  // a product is computed
  EXPECT_EQ(f("a[m, k] / d[k] * b[k, n]"), "yes, a[m, k] / d[k] to bf16");
  EXPECT_EQ(f("a[m, k] * (b[k, n] - 1)"), "yes, b[k, n] - 1 to bf16");
  EXPECT_EQ(f("a[m, k] * b[k, n] * s[n, k // 8]"), "yes");  // the scale of a block comes out
  EXPECT_EQ(f("a[m, k] * (b[k, n] - s[n, k // 8])"), "yes, b[k, n] - s[n, k // 8] to bf16");
  EXPECT_EQ(f("(a[m, k] if k > 3 else 0) * b[k, n]"), "yes");  // guarded, but read
  EXPECT_EQ(f("-exp(a[m, k]) * b[k, n]"), "yes, exp(a[m, k]) to bf16");
  EXPECT_EQ(f("exp(a[m, k]) * b[k, n]", {{"T", ScalarType::f32}}), "yes");  // nothing of 16 bits beside it
  EXPECT_EQ(f("exp(a[m, k]) * b[k, n]", {{"T", ScalarType::f64}}), "yes");
  EXPECT_EQ(f("exp(a[m, k]) * b[k, n]", {{"T", ScalarType::f16}}), "yes, exp(a[m, k]) to f16");
  EXPECT_EQ(f("exp(a[m, k]) * h[k] * b[k, n]"), "yes");     // bf16 and f16 both: neither
  EXPECT_EQ(f("(exp(a[m, k]) + b[k, n])"), "no");           // no product
  EXPECT_EQ(f("exp(a[m, k] + b[k, n]) * d[k]"), "no");      // one factor has both indices
  EXPECT_EQ(f("exp(a[m, k]) * b[k, n]", kBf16, 15), "no");  // too short
}

TEST(Contractions, NotTheseSums) {
  Dims dims{{"M", 32}, {"N", 32}, {"K", 32}};
  EXPECT_EQ(
      first("kernel f(x: T[M, K]) -> y: f32[M] { y[m] = sum[k] x[m, k] * x[m, k] }", {{"M", 32}, {"K", 32}}, kBf16),
      "no");
  EXPECT_EQ(first("kernel f(x: T[N], g: T[M, N]) -> y: f32[M] { y[m] = sum[n] silu(g[m, n]) * x[n] }",
                  {{"M", 32}, {"N", 32}}, kBf16),
            "no");
  EXPECT_EQ(first("kernel f(a: i8[M, K], b: i8[K, N]) -> y: i32[M, N] { y[m, n] = sum[k] a[m, k] * b[k, n] }", dims),
            "no: integers");
  EXPECT_EQ(first("kernel f(a: T[M, K]) -> y: f32[M, K] { y[m, i] = sum[j <= i] a[m, j] * 2.5 }",
                  {{"M", 32}, {"K", 32}}, kBf16),
            "no");
}

TEST(Contractions, OperandsOfTheSpecification) {
  auto lines = [](const std::string& kernel) {
    const Program& program = library_kernel(kernel);
    Binding binding = sizes_of_32(program, ScalarType::bf16);
    std::string out;
    for (const NodePtr& sum : sums(program)) out += describe(program, binding, sum) + "\n";
    return out;
  };
  EXPECT_NE(lines("attention").find("yes, p[b, h, m, n] to bf16"), std::string::npos);            // p beside v
  EXPECT_NE(lines("attention_backward").find("yes, gs[b, h, m, n] to bf16"), std::string::npos);  // dS beside k
  EXPECT_NE(lines("int4_linear").find("w[n, k] - zero[n, k // L] to bf16"), std::string::npos)
      << lines("int4_linear");                                  // weight beside x
  EXPECT_EQ(lines("rms_norm").find("yes"), std::string::npos);  // statistics
  EXPECT_EQ(lines("layer_norm").find("yes"), std::string::npos);
  EXPECT_EQ(lines("conv2d_depthwise").find("yes"), std::string::npos);  // depthwise filters
  EXPECT_EQ(lines("cumulative_sum").find("yes"), std::string::npos);    // scans
  EXPECT_EQ(lines("gated_recurrence").find("yes"), std::string::npos);
  EXPECT_EQ(lines("route").find(" to "), std::string::npos) << lines("route");  // f32 weights stay f32
  EXPECT_EQ(lines("int8_matmul"), "no: integers\n");
}

TEST(Contractions, RemarksSayWhere) {
  const Program& program = library_kernel("attention");
  Diagnostics remarks = rounding_remarks(program, sizes_of_32(program, ScalarType::bf16));
  ASSERT_EQ(codes(remarks), "R2");
  EXPECT_EQ(remarks[0].message, "p[b, h, m, n] rounded to bf16 for the tensor cores");
  EXPECT_EQ(codes(rounding_remarks(program, sizes_of_32(program, ScalarType::f32))), "");
  const Program& scatter = library_kernel("embedding_backward");
  Diagnostics order = rounding_remarks(scatter, sizes_of_32(scatter, ScalarType::f32));
  ASSERT_EQ(codes(order), "R3");
  EXPECT_EQ(
      codes(rounding_remarks(library_kernel("histogram"), sizes_of_32(library_kernel("histogram"), ScalarType::f32))),
      "");
}

}  // namespace
}  // namespace quern::expr::test
