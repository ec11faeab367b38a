// Sums inside of sums become locals where their indices range over dimensions, and nothing else changes.
#include "expr/outline.h"

#include "checked.h"
#include "library.h"

namespace quern::expr {
namespace {

// The locals in order, then the updates; without ranges.
std::string outlined(const std::string& text) {
  CheckedText checked = check_text(text);
  Program p = outline(checked.program());
  std::string out;
  for (const Local& l : p.locals) {
    out += l.name.str() + "[";
    for (const Binder& b : l.binders) out += (&b == &l.binders[0] ? "" : ", ") + b.name.str() + " < " + print(b.hi);
    out += "] = " + print(l.value) + "\n";
  }
  for (const Update& u : p.updates) out += print(u.value) + "\n";
  return out;
}

TEST(Outline, ASumInsideOfASumIsALocal) {
  EXPECT_EQ(outlined("kernel f(x: f32[M, K], w: f32[K, H], v: f32[H, N]) -> y: f32[M, N] {\n"
                     "  y[m, n] = sum[j] tanh(sum[k] x[m, k] * w[k, j]) * v[j, n]\n}\n"),
            "inner_sum[m < M, j < H] = sum[k < K] x[m, k] * w[k, j]\n"
            "sum[j < H] tanh(inner_sum[m, j]) * v[j, n]\n");
}

TEST(Outline, ALocalStandsInFrontOfItsReaders) {
  EXPECT_EQ(outlined("kernel f(x: f32[M, K], w: f32[K, H]) -> y: f32[M] {\n"
                     "  a[m, k] = x[m, k] + 1\n"
                     "  b[m] = max[j] (sum[k] a[m, k] * w[k, j])\n"
                     "  y[m] = b[m]\n}\n"),
            "a[m < M, k < K] = x[m, k] + 1\n"
            "inner_sum[m < M, j < H] = sum[k < K] a[m, k] * w[k, j]\n"
            "b[m < M] = max[j < H] inner_sum[m, j]\n"
            "b[m]\n");
}

TEST(Outline, RangesThatAreNoDimensionsKeepTheirSums) {
  for (const char* text : {"kernel f(x: f32[M, K], w: f32[K, M]) -> y: f32[M] {\n"
                           "  y[m] = sum[j < m] (sum[k] x[m, k] * w[k, j])\n}\n",
                           "kernel f(x: f32[M, K], l: i32[M]) -> y: f32[M] {\n"
                           "  y[m] = max[j < l[m]] (sum[k] x[j, k] * x[m, k])\n}\n",
                           "kernel f(x: f32[M, K]) -> y: f32[M] {\n  y[m] = sum[k] sq(x[m, k])\n}\n"}) {
    CheckedText checked = check_text(text);
    EXPECT_EQ(outline(checked.program()).locals.size(), checked.program().locals.size()) << text;
  }
}

TEST(Outline, LocalsOfTheLibraryReadEarlierOnes) {
  if (fuzz::library().empty()) GTEST_SKIP() << "no kernels/";
  for (const fuzz::File& file : fuzz::library()) {
    lang::Unit unit = lang::load(Source::make(file.path, file.text));
    for (const lang::CheckedKernel& k : unit.kernels) {
      Program once = outline(*k.program);
      for (size_t l = 0; l < once.locals.size(); ++l) {
        std::vector<NodePtr> todo = {once.locals[l].value};
        while (!todo.empty()) {
          NodePtr node = todo.back();
          todo.pop_back();
          EXPECT_TRUE(node->op != Op::kLocal || node->id < static_cast<int32_t>(l)) << k.program->name.str();
          todo.insert(todo.end(), node->args.begin(), node->args.end());
        }
      }
      EXPECT_EQ(outline(once).locals.size(), once.locals.size()) << k.program->name.str();
    }
  }
}

}  // namespace
}  // namespace quern::expr
