// What is drawn for a kernel never leaves a dimension: for every kernel of the library, at many sizes.
#include <algorithm>
#include <set>

#include "library_sizes.h"

namespace quern::expr::test {
namespace {

TEST(Draws, NeverLeaveADimension) {
  for (const LibraryKernel& k : library()) {
    Random random(std::hash<std::string>()(k.name));
    for (int i = 0; i < 30; ++i) {
      Dims dims = library_sizes(k.name, random, i % 2 ? 6 : 14, false);
      auto binding = bind(*k.program, request(dims));
      ASSERT_TRUE(binding) << k.name << render(binding.error());
      Arguments arguments(*k.program, *binding);
      fill(arguments, *k.program, *binding, random, normal);
      auto out = interpret(*k.program, *binding, arguments.views(), {.threads = 1, .bounds = false});
      ASSERT_TRUE(out);
      std::string sizes;
      for (const auto& [n, v] : dims) sizes += n + "=" + std::to_string(v) + " ";
      EXPECT_EQ(render(out->findings), "") << k.name << " " << sizes;
    }
  }
}

Draw draw_of(const std::string& kernel, const Dims& dims, const std::string& tensor) {
  static std::vector<std::unique_ptr<Text>> kept;
  kept.push_back(std::make_unique<Text>(kernel));
  const Program& program = kept.back()->program();
  auto binding = bind(program, request(dims));
  EXPECT_TRUE(binding);
  return draws(program, *binding)[static_cast<size_t>(program.find_tensor(Symbol(tensor)) - program.tensors.data())];
}

std::string text(const Draw& d) {
  const char* names[] = {"real", "integer", "length", "starts", "distinct", "bool"};
  return std::string(names[static_cast<size_t>(d.pattern)]) + " " + std::to_string(d.lo) + " " + std::to_string(d.hi);
}

Draw library_draw(const std::string& kernel, const Dims& dims, const std::string& tensor) {
  const Program& program = library_kernel(kernel);
  auto binding = bind(program, request(dims));
  EXPECT_TRUE(binding) << render(binding.error());
  return draws(program, *binding)[static_cast<size_t>(program.find_tensor(Symbol(tensor)) - program.tensors.data())];
}

TEST(Draws, LengthsReachFromNoneToAll) {
  Dims dims{{"B", 2}, {"H", 1}, {"M", 3}, {"N", 5}, {"D", 2}, {"E", 2}};
  EXPECT_EQ(text(library_draw("attention_cross", dims, "length")), "length 0 6");
  Dims paged{{"S", 2}, {"H", 2}, {"G", 1}, {"D", 2}, {"E", 2}, {"P", 7}, {"L", 3}, {"C", 4}};
  EXPECT_EQ(text(library_draw("paged_attention", paged, "length")), "length 0 13");
  EXPECT_EQ(text(library_draw("paged_attention", paged, "page")), "integer 0 7");
}

TEST(Draws, StartsAreSortedAndSlotsDistinct) {
  EXPECT_EQ(
      text(library_draw("attention_varlen", {{"N", 9}, {"H", 2}, {"G", 1}, {"D", 2}, {"E", 2}, {"S", 3}}, "start")),
      "starts 0 10");
  EXPECT_EQ(text(library_draw("grouped_linear", {{"M", 9}, {"K", 2}, {"X", 3}, {"N", 2}}, "start")), "starts 0 10");
  EXPECT_EQ(text(library_draw("cache_append", {{"N", 5}, {"G", 2}, {"D", 2}, {"P", 3}, {"L", 4}}, "slot")),
            "distinct 0 12");
}

TEST(Draws, SubscriptsAndPlainNumbers) {
  EXPECT_EQ(text(library_draw("embedding", {{"N", 5}, {"V", 11}, {"D", 2}}, "id")), "integer 0 11");
  EXPECT_EQ(text(library_draw("histogram", {{"V", 4}, {"N", 9}}, "x")), "integer 0 4");
  EXPECT_EQ(text(library_draw("cross_entropy", {{"R", 3}, {"V", 7}}, "target")), "integer -1 7");
  EXPECT_EQ(text(library_draw("int8_matmul", {{"M", 2}, {"K", 2}, {"N", 2}}, "a")), "integer -128 128");
  EXPECT_EQ(text(library_draw("int4_linear", {{"M", 2}, {"K", 8}, {"N", 2}, {"L", 4}}, "w")), "integer 0 16");
  EXPECT_EQ(text(library_draw("matmul", {{"M", 2}, {"K", 8}, {"N", 2}}, "a")), "real 0 0");
  EXPECT_EQ(text(draw_of("kernel f(x: f32[N], id: i32[M]) -> y: f32[M] { y[m] = x[2 * id[m] + 1] }",
                         {{"N", 8}, {"M", 3}}, "id")),
            "integer 0 4");
  EXPECT_EQ(text(draw_of("kernel f(x: f32[N], id: i32[M]) -> y: f32[M] { y[m] = x[id[m] // 4] }", {{"N", 8}, {"M", 3}},
                         "id")),
            "integer 0 32");
  EXPECT_EQ(
      text(draw_of("kernel f(x: f32[N], id: i32[M]) -> y: f32[M] { y[m] = x[id[m] - 2] }", {{"N", 8}, {"M", 3}}, "id")),
      "integer 2 10");
  EXPECT_EQ(
      text(draw_of("kernel f(x: f32[N], id: i8[M]) -> y: f32[M] { y[m] = x[id[m]] }", {{"N", 800}, {"M", 3}}, "id")),
      "integer 0 128");
  EXPECT_EQ(text(draw_of("kernel f(c: bool[M]) -> y: f32[M] { y[m] = 1 if c[m] else 0 }", {{"M", 3}}, "c")),
            "bool 0 2");
  EXPECT_EQ(
      text(draw_of("kernel f(x: f32[N], id: u8[M]) -> y: f32[M] { y[m] = x[id[m]] }", {{"N", 256}, {"M", 3}}, "id")),
      "integer 0 256");
}

}  // namespace
}  // namespace quern::expr::test
