// Running kernels: what the caller's memory may look like, and what is refused before anything runs.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <thread>

#include "base/scalar_type.h"
#include "quern/module.h"
#include "quern/notation.h"

namespace quern {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int32_t>;

std::span<const float> in(const Floats& v) { return v; }
std::span<const int32_t> in(const Ints& v) { return v; }

Program compiled(const std::string& text, const Options& options = {}) {
  auto module = parse(text);
  EXPECT_TRUE(module) << module.error().text();
  auto program = module->kernels().front().compile(Device::interpreter(), options);
  EXPECT_TRUE(program) << program.error().text();
  return *program;
}

Outcome ran(const Program& program, const Arguments& arguments) {
  auto run = program.run(arguments);
  EXPECT_TRUE(run) << run.error().text();
  return run ? *run : Outcome{};
}

void refused(const Program& program, const Arguments& arguments, const std::string& code, const std::string& message) {
  auto run = program.run(arguments);
  ASSERT_FALSE(run);
  ASSERT_TRUE(run.error().has(code)) << run.error().text();
  bool found = false;
  for (const Error& e : run.error()) found |= e.code == code && e.message == message;
  EXPECT_TRUE(found) << message << " is not in\n" << run.error().text();
}

constexpr char kMatmul[] = "kernel matmul(a: T[M, K], b: T[K, N]) -> c: T[M, N] { c[m, n] = sum[k] a[m, k] * b[k, n] }";
constexpr char kDouble[] = "kernel double(x: f32[N]) -> y: f32[N] { y[n] = 2 * x[n] }";
const Floats a = {1, 2, 3, 4, 5, 6}, b = {1, 0, 0, 1, 1, 1};

TEST(Run, AnEmbeddedKernel) {
  Type T("T");
  Dim M("M"), N("N"), K("K");
  Index m("m"), n("n"), k("k");
  Tensor a_("a", T, {M, K}), b_("b", T, {K, N}), c("c", T, {M, N});
  c(m, n) = sum(k, a_(m, k) * b_(k, n));
  auto program = Kernel("matmul", {a_, b_}, {c}).compile();
  ASSERT_TRUE(program) << program.error().text();
  EXPECT_EQ(program->name(), "matmul");
  Outcome run = ran(*program, Arguments().tensor("a", in(a), {2, 3}).tensor("b", in(b), {3, 2}));
  ASSERT_EQ(run.outputs.size(), 1u);
  const Output* out = run.find("c");
  ASSERT_TRUE(out);
  EXPECT_EQ(out->type, f32);
  EXPECT_EQ(out->shape, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(out->values<float>(), (Floats{4, 5, 10, 11}));
  ASSERT_EQ(out->bound.size(), 4u);
  EXPECT_GT(out->bound[0], 0);
  EXPECT_LT(out->bound[0], 1e-5);
  EXPECT_TRUE(run.findings.empty());
  EXPECT_FALSE(run.find("a"));
}

TEST(Run, WithoutBounds) {
  Outcome run = ran(compiled(kDouble, {.bounds = false}), Arguments().tensor("x", in(a), {6}));
  EXPECT_TRUE(run.find("y")->bound.empty());
}

TEST(Run, ATypeVariableIsWhatTheArgumentsSay) {
  std::vector<uint16_t> half = {0x3f80, 0x4000};  // bf16 1, 2
  Outcome run = ran(compiled("kernel f(x: T[N]) -> y: T[N] { y[n] = x[n] / 3 }"),
                    Arguments().tensor("x", ConstView{half.data(), bf16, {2}}));
  EXPECT_EQ(run.outputs[0].type, bf16);
  EXPECT_EQ(run.outputs[0].data.size(), 4u);
  EXPECT_EQ(run.outputs[0].real(1), round_to(ScalarType::bf16, 2.0 / 3));
}

TEST(Run, TransposedAndReversedAndBroadcastViews) {
  Program program = compiled("kernel f(x: f32[M, N]) -> y: f32[M, N] { y[m, n] = x[m, n] }");
  Outcome transposed = ran(program, Arguments().tensor("x", ConstView{a.data(), f32, {3, 2}, {1, 3}}));
  EXPECT_EQ(transposed.outputs[0].values<float>(), (Floats{1, 4, 2, 5, 3, 6}));
  Outcome reversed = ran(program, Arguments().tensor("x", ConstView{a.data() + 5, f32, {1, 6}, {0, -1}}));
  EXPECT_EQ(reversed.outputs[0].values<float>(), (Floats{6, 5, 4, 3, 2, 1}));
  Outcome broadcast = ran(program, Arguments().tensor("x", ConstView{a.data(), f32, {2, 3}, {0, 2}}));
  EXPECT_EQ(broadcast.outputs[0].values<float>(), (Floats{1, 3, 5, 1, 3, 5}));
}

TEST(Run, UnalignedMemory) {
  std::vector<char> bytes(1 + 6 * sizeof(float));
  std::memcpy(bytes.data() + 1, a.data(), 6 * sizeof(float));
  Outcome run = ran(compiled(kDouble), Arguments().tensor("x", ConstView{bytes.data() + 1, f32, {6}}));
  EXPECT_EQ(run.outputs[0].values<float>(), (Floats{2, 4, 6, 8, 10, 12}));
}

TEST(Run, FourBitElementsOfAnyStride) {
  std::vector<uint8_t> packed = {0x21, 0x43, 0x65};  // 1 2 3 4 5 6
  Program program = compiled("kernel f(x: u4[M, N]) -> y: i32[M, N] { y[m, n] = x[m, n] }");
  Outcome plain = ran(program, Arguments().tensor("x", ConstView{packed.data(), u4, {3, 2}}));
  EXPECT_EQ(plain.outputs[0].values<int>(), (std::vector<int>{1, 2, 3, 4, 5, 6}));
  Outcome columns = ran(program, Arguments().tensor("x", ConstView{packed.data(), u4, {2, 2}, {1, 2}}));
  EXPECT_EQ(columns.outputs[0].values<int>(), (std::vector<int>{1, 3, 2, 4}));
  Outcome backwards = ran(program, Arguments().tensor("x", ConstView{packed.data() + 2, u4, {1, 4}, {0, -1}}));
  EXPECT_EQ(backwards.outputs[0].values<int>(), (std::vector<int>{5, 4, 3, 2}));
}

TEST(Run, OutputsGoWhereTheCallerSays) {
  Floats y(12, -1);
  ran(compiled(kDouble), Arguments().tensor("x", in(a), {6}).output("y", View{y.data() + 10, f32, {6}, {-2}}));
  EXPECT_EQ(y, (Floats{12, -1, 10, -1, 8, -1, 6, -1, 4, -1, 2, -1}));
}

TEST(Run, InoutInPlace) {
  Program program = compiled("kernel f(x: f32[N], inout y: f32[N], alpha: f32 = 1) { y[n] = y[n] + alpha * x[n] }");
  Floats y(6, 1);
  Outcome run = ran(program, Arguments().tensor("x", in(a), {6}).output("y", std::span(y), {6}).scalar("alpha", 10));
  EXPECT_EQ(y, (Floats{11, 21, 31, 41, 51, 61}));
  EXPECT_EQ(run.outputs[0].values<float>(), y);
  // Without an output the caller's memory stays as it is, and defaults are used.
  run = ran(program, Arguments().tensor("x", in(a), {6}).tensor("y", in(y), {6}));
  EXPECT_EQ(y[0], 11);
  EXPECT_EQ(run.outputs[0].values<float>()[0], 12);
}

TEST(Run, ScalarsAreConverted) {
  Program program = compiled(
      "kernel f(i: i8, r: f16 = -0.5, b: bool, x: f32[N]) -> y: f32[N] { y[n] = x[n] + i + r if b else x[n] }");
  Arguments args = Arguments().tensor("x", in(a), {6}).scalar("i", 100).scalar("b", true);
  EXPECT_EQ(ran(program, args).outputs[0].values<float>()[0], 100.5f);
  args.scalar("r", 1.0 / 3).scalar("i", 2.0);
  EXPECT_EQ(ran(program, args).outputs[0].values<float>()[0],
            static_cast<float>(3 + round_to(ScalarType::f16, 1.0 / 3)));
  args.scalar("b", false);
  EXPECT_EQ(ran(program, args).outputs[0].values<float>()[0], 1.0f);
  refused(program, Arguments(args).scalar("i", 128), "E714", "i is a scalar of i8, the argument is 128");
  refused(program, Arguments(args).scalar("i", 0.5), "E714", "i is a scalar of i8, the argument is 0.5");
  refused(program, Arguments(args).scalar("r", 70000), "E714", "r is a scalar of f16, the argument is 70000");
  refused(program, Arguments(args).scalar("b", 2), "E714", "b is a scalar of bool, the argument is 2");
}

TEST(Run, DimensionsAndTypesOfTheCaller) {
  Program program = compiled("kernel f[W, F = 2, U = bf16](x: i32[N]) -> y: U[W] { y[w] = w + F + sum[n] x[n] }");
  Ints x = {1, 2};
  Arguments args = Arguments().tensor("x", in(x), {2}).dimension("W", 3);
  EXPECT_EQ(ran(program, args).outputs[0].type, bf16);
  EXPECT_EQ(ran(program, args).outputs[0].values<int>(), (std::vector<int>{5, 6, 7}));
  args.dimension("F", 0).type("U", f64);
  EXPECT_EQ(ran(program, args).outputs[0].type, f64);
  EXPECT_EQ(ran(program, args).outputs[0].values<double>(), (std::vector<double>{3, 4, 5}));
  refused(program, Arguments().tensor("x", in(x), {2}), "E701", "W must be given");
  refused(program, Arguments(args).dimension("Z", 1), "E712", "f has no parameter, dimension or type Z");
  refused(program, Arguments(args).type("U", i32), "E715", "U is a type variable for real types, i32 is not real");
}

TEST(Run, NothingOfASizeOfZero) {
  Outcome run =
      ran(compiled(kMatmul),
          Arguments().tensor("a", std::span<const float>(), {2, 0}).tensor("b", std::span<const float>(), {0, 2}));
  EXPECT_EQ(run.outputs[0].values<float>(), (Floats{0, 0, 0, 0}));
}

TEST(Run, ArgumentsThatDoNotFit) {
  Program program = compiled(kMatmul);
  Arguments args = Arguments().tensor("a", in(a), {2, 3}).tensor("b", in(b), {3, 2});
  refused(program, Arguments().tensor("a", in(a), {2, 3}).dimension("N", 2), "E703", "argument b is missing");
  refused(program, Arguments(args).tensor("b", in(b), {2, 3}), "E705",
          "b: K is 3, the argument has 2 (with K = 3 from a)");
  refused(program, Arguments(args).tensor("b", in(b), {6}), "E704", "b has 1 dimension, expected 2");
  refused(program, Arguments(args).tensor("b", in(b), {3, 3}), "E705",
          "b: shape (3, 3) has 9 elements, the argument has 6");
  refused(program, Arguments(args).tensor("b", ConstView{b.data(), f32, {3, 2}, {1}}), "E704",
          "b has 2 dimensions and 1 stride");
  refused(program, Arguments(args).tensor("b", ConstView{b.data(), Type("T"), {3, 2}}), "E106", "'T' is not a type");
  refused(program, Arguments(args).tensor("b", ConstView{nullptr, f32, {3, 2}}), "E703", "argument b is missing");
  refused(program, Arguments(args).tensor("b", ConstView{b.data(), f32, {3, 2}, {INT64_MAX, 1}}), "E710",
          "the strides of b overflows: dimensions and sizes have 63 bits");
  refused(program, Arguments(args).tensor("b", ConstView{b.data(), f32, {3, -2}}), "E711",
          "b: N is -2: a dimension can't be negative");
  refused(program, Arguments(args).tensor("b", ConstView{b.data(), f16, {3, 2}}), "E707",
          "T is f32 from a and f16 from b");
  refused(program, Arguments(args).tensor("z", in(b), {6}), "E712", "matmul has no parameter, dimension or type z");
  refused(program, Arguments(args).scalar("z", 1), "E712", "matmul has no parameter, dimension or type z");
  refused(program, Arguments(args).scalar("a", 1), "E713", "a is a tensor, the argument is a number");
  refused(program, Arguments(args).scalar("c", 1), "E712", "matmul has no parameter, dimension or type c");
}

TEST(Run, OutputsThatDoNotFit) {
  Program program = compiled(kMatmul);
  Arguments args = Arguments().tensor("a", in(a), {2, 3}).tensor("b", in(b), {3, 2});
  Floats c(4), big(9);
  std::vector<double> wide(4);
  refused(program, Arguments(args).output("c", std::span(wide), {2, 2}), "E709",
          "c: expected f32, the argument is f64");
  refused(program, Arguments(args).output("c", std::span(c), {4}), "E704", "c has 1 dimension, expected 2");
  refused(program, Arguments(args).output("c", std::span(big), {3, 3}), "E705",
          "c: its shape is (2, 2), the buffer has (3, 3)");
  refused(program, Arguments(args).output("c", std::span(big), {2, 2}), "E705",
          "c: shape (2, 2) has 4 elements, the argument has 9");
  refused(program, Arguments(args).output("a", std::span(c), {2, 2}), "E712",
          "matmul has no parameter, dimension or type a");
}

TEST(Run, ResultsMustNotOverlapParameters) {
  Program program =
      compiled("kernel f(x: f32[N], z: f32[N]) -> (y: f32[N], w: f32[N]) {\n y[n] = x[n]\n w[n] = z[n]\n}");
  Floats memory(12, 1), other(3);
  auto at = [&](int64_t offset, int64_t stride = 1) { return View{memory.data() + offset, f32, {3}, {stride}}; };
  auto read = [&](int64_t offset, int64_t stride = 1) { return ConstView{memory.data() + offset, f32, {3}, {stride}}; };
  Arguments args = Arguments().tensor("x", read(0)).tensor("z", read(3)).output("w", std::span(other), {3});
  refused(program, Arguments(args).output("y", at(2)), "E708", "y overlaps x");
  refused(program, Arguments(args).output("y", at(5)), "E708", "y overlaps z");
  refused(program, Arguments(args).output("y", std::span(other), {3}), "E708", "w overlaps y");
  EXPECT_TRUE(program.run(Arguments(args).output("y", at(6))));
  // Interleaved, but no byte is shared.
  args.tensor("x", read(0, 2)).tensor("z", read(6, 2));
  EXPECT_TRUE(program.run(Arguments(args).output("y", at(1, 2))));
  refused(program, Arguments(args).output("y", at(0, 3)), "E708", "y overlaps x");
  refused(program, Arguments(args).output("y", View{reinterpret_cast<char*>(memory.data() + 1) + 1, f32, {3}, {2}}),
          "E708", "y overlaps x");
}

TEST(Run, ElementsOfAnOutputMustNotOverlap) {
  Program program = compiled("kernel f(x: f32[M, N]) -> y: f32[M, N] { y[m, n] = x[m, n] }");
  Floats memory(12, 1);
  auto refuse = [&](int64_t row, int64_t column) {
    View view{memory.data(), f32, {2, 3}, {row, column}};
    refused(program, Arguments().tensor("x", in(a), {2, 3}).output("y", view), "E708", "y overlaps itself");
  };
  refuse(0, 1);
  refuse(3, 0);
  refuse(2, 1);
  refuse(2, 2);
  for (auto [row, column] : {std::pair(3, 1), {1, 2}, {3, 2}, {4, 1}, {2, 3}}) {
    View view{memory.data(), f32, {2, 3}, {row, column}};
    EXPECT_TRUE(program.run(Arguments().tensor("x", in(a), {2, 3}).output("y", view))) << row << " " << column;
  }
  View backwards{memory.data() + 5, f32, {2, 3}, {-3, -1}};
  EXPECT_TRUE(program.run(Arguments().tensor("x", in(a), {2, 3}).output("y", backwards)));
}

TEST(Run, AnInoutTensorMayNotOverlapAnotherOne) {
  Program program = compiled("kernel f(x: f32[N], inout y: f32[N]) { y[n] = y[n] + x[n] }");
  Floats y(6, 1);
  refused(program, Arguments().tensor("x", in(y), {6}).output("y", std::span(y), {6}), "E708", "y overlaps x");
}

TEST(Run, ASubscriptThatLeavesItsDimensionIsRefusedBefore) {
  Program program = compiled("kernel f[P](x: f32[N]) -> y: f32[N] { y[n] = x[n + P] }");
  auto run = program.run(Arguments().tensor("x", in(a), {6}).dimension("P", 1));
  ASSERT_FALSE(run);
  EXPECT_TRUE(run.error().has("E306")) << run.error().text();
  EXPECT_TRUE(program.run(Arguments().tensor("x", in(a), {6}).dimension("P", 0)));
}

TEST(Run, WhatIsWrongWithTheDataIsFound) {
  Type T("T");
  Dim N("N"), V("V");
  Index n("n");
  Tensor id("id", i32, {N}), table("table", f32, {V}), y("y", f32, {N});
  y(n) = table(id(n));
  auto program = Kernel("look", {id, table}, {y}).compile();
  Ints bad = {1, 7, -1};
  Outcome run = ran(*program, Arguments().tensor("id", in(bad), {3}).tensor("table", in(a), {6}));
  EXPECT_EQ(run.outputs[0].values<float>(), (Floats{2, 0, 0}));
  ASSERT_EQ(run.findings.size(), 1u) << run.findings.text();
  EXPECT_EQ(run.findings[0].code, "E801");
  // Its place is in the kernel's text, which nobody wrote.
  EXPECT_EQ(run.findings[0].file, "<kernel look>");
  EXPECT_EQ(run.findings[0].line, 2);
  EXPECT_NE(run.findings[0].text.find("y[n] = table[id[n]]"), std::string::npos) << run.findings.text();
}

TEST(Run, AMachineHasItsLimit) {
  Program program = compiled("kernel f[N](x: f32) -> y: f32[N] { y[n] = x + n }");
  auto run = program.run(Arguments().scalar("x", 1).dimension("N", int64_t{1} << 50));
  ASSERT_FALSE(run);
  EXPECT_TRUE(run.error().has("E716")) << run.error().text();
  // One number repeated: little memory, a large copy.
  auto repeated = compiled(kDouble).run(Arguments().tensor("x", ConstView{a.data(), f32, {int64_t{1} << 50}, {0}}));
  ASSERT_FALSE(repeated);
  EXPECT_TRUE(repeated.error().has("E716")) << repeated.error().text();
}

TEST(Run, StopsWhenTold) {
  std::atomic<int> asked = 0;
  Options options{.threads = 1, .progress = [&](int64_t, int64_t) { return ++asked < 1; }};
  Program program = compiled("kernel f[N](x: f32) -> y: f32[N] { y[n] = x + sum[k < 1000] k * n }", options);
  auto run = program.run(Arguments().scalar("x", 1).dimension("N", 20000));
  ASSERT_TRUE(run) << run.error().text();
  EXPECT_TRUE(run->stopped);
  EXPECT_GT(asked, 0);
}

TEST(Run, OneProgramInSeveralThreads) {
  Program program = compiled(kMatmul);
  std::atomic<int> right = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        auto run = program.run(Arguments().tensor("a", in(a), {2, 3}).tensor("b", in(b), {3, 2}));
        right += run && run->outputs[0].values<float>() == Floats{4, 5, 10, 11};
      }
    });
  }
  threads.clear();
  EXPECT_EQ(right, 80);
}

}  // namespace
}  // namespace quern
