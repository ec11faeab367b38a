// A schedule prints and parses; text that is none is a diagnostic.
#include "tile/schedule.h"

#include <gtest/gtest.h>

namespace quern::tile {
namespace {

constexpr std::string_view kText =
    "attention: b 1 grid, h 1 grid, m 48 grid, n 1024 loop, d whole; parts 1\n"
    "join: b 1 grid, s grid; parts 27\n";

TEST(Schedule, PrintsAndParses) {
  auto s = parse_schedule(kText);
  ASSERT_TRUE(s.has_value()) << render(s.error());
  ASSERT_EQ(s->kernels.size(), 2u);
  EXPECT_EQ(s->kernels[0].kernel, Symbol("attention"));
  EXPECT_EQ(s->kernels[0].axes[2].tile, 48);
  EXPECT_EQ(s->kernels[0].axes[3].walk, WalkKind::kLoop);
  EXPECT_EQ(s->kernels[0].axes[4].tile, 0);
  EXPECT_EQ(s->kernels[1].parts, 27);
  EXPECT_EQ(print(*s), kText);
}

TEST(Schedule, BlanksAndCommentsDoNotCount) {
  auto s = parse_schedule("# rule 1\n\n  a:m 4 grid;parts 2  # why\n");
  ASSERT_TRUE(s.has_value()) << render(s.error());
  EXPECT_EQ(print(*s), "a: m 4 grid; parts 2\n");
  EXPECT_EQ(print(*parse_schedule("")), "");
}

TEST(Schedule, AKernelMayHaveNoWalks) {
  auto s = parse_schedule("a: ; parts 1\nb: n 8 loop; parts 2\n");
  ASSERT_TRUE(s.has_value()) << render(s.error());
  EXPECT_TRUE(s->kernels[0].axes.empty());
  EXPECT_EQ(print(*s), "a: ; parts 1\nb: n 8 loop; parts 2\n");
}

TEST(Schedule, WhatIsNoScheduleIsSaid) {
  const std::pair<const char*, const char*> all[] = {
      {"a", "expected ':', found the end of the text"},
      {"a: ", "expected an axis, found the end of the text"},
      {"a: m 0 grid; parts 1", "expected a number from 1 on, found '0'"},
      {"a: m 4 walk; parts 1", "expected grid, loop or whole, found 'walk'"},
      {"a: m 4 grid\nparts 1", "expected ';', found the end of the line"},
      {"a: m 4 grid; part 1", "expected 'parts', found 'part'"},
      {"a: m 99999999999999999999 grid; parts 1", "expected a number from 1 on"},
      {"a: m 4 grid; parts 1 2", "expected the end of the line, found '2'"},
      {"a: m 4 grid; parts -1", "expected a number from 1 on, found '-'"},
      {"\xff", "expected a kernel, found \\xff"},
  };
  for (auto& [text, message] : all) {
    auto s = parse_schedule(text);
    ASSERT_FALSE(s.has_value()) << text;
    EXPECT_NE(render(s.error()).find(message), std::string::npos) << text << "\n" << render(s.error());
  }
}

}  // namespace
}  // namespace quern::tile
