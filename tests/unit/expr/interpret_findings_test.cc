// What the data did (E801 to E806), ranges that data end, and that neither the number of threads nor the asking for
// bounds changes what comes out.
#include <atomic>
#include <cstring>
#include <functional>

#include "library_sizes.h"

namespace quern::expr::test {
namespace {

using W = std::vector<int64_t>;
using R = std::vector<double>;

TEST(Findings, AReadOutsideGivesZeroAndTheFirstPlaceIsReported) {
  Call call("kernel f(x: f64[N, 2], id: i32[M]) -> y: f64[M] { y[m] = x[id[m], 0] + x[0, id[m]] }",
            {{"N", 3}, {"M", 4}});
  call.set("x", {1, 10, 2, 20, 3, 30}).set("id", {1, 5, -1, 2}).run();
  EXPECT_EQ(call.reals(), (R{12, 0, 0, 3}));
  EXPECT_EQ(call.findings(),
            "E801 x[id[m]] is 5 at m = 1, the dimension has 3\nE801 x[id[m]] is 5 at m = 1, the dimension has 2\n");
}

TEST(Findings, ExtremeSubscripts) {
  Call call("kernel f(x: f64[N], id: i64[M]) -> y: f64[M] { y[m] = x[id[m]] + x[id[m] + 1] }", {{"N", 2}, {"M", 3}});
  call.set("x", {1, 2}).set_whole("id", {INT64_MAX, INT64_MIN, 0}).run();
  EXPECT_EQ(call.reals(), (R{0, 0, 3}));
  EXPECT_EQ(call.findings(),
            "E801 x[id[m]] is 9223372036854775807 at m = 0, the dimension has 2\n"
            "E801 x[id[m] + 1] is -9223372036854775808 at m = 0, the dimension has 2\n");
}

TEST(Findings, ABoundByDataIsCutToTheDimension) {
  std::string kernel =
      "kernel f(x: f64[N], n: i32[M]) -> (s: f64[M], m: f64[M], a: i32[M]) { s[i] = sum[k < n[i]] x[k]\n m[i] = max[k "
      "< n[i]] x[k]\n a[i] = argmax[k < n[i]] x[k] }";
  Call call(kernel, {{"N", 3}, {"M", 4}});
  call.set("x", {-1, -2, -3}).set("n", {2, 5, 0, -7}).run();
  EXPECT_EQ(call.reals("s"), (R{-3, -6, 0, 0}));
  EXPECT_EQ(call.reals("m"), (R{-1, -1, -INFINITY, -INFINITY}));  // not 0, as elements that are not there would be
  EXPECT_EQ(call.wholes("a"), (W{0, 0, -1, -1}));
  EXPECT_EQ(call.findings(),
            "E801 x[k] is 4 at the end of its range n[i] = 5, the dimension has 3\n"
            "E801 x[k] is 4 at the end of its range n[i] = 5, the dimension has 3\n"
            "E801 x[k] is 4 at the end of its range n[i] = 5, the dimension has 3\n");
}

// Hostile data must not ask for 2^31 turns of a loop that does nothing.
TEST(Findings, HugeRangesEndSoon) {
  Call call(
      "kernel f(x: f64[N], start: i32[S + 1]) -> (y: f64[S], z: f64[N] = 0) { y[i < S] = max[start[i] <= k < start[i + "
      "1]] x[k]\n"
      " for[i < S, start[i] <= k < start[i + 1]] z[k] += x[k] }",
      {{"N", 3}, {"S", 2}});
  call.set("x", {-1, -2, -3}).set("start", {-2147483648.0, 1, 2147483647}).run();
  EXPECT_EQ(call.reals("y"), (R{-1, -2}));
  EXPECT_EQ(call.reals("z"), (R{-1, -2, -3}));
  EXPECT_EQ(
      call.findings(),
      "E801 x[k] is -2147483648 at the start of its range start[i] = -2147483648, the dimension has 3\n"
      "E801 x[k] is 2147483646 at the end of its range start[i + 1] = 2147483647, the dimension has 3\n"
      "E803 z is written at k = -2147483648, the start of its range start[i] = -2147483648, the dimension has 3\n"
      "E803 z is written at k = 2147483646, the end of its range start[i + 1] = 2147483647, the dimension has 3\n");
}

TEST(Findings, AGuardBoundsARangeToo) {
  // Nothing is cut where not every instance reads.
  Call call("kernel f(x: f64[N], n: i32) -> y: f64 { y = sum[k < n] (x[k] if k < N else 1) }", {{"N", 2}});
  call.set("x", {1, 2}).set("n", {5}).run();
  EXPECT_EQ(call.reals(), R{6});
  EXPECT_EQ(call.findings(), "");
}

TEST(Findings, EachPlaceOnceAlsoInsideFunctions) {
  Call call(
      "fn twice(x) = x + x\nkernel f(x: f64[N], id: i32[M]) -> y: f64[M] { y[m] = twice(x[id[m]]) + (sum[j < 2] "
      "x[id[m]]) }",
      {{"N", 1}, {"M", 2}});
  call.set("id", {7, 8}).run();
  EXPECT_EQ(call.findings(),
            "E801 x[id[m]] is 7 at m = 0, the dimension has 1\nE801 x[id[m]] is 7 at m = 0, the dimension has 1\n");
}

// --- threads ---

bool same(const Interpreted& a, const Interpreted& b) {
  if (a.outputs.size() != b.outputs.size() || render(a.findings) != render(b.findings)) return false;
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    const Output &x = a.outputs[i], &y = b.outputs[i];
    if (x.data != y.data || x.bound.size() != y.bound.size()) return false;
    if (!x.bound.empty() && std::memcmp(x.bound.data(), y.bound.data(), x.bound.size() * sizeof(double)) != 0)
      return false;
  }
  return true;
}

TEST(Threads, ChangeNothing) {
  for (const LibraryKernel& k : library()) {
    Random random(std::hash<std::string>()(k.name));
    for (int i = 0; i < 3; ++i) {
      Dims dims = library_sizes(k.name, random, 12, false);
      auto binding = bind(*k.program, request(dims, {{"T", i == 0 ? ScalarType::f32 : ScalarType::bf16}}));
      if (!binding) binding = bind(*k.program, request(dims));
      Arguments arguments(*k.program, *binding);
      fill(arguments, *k.program, *binding, random, normal);
      // Wild integers the last time, for findings.
      for (size_t t = 0; i == 2 && t < k.program->tensors.size(); ++t) {
        if (quern::kind(arguments.type(t)) != Kind::kInt) continue;
        for (int64_t e = 0; e < arguments.elements(t); ++e) arguments.put_whole(t, e, between(random, -3, 20));
      }
      auto one = interpret(*k.program, *binding, arguments.views(), {.threads = 1});
      auto two = interpret(*k.program, *binding, arguments.views(), {.threads = 2});
      auto seven = interpret(*k.program, *binding, arguments.views(), {.threads = 7});
      EXPECT_TRUE(same(*one, *two)) << k.name << render(one->findings) << render(two->findings);
      EXPECT_TRUE(same(*one, *seven)) << k.name << render(one->findings) << render(seven->findings);
      auto without = interpret(*k.program, *binding, arguments.views(), {.threads = 2, .bounds = false});
      EXPECT_EQ(render(one->findings), render(without->findings)) << k.name;
      for (size_t o = 0; o < one->outputs.size(); ++o) {
        EXPECT_EQ(one->outputs[o].data, without->outputs[o].data) << k.name;
        EXPECT_TRUE(without->outputs[o].bound.empty());
        EXPECT_EQ(one->outputs[o].bound.size(),
                  static_cast<size_t>(arguments.elements(static_cast<size_t>(one->outputs[o].tensor))));
      }
    }
  }
}

TEST(Progress, CountsAndStops) {
  Call call("kernel f(x: f32[N]) -> y: f32[N] { y[n] = sum[k < N] x[k] }", {{"N", 2000}});
  std::atomic<int64_t> last{0}, calls{0};
  auto out = call.run({.threads = 2, .progress = [&](int64_t done, int64_t total) {
                         EXPECT_EQ(total, 2000);
                         EXPECT_LE(done, total);
                         last = done;
                         ++calls;
                         return true;
                       }});
  EXPECT_FALSE(out.stopped);
  EXPECT_GT(calls, 5);
  out = call.run({.threads = 2, .progress = [&](int64_t done, int64_t) { return done < 500; }});
  EXPECT_TRUE(out.stopped);
  Call scatter("kernel f(x: i32[N]) -> h: i32[1] = 0 { for[n] h[x[n]] += 1 }", {{"N", 20000}});
  out = scatter.run({.threads = 1, .progress = [](int64_t, int64_t) { return false; }});
  EXPECT_TRUE(out.stopped);
}

TEST(Limits, ResultsThatDoNotFitAreRefused) {
  Text text("kernel f[N]() -> y: f32[N] { y[n < N] = 1.5 }");
  auto binding = bind(text.program(), request({{"N", int64_t{1} << 50}}));
  ASSERT_TRUE(binding);
  auto out = interpret(text.program(), *binding, {{}});
  ASSERT_FALSE(out);
  EXPECT_EQ(codes(out.error()), "E716");
}

TEST(Limits, DeepEvaluationIsRefusedAndNotAStackOverflow) {
  auto chain = [](int n, const std::string& before, const std::string& after) {
    std::string body = "t0[i] = x[i]\n";
    for (int k = 1; k <= n; ++k)
      body += "t" + std::to_string(k) + "[i < N] = " + before + "t" + std::to_string(k - 1) + "[i]" + after + "\n";
    return "kernel f(x: f64[N]) -> y: f64[N] { " + body + " y[i] = t" + std::to_string(n) + "[i] }";
  };
  // Each local is two levels.
  const std::pair<const char*, const char*> levels[] = {{"(", " if x[i] > 0 else 0)"},
                                                        {"(sum[i < N] ", ")"},
                                                        {"(max[i < N] ", ")"},
                                                        {"max(", ", 0)"},
                                                        {"abs(", ")"},
                                                        {"pow(", ", 1)"},
                                                        {"f64(", ")"},
                                                        {"(prod[i < N] ", ")"},
                                                        {"(", " + 0)"}};
  for (const auto& [before, after] : levels) {
    Call call(chain(1450, before, after), {{"N", 1}});
    call.set("x", {1}).run({.threads = 2});
    EXPECT_EQ(call.reals(), R{1}) << before;
    Text deeper(chain(2000, before, after));
    auto binding = bind(deeper.program(), request({{"N", 1}}));
    double x = 1;
    auto out = interpret(deeper.program(), *binding, {{&x}, {}});
    ASSERT_FALSE(out);
    EXPECT_EQ(codes(out.error()), "E113");
  }
}

}  // namespace
}  // namespace quern::expr::test
