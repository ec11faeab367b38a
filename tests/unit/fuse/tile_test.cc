#include "fuse/tile.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "fuse/schedule_rule.h"
#include "tile/parse.h"
#include "tile/print.h"

namespace quern::fuse {
namespace {

using namespace tile;

TEST(Show, all) {
  const char* file = getenv("SHOW");
  if (!file) return;
  auto src = read_source(file);
  auto p = parse(*src);
  ASSERT_TRUE(p) << render(p.error());
  Machine m;
  m.vector_bytes = 64, m.registers = 32, m.near_bytes = 512 << 10, m.units = 2;
  m.dots = {{ScalarType::f32, ScalarType::f32, 8, 48, 1, 4, 16}};
  Schedule s = default_schedule(*p, m);
  for (auto& k : s.kernels) {
    fmt::print("# {}:", k.kernel.str());
    for (auto& a : k.axes) fmt::print(" {}:{} {}", a.axis.str(), a.tile, a.walk == WalkKind::kGrid ? "grid" : "loop");
    fmt::print("\n");
  }
  auto t = tile(*p, s, m);
  ASSERT_TRUE(t) << render(t.error());
  fmt::print("{}", print(*t));
}

}  // namespace
}  // namespace quern::fuse
