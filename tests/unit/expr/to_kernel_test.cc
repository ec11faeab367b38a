// A checked program is a kernel again, and checking that gives the same program.
#include <fmt/format.h>

#include "checked.h"
#include "library.h"
#include "random_kernel.h"

namespace quern::expr {
namespace {

std::string described(const Program& p) {
  std::string out = print(to_kernel(p));
  for (const Dimension& d : p.dimensions) out += fmt::format("{}{}{} {} {}\n", d.name.str(), d.given, d.dynamic, d.tensor, d.axis);
  for (const Tensor& t : p.tensors) out += fmt::format("{} {}\n", t.name.str(), static_cast<int>(t.role));
  for (const Local& l : p.locals) {
    out += fmt::format("{} {}", l.name.str(), static_cast<int>(l.kind));
    for (bool d : l.dimension) out += d ? " dimension" : " bound";
    out += "\n";
  }
  for (const Update& u : p.updates) out += fmt::format("{} {} {} {}\n", u.tensor, u.add, u.total, u.binders.size());
  return out;
}

void expect_same_again(const Program& program, const std::string& where) {
  std::string text = print(to_kernel(program));
  CheckedText again = check_text(text);
  ASSERT_EQ(render(again.unit.errors), "") << where << "\n" << text;
  ASSERT_EQ(again.unit.kernels.size(), 1u);
  EXPECT_EQ(described(again.program()), described(program)) << where;
}

TEST(ToKernel, OfTheLibrary) {
  if (fuzz::library().empty()) GTEST_SKIP() << "no kernels/";
  for (const fuzz::File& file : fuzz::library()) {
    lang::Unit unit = lang::load(Source::make(file.path, file.text));
    for (const lang::CheckedKernel& k : unit.kernels) {
      ASSERT_TRUE(k.program) << render(unit.errors);
      expect_same_again(*k.program, file.path + " " + k.kernel->name.str());
    }
  }
}

TEST(ToKernel, OfRandomKernels) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    std::string text = fuzz::random_kernel(seed);
    CheckedText checked = check_text(text);
    ASSERT_EQ(render(checked.unit.errors), "") << "seed " << seed << "\n" << text;
    expect_same_again(checked.program(), "seed " + std::to_string(seed) + "\n" + text);
    if (HasFailure()) return;
  }
}

TEST(ToKernel, RenamesWhatWouldHide) {
  // The index of the call stands inside a sum over the caller's index of the same name.
  CheckedText checked = check_text(
      "fn total[i](x[i]) = sum[n < 3] sum[i] x[i] * n\n\nkernel f(x: f32[M, N]) -> y: f32[N] {\n  y[n] = total[m](x[m, n])\n}\n");
  EXPECT_EQ(print(to_kernel(checked.program()).definitions[0]), "y[n < N] = sum[n2 < 3] sum[m < M] x[m, n] * n2\n");
  expect_same_again(checked.program(), "hidden");
}

}  // namespace
}  // namespace quern::expr
