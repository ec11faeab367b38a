// What can't be brought about from outside: our own mistakes, and how samples are chosen.
#include <gtest/gtest.h>

#include <new>
#include <set>
#include <stdexcept>

#include "cli/array_summary.h"
#include "cli/formatting_fault.h"
#include "cli/kernel_proofs.h"
#include "cli/program.h"
#include "cli/report.h"
#include "cli/samples.h"
#include "lang/load.h"
#include "lang/parse.h"

namespace quern::cli {
namespace {

TEST(Guarded, AnExceptionIsABug) {
  EXPECT_EQ(guarded([] { return 3; }), 3);
  testing::internal::CaptureStderr();
  EXPECT_EQ(guarded([]() -> int { throw std::bad_alloc(); }), 70);
  EXPECT_EQ(guarded([]() -> int { throw std::runtime_error("the roof leaks"); }), 70);
  EXPECT_EQ(guarded([]() -> int { throw 7; }), 70);
  const std::string help = "   = help: please report it, with the file and the command\n";
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "error B001: bug in quern: out of memory\n" + help +
                                                        "error B001: bug in quern: the roof leaks\n" + help +
                                                        "error B001: bug in quern: an unknown exception\n" + help);
}

TEST(FormattingFault, SeesWhatIsLost) {
  SourcePtr before = Source::make("a.qn", "# kept\n# lost\nfn sq(x) = x * x  # so\n");
  expr::Module module = lang::parse(before).module;
  EXPECT_FALSE(formatting_fault(module, before, "#   lost\n# kept\n\nfn sq(x) = x * x  # so\n"));
  auto comment = formatting_fault(module, before, "# kept\nfn sq(x) = x * x  # so\n");
  ASSERT_TRUE(comment);
  EXPECT_EQ(comment->message, "bug in quern: formatting a.qn would lose a comment");
  for (const char* text : {"# kept\n# lost\nfn sq(x) = x + x  # so\n", "# kept\n# lost\nfn sq(x) =  # so\n"}) {
    auto meaning = formatting_fault(module, before, text);
    ASSERT_TRUE(meaning);
    EXPECT_EQ(meaning->message, "bug in quern: formatting a.qn would change its meaning");
    EXPECT_EQ(exit_code({*meaning}), 70);
  }
}

lang::Unit unit_of(const std::string& text) { return lang::load(Source::make("a.qn", text)); }

TEST(Samples, FitTheKernel) {
  lang::Unit unit = unit_of(
      "kernel k[L](x: u4[N, K / L / 2], w: f32[K - N + 1]) -> y: f32[N] {\n  y[n] = sum[k] x[n, k] * w[0]\n}\n");
  const expr::Program& program = *unit.kernels.at(0).program;
  std::vector<Sample> found = samples(program, {}, 8);
  EXPECT_EQ(found.size(), 8u);
  for (const Sample& s : found) {
    auto size = [&](const char* name) { return s.binding.sizes.at(Symbol(name)); };
    EXPECT_EQ(size("K") % (2 * size("L")), 0);
    EXPECT_GE(size("K") + 1, size("N"));
  }
  expr::Request request;
  request.dimensions[Symbol("N")] = 7;
  for (const Sample& s : samples(program, request, 8)) {
    EXPECT_EQ(s.binding.sizes.at(Symbol("N")), 7);
    for (const auto& [name, size] : s.chosen) EXPECT_NE(name, Symbol("N"));
  }
}

TEST(Samples, SomeKernelsHaveNone) {
  lang::Unit unit = unit_of("kernel k(x: f32[N], w: f32[0 - N - 1]) -> y: f32[N] {\n  y[n] = x[n + 1] * w[0]\n}\n");
  const expr::Program& program = *unit.kernels.at(0).program;
  EXPECT_TRUE(samples(program, {}, 8).empty());
  // Nothing is known of the subscript, so it is not refused.
  KernelProofs proofs = kernel_proofs(program, {});
  EXPECT_TRUE(proofs.errors.empty());
}

TEST(Samples, SmallOnesAreComputedQuickly) {
  lang::Unit unit = lang::load(Source::make("f.qn",
                                            "kernel f[S](x: f32[N, G * S], w: f32[H, S]) -> y: f32[N, H] {\n"
                                            "  y[n, h] = sum[s] x[n, h // (H // G) * S + s] * w[h, s]\n}\n"));
  const expr::Program& program = *unit.kernels.front().program;
  std::set<std::string> seen;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    auto sample = small_sample(program, {}, 40, seed);
    ASSERT_TRUE(sample);
    EXPECT_TRUE(expr::prove(program, sample->binding).errors.empty());
    std::string text;
    for (const auto& [name, size] : sample->chosen) {
      EXPECT_TRUE(size >= 1 && size <= 40) << name.str() << size;
      text += std::to_string(size) + " ";
    }
    seen.insert(text);
    EXPECT_EQ(small_sample(program, {}, 40, seed)->chosen, sample->chosen);
  }
  EXPECT_GT(seen.size(), 10u);
  // What is given stays, however large.
  expr::Request request;
  request.dimensions[Symbol("N")] = 1'000'000;
  auto sample = small_sample(program, request, 5, 1);
  EXPECT_TRUE(!sample || sample->binding.sizes.at(Symbol("N")) == 1'000'000);
  // Nothing fits.
  unit = lang::load(Source::make("g.qn", "kernel g[K](x: f32[K / 64]) -> y: f32 {\n  y = sum[k] x[k]\n}\n"));
  EXPECT_FALSE(small_sample(*unit.kernels.front().program, {}, 40, 1));
}

TEST(Report, ErrorsComeBeforeRemarksAndAreCounted) {
  Diagnostics all;
  for (int i = 0; i < 150; ++i) all.push_back(diagnose(Code::R1, {}, {{"e", "i"}, {"d", "3"}}));
  all.push_back(diagnose(Code::E703, {}, {{"x", "a"}}));
  std::string text = diagnostics_text(all, false);
  EXPECT_TRUE(text.starts_with("error E703: argument a is missing\n"));
  EXPECT_TRUE(text.ends_with("… and 51 more\n"));
  EXPECT_EQ(diagnostics_text({all.back()}, false), "error E703: argument a is missing\n");
}

TEST(ArraySummary, LooksAtEveryElement) {
  auto array = array::make(ScalarType::i64, {3});
  ASSERT_TRUE(array);
  array::set_int(*array, 0, INT64_MAX);
  array::set_int(*array, 2, INT64_MIN);
  EXPECT_EQ(summary_text(*array, summarise(*array)), "min -9223372036854775808, max 9223372036854775807, mean 0");
}

}  // namespace
}  // namespace quern::cli
