// Each pass keeps a program's results: random steps, small odd sizes, two machines, and the interpreter as the truth.
#include <gtest/gtest.h>

#include "cases.h"
#include "fuse/schedule_rule.h"
#include "fuse/tile.h"
#include "place/keep.h"
#include "place/nest.h"
#include "place/operands.h"
#include "place/place.h"
#include "tile/print.h"
#include "tile/verify.h"

namespace quern::place {
namespace {

using namespace tile;

class SameResults : public testing::TestWithParam<std::string> {
 protected:
  void check(const Result<Program>& program, const std::string& pass) {
    ASSERT_TRUE(program) << pass << ": " << render(program.error());
    std::string what = pass + ", seed " + std::to_string(seed_) + "\n" + print(*program);
    Diagnostics wrong = verify(*program);
    ASSERT_TRUE(wrong.empty()) << render(wrong) << what;
    expect_same(truth_, run(*program, contents_), what);
    if (HasFailure()) FAIL() << what;
  }

  // All passes after a schedule, on a machine.
  void check_all(const Program& lowered, const Schedule& schedule, const Machine& machine) {
    auto tiled = fuse::tile(lowered, schedule, machine);
    ASSERT_NO_FATAL_FAILURE(check(tiled, "tile"));
    auto shaped = operands(*tiled, machine);
    ASSERT_NO_FATAL_FAILURE(check(shaped, "operands"));
    auto placed = place(*tiled, machine);
    ASSERT_NO_FATAL_FAILURE(check(placed, "placed"));
    ASSERT_NO_FATAL_FAILURE(check(lay(*placed, machine), "laid"));
    ASSERT_NO_FATAL_FAILURE(check(lay_plainly(*tiled), "laid plainly"));
  }

  uint64_t seed_ = 0;
  Contents contents_;
  Interpreted truth_;
};

TEST_P(SameResults, AnySteps) {
  for (seed_ = 1; seed_ <= 12; ++seed_) {
    std::mt19937_64 random(seed_);
    Program lowered = small_case(GetParam(), random);
    contents_ = random_contents(lowered, random);
    truth_ = run(lowered, contents_);
    Machine machine = seed_ % 2 ? wide_machine() : small_machine();
    ASSERT_NO_FATAL_FAILURE(check_all(lowered, random_schedule(lowered, random), machine));
    ASSERT_NO_FATAL_FAILURE(check_all(lowered, fuse::default_schedule(lowered, machine), machine));
  }
}

// Where lanes talk, full vectors with NaN behind the end of what is kept give the same results.
TEST_P(SameResults, AbsentLanesAreNotNoticed) {
  for (seed_ = 1; seed_ <= 6; ++seed_) {
    std::mt19937_64 random(seed_);
    Program lowered = small_case(GetParam(), random);
    contents_ = random_contents(lowered, random);
    truth_ = run(lowered, contents_);
    Machine machine = wide_machine();
    machine.lanes_talk = true;
    auto tiled = fuse::tile(lowered, fuse::default_schedule(lowered, machine), machine);
    ASSERT_TRUE(tiled) << render(tiled.error());
    auto placed = place(*tiled, machine);
    ASSERT_TRUE(placed) << render(placed.error());
    auto laid = lay(*placed, machine);
    ASSERT_TRUE(laid) << render(laid.error());
    expect_same(truth_, run(*laid, contents_, Mode::kPadded), print(*laid));
  }
}

INSTANTIATE_TEST_SUITE_P(Place, SameResults, testing::ValuesIn(case_names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace quern::place
