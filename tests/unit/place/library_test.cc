// Every kernel of the library, from its text to laid nests: each stage is verified, and gives what the lowered program
// gives, by the default rule and by random steps. Sizes are small and odd.
#include <gtest/gtest.h>

#include "call.h"
#include "cases.h"
#include "fuse/expand.h"
#include "fuse/lower.h"
#include "fuse/schedule_rule.h"
#include "fuse/tile.h"
#include "library_sizes.h"
#include "place/place.h"
#include "tile/print.h"
#include "tile/verify.h"

namespace quern::place {
namespace {

using namespace tile;

class Library : public testing::TestWithParam<std::string> {
 protected:
  void check(const Result<Program>& program, const std::string& pass) {
    ASSERT_TRUE(program) << pass << ": " << render(program.error());
    std::string what = pass + "\n" + print(*program);
    Diagnostics wrong = verify(*program);
    ASSERT_TRUE(wrong.empty()) << render(wrong) << what;
    expect_same(truth_, run(*program, contents_), what);
    if (HasFailure()) FAIL() << what;
  }

  void check_all(const Program& lowered, const Schedule& schedule, const Machine& machine) {
    auto tiled = fuse::tile(lowered, schedule, machine);
    ASSERT_NO_FATAL_FAILURE(check(tiled, "tile"));
    auto placed = place(*tiled, machine);
    // What is kept of an axis that only data bounds has no place yet; a stream over it has.
    if (!placed && placed.error()[0].code == Code::N904) GTEST_SKIP() << render(placed.error());
    ASSERT_NO_FATAL_FAILURE(check(placed, "placed"));
    ASSERT_NO_FATAL_FAILURE(check(lay(*placed, machine), "laid"));
    ASSERT_NO_FATAL_FAILURE(check(lay_plainly(*tiled), "laid plainly"));
  }

  Contents contents_;
  Interpreted truth_;
};

TEST_P(Library, SameResults) {
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    std::mt19937_64 random(seed);
    const expr::Program& program = expr::test::library_kernel(GetParam());
    auto bound = expr::bind(program, expr::test::request(expr::test::library_sizes(GetParam(), random, 9, false)));
    ASSERT_TRUE(bound) << render(bound.error());
    auto graph = fuse::expand(program, *bound);
    ASSERT_TRUE(graph) << render(graph.error());
    Machine machine = seed % 2 ? wide_machine() : small_machine();
    Program lowered = fuse::lower(*graph, machine).program;
    contents_ = random_contents(lowered, random);
    ASSERT_TRUE(verify(lowered).empty()) << render(verify(lowered));
    ASSERT_TRUE(runs(lowered, contents_)) << "the lowered program is at fault";
    truth_ = run(lowered, contents_);
    ASSERT_NO_FATAL_FAILURE(check_all(lowered, fuse::default_schedule(lowered, machine), machine));
    ASSERT_NO_FATAL_FAILURE(check_all(lowered, random_schedule(lowered, random), machine));
  }
}

std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const auto& kernel : expr::test::library()) out.push_back(kernel.name);
  return out;
}

INSTANTIATE_TEST_SUITE_P(Place, Library, testing::ValuesIn(names()), [](const auto& info) { return info.param; });

}  // namespace
}  // namespace quern::place
