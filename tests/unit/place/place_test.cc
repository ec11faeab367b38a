#include "place/place.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tile/parse.h"
#include "tile/print.h"

namespace quern::place {
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
  auto placed = place(*p, m);
  ASSERT_TRUE(placed) << render(placed.error());
  fmt::print("{}\n", print(*placed));
  auto laid = lay(*placed, m);
  ASSERT_TRUE(laid);
  fmt::print("{}\n", print(*laid));
}

}  // namespace
}  // namespace quern::place
