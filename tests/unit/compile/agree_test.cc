// What is said of compiled code that differs from the interpreter: code of one kernel is held against the truth of
// another of the same signature.
#include "backend/agreement.h"

#include <gtest/gtest.h>

#include "case.h"

namespace quern::compile {
namespace {

backend::Agreement held(const std::string& code_of, const std::string& truth_of,
                        const std::map<std::string, int64_t>& sizes, int64_t hi = 3) {
  Case right = make_case(truth_of, sizes, 1, 0, hi), wrong = make_case(code_of, sizes, 1, 0, hi);
  auto code = compile({*wrong.program, wrong.binding, {.cache = false}});
  if (!code) throw std::runtime_error(render(code.error()));
  std::vector<expr::View> views;
  for (const auto& bytes : right.inputs) views.push_back({bytes.data()});
  return backend::agree(*code, *wrong.program, wrong.binding, views, truth(right));
}

std::string kernel(const std::string& value, const std::string& result = "f32[2, N]") {
  return "kernel f(x: f32[2, N], id: i32[N]) -> y: " + result + " {\n  y[m, n] = " + value + "\n}\n";
}

TEST(Agree, SaysHowCloseItIs) {
  std::string same = kernel("exp(x[m, n]) + id[n]");
  backend::Agreement found = held(same, same, {{"N", 50}});
  EXPECT_EQ(found.wrong, "");
  ASSERT_EQ(found.closest.size(), 1u);
  EXPECT_EQ(found.closest[0].tensor, 2);
  EXPECT_GT(found.closest[0].error, 0);
  EXPECT_GT(found.closest[0].share(), 0);
  EXPECT_LE(found.closest[0].share(), 1);
  std::string moved = kernel("x[1 - m, n] + 0 * id[n]");
  EXPECT_EQ(held(moved, moved, {{"N", 50}}).closest[0].share(), 0);
}

TEST(Agree, SaysWhereItDiffers) {
  std::string truth = kernel("x[m, n] + 0 * id[n]"), code = kernel("x[m, n] + 0 * id[n] + (m if n >= 3 else 0)");
  backend::Agreement found = held(code, truth, {{"N", 5}});
  EXPECT_TRUE(found.wrong.starts_with("y[1, 3] is ")) << found.wrong;
  EXPECT_NE(found.wrong.find(", the interpreter has "), std::string::npos) << found.wrong;
  // An infinity and a NaN are no numbers within a bound.
  for (const char* other : {"inf", "nan", "(nan if n == 4 else x[m, n])"}) {
    EXPECT_NE(held(kernel(std::string(other) + " + 0 * x[m, n] + 0 * id[n]"), truth, {{"N", 5}}).wrong, "") << other;
    EXPECT_NE(held(truth, kernel(std::string(other) + " + 0 * x[m, n] + 0 * id[n]"), {{"N", 5}}).wrong, "") << other;
  }
  std::string whole = kernel("id[n] + m + i32(0 * x[m, n])", "i32[2, N]");
  std::string more = kernel("id[n] + m + i32(0 * x[m, n]) + (1 if n == 4 else 0)", "i32[2, N]");
  EXPECT_TRUE(held(more, whole, {{"N", 5}}).wrong.starts_with("y[0, 4] is "));
}

TEST(Agree, FindsTheSameInTheData) {
  std::string outside = kernel("x[id[n], n]"), inside = kernel("x[min(id[n], 1), n]");
  EXPECT_EQ(held(outside, outside, {{"N", 50}}).wrong, "");
  EXPECT_EQ(held(inside, outside, {{"N", 50}}).wrong, "it finds nothing, the interpreter E801");
  EXPECT_EQ(held(outside, inside, {{"N", 50}}).wrong, "it finds E801, the interpreter nothing");
}

}  // namespace
}  // namespace quern::compile
