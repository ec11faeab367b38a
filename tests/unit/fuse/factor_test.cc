// Sums of products over several axes, one axis at a time.
#include "fuse/factor.h"

#include <gtest/gtest.h>

#include "tile/parse.h"
#include "tile/print.h"

namespace quern::fuse {
namespace {

// The sum in the store of a kernel over a, b, c, d (64 each) and t (2), factored.
std::string factored_text(const std::string& sum) {
  std::string text =
      "program p lowered\nin x: f32[64, 64]\nin y: f32[64, 64]\nin z: f32[64]\nout o: f32[64, 64]\n\nkernel k\n"
      "  axes a < 64, b < 64, c < 64, d < 64, t < 2\n  store o[a, b] = " +
      sum + "\n";
  auto program = tile::parse(Source::make("<test>", text));
  EXPECT_TRUE(program) << render(program.error());
  tile::Program out = *program;
  tile::Ranges ranges(*program, program->kernels[0].axes);
  auto& store = std::get<tile::Store>(out.kernels[0].body[0].is);
  store.value = factored(store.value, ranges);
  std::string all = tile::print(out);
  size_t at = all.find("] = ");
  return all.substr(at + 4, all.find('\n', at) - at - 4);
}

TEST(Factor, TakesOutWhatOneAxisLacks) {
  EXPECT_EQ(factored_text("sum[c, d](load x[a, d] * load y[c, d] * load x[c, b])"),
            "sum[d](load x[a, d] * sum[c](load y[c, d] * load x[c, b]))");
  EXPECT_EQ(factored_text("sum[c, d](-(load x[a, d] * load y[c, d]) * load x[c, b] / load z[c])"),
            "sum[d](-(load x[a, d] * sum[c](load y[c, d] * load x[c, b] / load z[c])))");
}

TEST(Factor, AMaskStaysWithItsAxis) {
  EXPECT_EQ(factored_text("sum[c, d](load x[a, d] * load y[c, d] * load x[c, b] if c < a + 1 else 0.0)"),
            "sum[c](load x[c, b] * sum[d](load x[a, d] * load y[c, d]) if c < a + 1 else 0.0)");
}

TEST(Factor, LeavesWhatIsNoCheaper) {
  for (const char* sum : {
           "sum[c](load x[a, c] * load y[c, b])",                                                    // one axis
           "sum[c, d](load x[c, d] * load y[c, d])",                                                 // all have both
           "sum[c, d](load x[a, d] * load y[c, d] * load x[c, b] if c < d + 1 and d < a else 0.0)",  // masked by both
           "sum[c, d](load x[a, d] + load y[c, d])",                                                 // no product
       }) {
    EXPECT_EQ(factored_text(sum), sum);
  }
}

}  // namespace
}  // namespace quern::fuse
