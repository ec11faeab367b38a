// The compiler as a whole: every level prints, compiled code equals the interpreter within its bound at each vector
// level and as plain code, with any number of threads the same bits, from the cache as without it.
#include "compile/compile.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "case.h"
#include "compile/build_id.h"
#include "compile/key.h"
#include "compile/target_device.h"
#include "expr/materialise.h"
#include "jit/jit.h"
#include "tile/parse.h"

namespace quern::compile {
namespace {

constexpr const char* kMatmul =
    "kernel matmul(a: T[M, K], b: T[K, N]) -> c: T[M, N] {\n  c[m, n] = sum[k] a[m, k] * b[k, n]\n}\n";
constexpr const char* kScale = "kernel scale(x: f32[N], s: f32 = 2) -> y: f32[N] {\n  y[i] = x[i] * s + 1\n}\n";
constexpr const char* kSoftmax = "kernel soft(x: f32[M, N]) -> y: f32[M, N] {\n  y[m, n] = softmax[n](x[m, n])\n}\n";
constexpr const char* kGather = "kernel gather(id: i32[N], table: f32[V]) -> y: f32[N] {\n  y[n] = table[id[n]]\n}\n";
constexpr const char* kInout = "kernel bump(inout y: f32[N], x: f32[N]) {\n  y[i] += x[i]\n}\n";
// Reads of what other instances don't write, and two updates that each read what the other one changes elsewhere.
constexpr const char* kHalve =
    "kernel halve(inout x: f32[2 * N]) {\n  for[i < N] x[2 * i] = (x[2 * i] + x[2 * i + 1]) / 2\n}\n";
constexpr const char* kSwap =
    "kernel swap(inout x: f32[2 * N], inout y: f32[2 * N]) {\n"
    "  for[i < N] x[i] = y[i + N]\n  for[i < N] y[i] = x[i + N]\n}\n";

// Kernels that read what others of theirs write, and locals that may lie in memory.
constexpr const char* kRotate =
    "kernel rotate(inout a: f32[N], inout b: f32[N], inout c: f32[N]) {\n  a[i] = b[i]\n  b[i] = c[i] + a[i]\n"
    "  c[i] = a[i]\n}\n";
constexpr const char* kNorm =
    "kernel norm(x: f32[R, D], r: bf16[R, D]) -> (total: bf16[R, D], y: f32[R, D], mu: f32[R]) {\n"
    "  total[i, d] = x[i, d] + r[i, d]\n  y[i, d] = total[i, d] - mean[d](total[i, d])\n"
    "  mu[i] = mean[d](total[i, d])\n}\n";
constexpr const char* kImage =
    "kernel image[G](x: f32[H + 2, C], w: f32[3, C, K], v: f32[3, K, L]) -> y: f64[G, L] {\n"
    "  h[i < H, k]: bf16 = sum[r, c] x[i + r, c] * w[r, c, k]\n  n[i < H, k < K] = count[c](x[i, c] > 0) + k\n"
    "  y[i, l] = sum[r < 3, k] h[i + r, k] * v[r, k, l] * n[i + 1, k] if i % 3 != 1 else n[i + 0, 0]\n}\n";

backend::Options uncached(std::string vectors = "", std::string schedule = "") {
  backend::Options o;
  o.vectors = std::move(vectors);
  o.schedule = std::move(schedule);
  o.cache = false;
  o.verify = true;
  return o;
}

std::vector<Case> cases() {
  std::vector<Case> out;
  out.push_back(make_case(kMatmul, {{"M", 37}, {"K", 29}, {"N", 43}}));
  out.push_back(make_case(kMatmul, {{"M", 1}, {"K", 0}, {"N", 3}}));
  out.push_back(make_case(kScale, {{"N", 1001}}));
  out.push_back(make_case(kScale, {{"N", 0}}));
  out.push_back(make_case(kSoftmax, {{"M", 5}, {"N", 77}}));
  out.push_back(make_case(kGather, {{"N", 50}, {"V", 3}}));
  out.push_back(make_case(kInout, {{"N", 129}}));
  out.push_back(make_case(kHalve, {{"N", 77}}));
  out.push_back(make_case(kSwap, {{"N", 45}}));
  out.push_back(make_case(kRotate, {{"N", 65}}));
  out.push_back(make_case(kNorm, {{"R", 40}, {"D", 19}}));
  out.push_back(make_case(kNorm, {{"R", 2}, {"D", 70}}));
  out.push_back(make_case(kImage, {{"G", 10}, {"H", 12}, {"C", 5}, {"K", 7}, {"L", 18}}));
  return out;
}

TEST(Compile, EqualsTheInterpreterAtEveryVectorLevel) {
  for (const Case& c : cases()) {
    expr::Interpreted want = truth(c);
    for (const char* vectors : {"sse2", "avx2", "avx512"}) {
      if (!jit::runs_here(jit::cpu_of(*jit::parse_level(vectors)))) continue;
      auto code = compile({*c.program, c.binding, uncached(vectors)});
      ASSERT_TRUE(code) << c.program->name.str() << " " << vectors << "\n" << render(code.error());
      auto got = computed(c, *code);
      ASSERT_TRUE(got);
      EXPECT_EQ(difference(c, want, *got), "") << c.program->name.str() << " " << vectors;
      EXPECT_EQ(got->findings.size(), want.findings.size());
    }
  }
}

// vdpbf16ps counts subnormal numbers as 0, which the bound allows for; and `exact` does without it.
TEST(Compile, SubnormalBf16) {
  for (bool exact : {false, true}) {
    Case c = make_case("kernel f(a: bf16[M, K], b: bf16[N, K]) -> c: f32[M, N] { c[m, n] = sum[k] a[m, k] * b[n, k] }",
                       {{"M", 9}, {"K", 64}, {"N", 48}});
    for (size_t t : {0, 1}) {
      for (int64_t i = 0; i < static_cast<int64_t>(c.inputs[t].size()) / 2; ++i) {
        double x = decode_real(ScalarType::bf16, load_bits(ScalarType::bf16, c.inputs[t].data(), i));
        double scale = t == 1 ? 1e18 : i % 3 ? 1e-39 : 1e-20;
        store_bits(ScalarType::bf16, c.inputs[t].data(), i, encode_real(ScalarType::bf16, x * scale));
      }
    }
    expr::Interpreted want = truth(c);
    for (const char* vectors : {"sse2", "avx2", "avx512"}) {
      if (!jit::runs_here(jit::cpu_of(*jit::parse_level(vectors)))) continue;
      backend::Options options = uncached(vectors);
      options.exact = exact;
      auto code = compile({*c.program, c.binding, options});
      ASSERT_TRUE(code) << render(code.error());
      auto got = computed(c, *code);
      ASSERT_TRUE(got);
      EXPECT_EQ(difference(c, want, *got), "") << vectors;
    }
  }
}

TEST(Compile, PlainCodeEqualsTheInterpreter) {
  for (const Case& c : cases()) {
    auto code = compile({*c.program, c.binding, uncached("", "plain")});
    ASSERT_TRUE(code) << c.program->name.str() << "\n" << render(code.error());
    auto got = computed(c, *code);
    ASSERT_TRUE(got);
    EXPECT_EQ(difference(c, truth(c), *got), "") << c.program->name.str();
  }
}

TEST(Compile, LocalsInMemoryChangeNothing) {
  for (const Case& c : cases()) {
    backend::Options o = uncached();
    o.store = true;
    auto code = compile({*c.program, c.binding, o});
    ASSERT_TRUE(code) << c.program->name.str() << "\n" << render(code.error());
    auto got = computed(c, *code);
    ASSERT_TRUE(got);
    EXPECT_EQ(difference(c, truth(c), *got), "") << c.program->name.str();
    EXPECT_EQ(computed(c, *code, 3)->outputs, got->outputs);
  }
}

TEST(Compile, TheSameBitsWithAnyNumberOfThreadsAndAnyAlignment) {
  for (const Case& c : cases()) {
    auto code = compile({*c.program, c.binding, uncached()});
    ASSERT_TRUE(code) << render(code.error());
    auto one = computed(c, *code, 1);
    for (int threads : {2, 3, 8}) EXPECT_EQ(computed(c, *code, threads)->outputs, one->outputs);
    for (size_t shift : {1, 2, 4, 7}) EXPECT_EQ(computed(c, *code, 2, shift)->outputs, one->outputs);
  }
}

TEST(Compile, FaultsOfTheDataReadAsTheInterpreters) {
  Case c = make_case(kGather, {{"N", 50}, {"V", 3}}, 1, -1, 5);
  auto code = compile({*c.program, c.binding, uncached()});
  ASSERT_TRUE(code) << render(code.error());
  expr::Interpreted want = truth(c);
  ASSERT_EQ(want.findings.size(), 1u);
  for (int threads : {1, 4}) {
    auto got = computed(c, *code, threads);
    EXPECT_EQ(render(got->findings), render(want.findings));
    EXPECT_EQ(difference(c, want, *got), "");
  }
}

TEST(Compile, EveryLevelPrintsAndTileLevelsParseBack) {
  using backend::Level;
  Case c = make_case(kMatmul, {{"M", 8}, {"K", 8}, {"N", 8}});
  std::string last;
  for (Level level : {Level::kLowered, Level::kTiled, Level::kPlaced, Level::kLaid, Level::kLlvm, Level::kAsm}) {
    auto text = emit({*c.program, c.binding, uncached()}, level);
    ASSERT_TRUE(text) << render(text.error());
    EXPECT_NE(*text, last);
    last = *text;
    EXPECT_EQ(emit({*c.program, c.binding, uncached()}, level), *text) << "the same bytes each time";
    if (level <= Level::kLaid) {
      EXPECT_TRUE(tile::parse(Source::make("dump", *text))) << *text;
    }
  }
  EXPECT_NE(last.find("ret"), std::string::npos);
}

TEST(Compile, StopsAtALevelAndTimesEachPass) {
  Case c = make_case(kScale, {{"N", 8}});
  std::vector<backend::PassTime> times;
  auto state = run({*c.program, c.binding, uncached()}, backend::Level::kTiled, &times);
  ASSERT_TRUE(state);
  EXPECT_EQ(times.back().name, "tile");
  EXPECT_EQ(state->program.stage, tile::Stage::kTiled);
  EXPECT_TRUE(state->llvm.empty());
  EXPECT_EQ(passes().front().name, times.front().name);
}

TEST(Compile, OptionsThatAreNoneAreRefused) {
  Case c = make_case(kScale, {{"N", 8}});
  EXPECT_EQ(compile({*c.program, c.binding, uncached("mmx")}).error().front().code, Code::E740);
  EXPECT_FALSE(compile({*c.program, c.binding, uncached("", "scale: nonsense")}));
}

TEST(Key, KnowsTheBuild) {
  EXPECT_EQ(build_id().size(), 40u);  // SHA-1
  EXPECT_EQ(build_id().find_first_not_of("0123456789abcdef"), std::string::npos);
  Case c = make_case(kScale, {{"N", 8}});
  TargetDevice cpu{.cpu = jit::cpu_of(jit::VectorLevel::kSse2)};
  EXPECT_NE(key_of({*c.program, c.binding, {}}, cpu, machine_for(cpu)).find(build_id()), std::string::npos);
}

TEST(Key, ChangesWithEverythingThatDecidesTheCode) {
  TargetDevice cpu{.cpu = jit::cpu_of(jit::VectorLevel::kAvx2)};
  Case c = make_case(kScale, {{"N", 8}}), other_size = make_case(kScale, {{"N", 9}});
  Case other_text = make_case(std::string("# comment\n") + kScale, {{"N", 8}});
  std::string base = key_of({*c.program, c.binding, {}}, cpu, machine_for(cpu));
  EXPECT_EQ(key_of({*c.program, c.binding, {}}, cpu, machine_for(cpu)), base);
  EXPECT_NE(key_of({*other_size.program, other_size.binding, {}}, cpu, machine_for(cpu)), base);
  EXPECT_NE(key_of({*other_text.program, other_text.binding, {}}, cpu, machine_for(cpu)), base);
  TargetDevice small{.cpu = jit::cpu_of(jit::VectorLevel::kSse2)};
  EXPECT_NE(key_of({*c.program, c.binding, {}}, small, machine_for(cpu)), base);
  tile::Machine machine = machine_for(cpu);
  machine.near_bytes *= 2;
  EXPECT_NE(key_of({*c.program, c.binding, {}}, cpu, machine), base);
  for (auto change : std::initializer_list<void (*)(backend::Options&)>{
           [](backend::Options& o) { o.trust = true; }, [](backend::Options& o) { o.exact = true; },
           [](backend::Options& o) { o.deterministic = true; }, [](backend::Options& o) { o.schedule = "plain"; },
           [](backend::Options& o) { o.store = true; }}) {
    backend::Options o;
    change(o);
    EXPECT_NE(key_of({*c.program, c.binding, o}, cpu, machine_for(cpu)), base);
  }
  // The same source with its locals stored is another program.
  Case local = make_case("kernel k(x: f32[N]) -> y: f32[N] {\n  z[i] = x[i] + 1\n  y[i] = z[i] * 2\n}\n", {{"N", 8}});
  expr::Materialised stored = expr::materialise(*local.program, local.binding);
  EXPECT_NE(key_of({stored.program, stored.binding, {}}, cpu, machine_for(cpu)),
            key_of({*local.program, local.binding, {}}, cpu, machine_for(cpu)));
}

// The process has one cache: it is pointed to a folder of this test before it is used first.
TEST(Compile, CodeComesFromTheCacheAndADamagedEntryIsMadeAgain) {
  std::string pattern = (std::filesystem::temp_directory_path() / "quern-compile-XXXXXX").string();
  std::string folder = ::mkdtemp(pattern.data());
  ::setenv("QUERN_CACHE", folder.c_str(), 1);
  Case c = make_case(kGather, {{"N", 50}, {"V", 3}}, 1, -1, 5);
  backend::Options o = uncached();
  o.cache = true;
  auto first = compile({*c.program, c.binding, o});
  ASSERT_TRUE(first) << render(first.error());
  EXPECT_FALSE(first->cached);
  auto second = compile({*c.program, c.binding, o});
  ASSERT_TRUE(second);
  EXPECT_TRUE(second->cached);
  auto want = computed(c, *first), got = computed(c, *second);
  EXPECT_EQ(got->outputs, want->outputs);
  EXPECT_EQ(render(got->findings), render(want->findings));

  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::filesystem::resize_file(entry.path(), entry.file_size() / 2);
  }
  auto third = compile({*c.program, c.binding, o});
  ASSERT_TRUE(third);
  EXPECT_FALSE(third->cached);
  EXPECT_EQ(computed(c, *third)->outputs, want->outputs);
  EXPECT_TRUE(compile({*c.program, c.binding, o})->cached);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace quern::compile
