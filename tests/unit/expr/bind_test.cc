// Sizes and types of a call: what is solved in which order, every error with its words, and the property that shapes
// made from random sizes give these sizes back.
#include <algorithm>

#include "library_sizes.h"

namespace quern::expr::test {
namespace {

struct Shapes {
  std::map<std::string, ArgumentShape> arguments;
  Shapes& with(const std::string& name, std::vector<int64_t> shape, ScalarType type = ScalarType::f32) {
    arguments[name] = {type, std::move(shape)};
    return *this;
  }
};

Result<Binding> solve(const std::string& kernel, const Shapes& shapes, const Dims& dims = {}, const Types& types = {}) {
  static std::vector<std::unique_ptr<Text>> kept;
  kept.push_back(std::make_unique<Text>(kernel));
  Request r = request(dims, types);
  for (const auto& [name, shape] : shapes.arguments) r.arguments[Symbol(name)] = shape;
  return bind(kept.back()->program(), r);
}

// "M=2 N=3 T=f32"
std::string outcome(const Result<Binding>& b) {
  std::vector<std::string> all;
  if (!b) {
    for (const Diagnostic& d : b.error()) {
      all.push_back(std::string(row(d.code).name) + " " + d.message + (d.remedy.empty() ? "" : " | " + d.remedy));
    }
  } else {
    for (const auto& [name, size] : b->sizes) all.push_back(name.str() + "=" + std::to_string(size));
    for (const auto& [name, type] : b->types) all.push_back(name.str() + "=" + std::string(quern::name(type)));
    std::ranges::sort(all);
  }
  std::string out;
  for (const std::string& s : all) out += (out.empty() ? "" : b ? " " : "\n") + s;
  return out;
}

const std::string kMatmul = "kernel f(a: T[M, K], b: T[K, N]) -> c: T[M, N] { c[m, n] = sum[k] a[m, k] * b[k, n] }";

TEST(Bind, SolvesFromNamesThenFormulas) {
  EXPECT_EQ(outcome(solve(kMatmul, Shapes().with("a", {2, 3}).with("b", {3, 4}))), "K=3 M=2 N=4 T=f32");
  // K / 2 * 2 is K; a formula with one unknown gives it, in whatever order the parameters stand.
  EXPECT_EQ(outcome(solve("kernel f(s: f32[K / L], x: f32[K], l: f32[L]) -> y: f32 { y = s[0] + x[0] + l[0] }",
                          Shapes().with("s", {3}).with("x", {12}).with("l", {4}))),
            "K=12 L=4");
  EXPECT_EQ(outcome(solve("kernel f(x: f32[K / 2 * 2], w: f32[2 * F + K - 1]) -> y: f32 { y = x[0] + w[0] }",
                          Shapes().with("x", {6}).with("w", {11}))),
            "F=3 K=6");
  EXPECT_EQ(outcome(solve("kernel f(x: f32[3 - N]) -> y: f32 { y = x[0] }", Shapes().with("x", {3}))), "N=0");
  EXPECT_EQ(outcome(solve("kernel f(start: i32[S + 1]) -> y: f32[S] { y[i < S] = start[i] }",
                          Shapes().with("start", {1}, ScalarType::i32))),
            "S=0");
}

TEST(Bind, GivenSizesDefaultsAndTypes) {
  std::string kernel = "kernel f[W, F = 3, U = bf16](x: T[N]) -> y: U[N] { y[n] = x[n] + W + F }";
  EXPECT_EQ(outcome(solve(kernel, Shapes().with("x", {5}, ScalarType::f16), {{"W", 2}})), "F=3 N=5 T=f16 U=bf16 W=2");
  EXPECT_EQ(outcome(solve(kernel, Shapes(), {{"W", 2}, {"F", 0}, {"N", 0}},
                          {{"T", ScalarType::f64}, {"U", ScalarType::f8e5m2}})),
            "F=0 N=0 T=f64 U=f8e5m2 W=2");
  auto b = solve(kernel, Shapes().with("x", {5}), {{"W", 2}, {"N", 5}});
  EXPECT_EQ(outcome(b), "F=3 N=5 T=f32 U=bf16 W=2");
  EXPECT_EQ(b->shapes, (std::vector<std::vector<int64_t>>{{5}, {5}}));
}

TEST(Bind, ZeroIsASize) {
  auto b = solve(kMatmul, Shapes().with("a", {0, 3}).with("b", {3, 0}));
  EXPECT_EQ(outcome(b), "K=3 M=0 N=0 T=f32");
  EXPECT_EQ(b->shapes[2], (std::vector<int64_t>{0, 0}));
}

TEST(Bind, SaysWhatIsMissing) {
  EXPECT_EQ(outcome(solve("kernel f[W](x: f32[N]) -> y: f32[N] { y[n] = x[n] + W }", Shapes().with("x", {2}))),
            "E701 W must be given | --dim W=...");
  EXPECT_EQ(outcome(solve(kMatmul, Shapes().with("a", {2, 3}))),
            "E701 N must be given | --dim N=..., or an array for b");
}

TEST(Bind, SaysWhatDoesNotFit) {
  EXPECT_EQ(outcome(solve("kernel geglu(x: f32[M, 2 * F]) -> y: f32[M, F] { y[m, f < F] = x[m, f] * x[m, f + F] }",
                          Shapes().with("x", {2, 5}))),
            "E702 2 * F = 5 has no whole solution for F | 5 is not divisible by 2");
  EXPECT_EQ(outcome(solve("kernel f(x: f32[S + 1]) -> y: f32[S] { y[s < S] = x[s] }", Shapes().with("x", {0}))),
            "E702 S + 1 = 0 has no whole solution for S | S would be -1");
  EXPECT_EQ(outcome(solve("kernel f(m: f32[M], x: f32[M * N]) -> y: f32[N] { y[n < N] = x[n] + m[0] }",
                          Shapes().with("m", {0}).with("x", {4}))),
            "E702 M * N = 4 has no whole solution for N | x's size decides nothing here");
  EXPECT_EQ(outcome(solve(kMatmul, Shapes().with("a", {2, 3, 1}).with("b", {3, 4}))),
            "E704 a has 3 dimensions, expected 2");
  EXPECT_EQ(outcome(solve(kMatmul, Shapes().with("a", {2, 3}).with("b", {5, 4}))),
            "E705 b: K is 3, the argument has 5 (with K = 3 from a)");
  EXPECT_EQ(outcome(solve("kernel f(x: f32[N], w: f32[N * N + 1]) -> y: f32[N] { y[n < N] = x[n] + w[n] }",
                          Shapes().with("x", {3}).with("w", {9}))),
            "E705 w: N * N + 1 is 10, the argument has 9 (with N = 3 from x)");
  EXPECT_EQ(outcome(solve("kernel f(x: f32[3]) -> y: f32 { y = x[0] }", Shapes().with("x", {4}))),
            "E705 x: the size must be 3, the argument has 4");
  EXPECT_EQ(outcome(solve("kernel f(x: f32[K], s: f32[K / 4]) -> y: f32 { y = x[0] + s[0] }",
                          Shapes().with("x", {6}).with("s", {1}))),
            "E706 s: K / 4 is not whole | use `//`, or pad");
  // Halves that cancel must be whole too, and nothing is divided by zero.
  EXPECT_EQ(
      outcome(solve("kernel f(x: f32[K]) -> y: f32[K / 2 * 2] { y[k < K / 2 * 2] = x[0] }", Shapes().with("x", {5}))),
      "E706 y: K / 2 * 2 is not whole | use `//`, or pad");
  EXPECT_EQ(outcome(solve("kernel f[L](x: f32[K], s: f32[K / L]) -> y: f32 { y = x[0] + s[0] }",
                          Shapes().with("x", {6}), {{"L", 0}})),
            "E706 s: K / L is not whole | use `//`, or pad");
  EXPECT_EQ(outcome(solve("kernel f[R](x: f32[H]) -> y: f32[H - R + 1] { y[i < H - R + 1] = x[i] }",
                          Shapes().with("x", {3}), {{"R", 5}})),
            "E711 y: H - R + 1 is -1: a dimension can't be negative | larger sizes");
  EXPECT_EQ(outcome(solve("kernel f(x: u4[N]) -> y: i32[N] { y[n] = x[n] }", Shapes().with("x", {3}, ScalarType::u4))),
            "E512 x packs two elements a byte: its last dimension must be even, found 3 | pad it by one");
}

TEST(Bind, SaysWhatContradicts) {
  EXPECT_EQ(outcome(solve(kMatmul, Shapes().with("a", {2, 3}).with("b", {3, 4}, ScalarType::f16))),
            "E707 T is f32 from a and f16 from b | cast, or use two type variables");
  EXPECT_EQ(outcome(solve(kMatmul, Shapes().with("a", {2, 3}).with("b", {3, 4}), {}, {{"T", ScalarType::bf16}})),
            "E707 T is bf16 from the caller and f32 from a | cast, or use two type variables\n"
            "E707 T is bf16 from the caller and f32 from b | cast, or use two type variables");
  EXPECT_EQ(
      outcome(solve("kernel f(x: i32[N]) -> y: i32[N] { y[n] = x[n] }", Shapes().with("x", {3}, ScalarType::i64))),
      "E709 x: expected i32, the argument is i64 | convert the array to i32");
  EXPECT_EQ(outcome(solve(kMatmul, Shapes().with("a", {2, 3}, ScalarType::i32).with("b", {3, 4}))),
            "E715 T is a type variable for real types, i32 (from a) is not real | one of f64 f32 f16 bf16 f8e4m3 "
            "f8e5m2 f8e8m0 f4e2m1");
  EXPECT_EQ(
      outcome(solve(kMatmul, Shapes().with("a", {2, 3}).with("b", {3, 4}), {}, {{"T", ScalarType::i8}})),
      "E715 T is a type variable for real types, i8 is not real | one of f64 f32 f16 bf16 f8e4m3 f8e5m2 f8e8m0 f4e2m1");
  EXPECT_EQ(outcome(solve(kMatmul, Shapes().with("a", {2, 3}).with("b", {3, 4}), {{"M", 7}})),
            "E717 M is 2 from a and 7 was given | leave out --dim M, or give an array of that size");
  EXPECT_EQ(outcome(solve(kMatmul, Shapes().with("a", {2, 3}).with("b", {3, 4}), {{"Q", 1}})),
            "E712 f has no parameter, dimension or type Q | it has a, b, M, K, N, T");
  EXPECT_EQ(outcome(solve(kMatmul, Shapes().with("a", {2, 3}).with("b", {3, 4}).with("c", {2, 4}))),
            "E712 f has no parameter, dimension or type c | it has a, b, M, K, N, T");
  EXPECT_EQ(outcome(solve("kernel f(logits: f32[N]) -> y: f32[N] { y[n] = logits[n] }", Shapes().with("logit", {2}),
                          {{"N", 1}})),
            "E712 f has no parameter, dimension or type logit | did you mean logits?");
  EXPECT_EQ(outcome(solve(kMatmul, Shapes().with("a", {2, 3}).with("b", {3, 4}), {{"M", -1}})),
            "E711 M is -1: a dimension can't be negative | larger sizes");
}

TEST(Bind, Overflow) {
  int64_t large = int64_t{1} << 62;
  EXPECT_EQ(outcome(solve("kernel f[A]() -> y: f64[A] { y[i < A] = 1.5 }", Shapes(), {{"A", large}})),
            "E710 the size of y overflows: dimensions and sizes have 63 bits | smaller sizes");
  EXPECT_EQ(outcome(solve("kernel f[A]() -> y: f32[A * 4] { y[i < A * 4] = 1.5 }", Shapes(), {{"A", large}})),
            "E710 A * 4 overflows: dimensions and sizes have 63 bits | smaller sizes");
  // Also where another dimension is 0, and 4-bit elements count as a byte.
  EXPECT_EQ(codes(solve("kernel f[A, B]() -> y: f32[A, A, B] = 0 { for[i < 1] y[i, i, i] = 1.5 }", Shapes(),
                        {{"A", large}, {"B", 0}})
                      .error()),
            "E710");
  EXPECT_EQ(outcome(solve("kernel f[A]() -> y: u4[A] { y[i < A] = 1 }", Shapes(), {{"A", INT64_MAX - 1}})),
            "A=9223372036854775806");
  EXPECT_EQ(codes(solve("kernel f(x: f32[3 * N - 1]) -> y: f32[N] { y[n < N] = x[n] }", Shapes().with("x", {INT64_MAX}))
                      .error()),
            "E710");
}

TEST(Bind, ReportsAllIndependentErrors) {
  EXPECT_EQ(
      codes(solve("kernel f[W](x: T[M], y: T[2 * N], z: i32[M]) -> o: f32[M] { o[m] = x[m] + y[0] + z[m] + W }",
                  Shapes().with("x", {3}).with("y", {3}, ScalarType::f64).with("z", {4}, ScalarType::i8), {{"V", 1}})
                .error()),
      "E712 E707 E709 E701 E702 E705");
  // What follows from an error is not said again.
  EXPECT_EQ(codes(solve(kMatmul, Shapes().with("a", {2}).with("b", {3, 4})).error()), "E704");
}

TEST(Bind, EvaluatesDimensions) {
  auto value = [](const std::string& e, const std::unordered_map<Symbol, int64_t>& sizes) {
    Text text("kernel f[A, B]() -> y: f32[" + e + "] { y[i < " + e + "] = 1.5 }");
    return evaluate(text.program().tensors[0].shape[0], sizes);
  };
  std::unordered_map<Symbol, int64_t> sizes{{Symbol("A"), 7}, {Symbol("B"), 0}};
  EXPECT_EQ(value("A // 2 + 1", sizes), 4);
  EXPECT_EQ(value("(A + 31) // 32", sizes), 1);
  EXPECT_EQ(value("A // B", sizes), 0);  // x // 0 is 0
  EXPECT_EQ(value("(B - A) // 2", sizes), -4);
  EXPECT_EQ(value("A / 2", sizes), std::nullopt);
  EXPECT_EQ(value("A / 2 * 2", sizes), std::nullopt);
  EXPECT_EQ(value("A / B", sizes), std::nullopt);
  EXPECT_EQ(value("B / A", sizes), 0);
  sizes[Symbol("A")] = INT64_MAX;
  EXPECT_EQ(value("A + 1", sizes), std::nullopt);
  EXPECT_EQ(value("A * A // A", sizes), std::nullopt);
}

// Draw sizes, compute the shapes, forget the sizes: solving gives them back.
TEST(Bind, SolvesWhatItEvaluated) {
  for (const LibraryKernel& k : library()) {
    Random random(std::hash<std::string>()(k.name));
    for (int i = 0; i < 60; ++i) {
      Dims dims = library_sizes(k.name, random, 50);
      auto first = bind(*k.program, request(dims));
      ASSERT_TRUE(first) << k.name << render(first.error());
      Request again;
      for (const Dimension& d : k.program->dimensions) {
        if (d.tensor < 0) again.dimensions[d.name] = dims[d.name.str()];
      }
      for (size_t t = 0; t < k.program->tensors.size(); ++t) {
        const Tensor& tensor = k.program->tensors[t];
        if (tensor.role != Role::kResult) again.arguments[tensor.name] = {first->type(tensor.type), first->shapes[t]};
      }
      auto second = bind(*k.program, again);
      ASSERT_TRUE(second) << k.name << render(second.error());
      EXPECT_EQ(first->sizes, second->sizes);
      EXPECT_EQ(first->shapes, second->shapes);
      // One size changed somewhere is noticed, or gives other sizes.
      if (again.arguments.empty()) continue;
      auto other = again.arguments.begin();
      std::advance(other, between(random, 0, std::ssize(again.arguments) - 1));
      if (other->second.shape.empty()) continue;
      other->second.shape[static_cast<size_t>(between(random, 0, std::ssize(other->second.shape) - 1))] += 1;
      auto third = bind(*k.program, again);
      EXPECT_TRUE(!third || third->sizes != first->sizes) << k.name;
    }
  }
}

}  // namespace
}  // namespace quern::expr::test
