// What the passes make of each program of tests/golden/place/ by the default rule: the file holds the lowered program,
// whose first comment says which trap it guards, and behind marks what each pass makes. QUERN_UPDATE=1 rewrites them.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/text.h"
#include "cases.h"
#include "fuse/schedule_rule.h"
#include "fuse/tile.h"
#include "place/place.h"
#include "tile/print.h"

namespace quern::place {
namespace {

using namespace tile;

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, EveryPass) {
  std::string path = "tests/golden/place/" + GetParam() + ".tile";
  std::string input = case_text(GetParam());
  ASSERT_TRUE(input.starts_with("# ")) << path << " does not say which trap it guards";
  Program lowered = parsed(input);
  Machine machine = wide_machine();
  Schedule schedule = fuse::default_schedule(lowered, machine);
  auto tiled = fuse::tile(lowered, schedule, machine);
  ASSERT_TRUE(tiled) << render(tiled.error());
  auto placed = place(*tiled, machine);
  ASSERT_TRUE(placed) << render(placed.error());
  auto laid = lay(*placed, machine);
  ASSERT_TRUE(laid) << render(laid.error());
  std::string got = "# --- schedule\n" + print(schedule) + "# --- tiled\n" + print(*tiled) + "# --- placed\n" +
                    print(*placed) + "# --- laid\n" + print(*laid);
  if (std::getenv("QUERN_UPDATE")) {
    ASSERT_TRUE(write_file(path, input + got).has_value());
    return;
  }
  auto whole = read_source(path);
  ASSERT_TRUE(whole);
  EXPECT_EQ(input + got, (*whole)->text()) << path;
}

INSTANTIATE_TEST_SUITE_P(Place, Golden, testing::ValuesIn(case_names()), [](const auto& info) { return info.param; });

}  // namespace
}  // namespace quern::place
