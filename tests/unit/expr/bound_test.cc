// The law of bounds: whatever an f32 implementation does that section 7 of the notation allows, its result lies within
// the interpreter's bound of the interpreter's value. Thousands of runs of the simulator, over random kernels and the
// library's, on friendly and hostile numbers.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>

#include "library_sizes.h"
#include "random_real_kernel.h"
#include "simulator.h"

namespace quern::expr::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

uint64_t seed() {
  const char* given = std::getenv("QUERN_TEST_SEED");
  return given ? std::strtoull(given, nullptr, 0) : 20260801;
}

int runs(int usual) {
  const char* given = std::getenv("QUERN_TEST_RUNS");
  return given ? std::atoi(given) : usual;
}

struct Style {
  const char* name;
  std::function<double(Random&)> draw;
};

const std::vector<Style>& styles() {
  static const std::vector<Style> all = {
      {"normal", [](Random& r) { return normal(r); }},
      {"whole", [](Random& r) { return static_cast<double>(between(r, -3, 3)); }},
      {"positive", [](Random& r) { return std::fabs(normal(r)) + 1e-3; }},
      {"cancelling", [](Random& r) { return (chance(r, 0.5) ? 1e4 : -1e4) + normal(r); }},
      {"large", [](Random& r) { return normal(r) * 1e30; }},
      {"largest", [](Random& r) { return normal(r) * 1e38; }},
      {"tiny", [](Random& r) { return normal(r) * 1e-30; }},
      {"subnormal", [](Random& r) { return normal(r) * 1e-42; }},
      {"mixed", [](Random& r) { return normal(r) * std::pow(10.0, static_cast<double>(between(r, -20, 20))); }},
      {"masked", [](Random& r) { return chance(r, 0.3) ? -kInf : normal(r); }},
      {"near ties", [](Random& r) { return 1 + static_cast<double>(between(r, 0, 3)) * 0x1p-23; }},
      {"special",
       [](Random& r) {
         double all[] = {0, -0.0, 1, -1, kInf, -kInf, std::nan(""), 3e38, 1e-45, 0.5};
         return chance(r, 0.4) ? all[between(r, 0, 9)] : normal(r);
       }},
  };
  return all;
}

struct Tally {
  int64_t elements = 0, unbounded = 0;
};

// One implementation's answer against the truth.
bool compare(const Program& program, const Binding& binding, const Arguments& arguments, const Interpreted& truth,
             const Simulator::Tensors& got, const std::string& what, Tally& tally) {
  for (const Output& o : truth.outputs) {
    auto t = static_cast<size_t>(o.tensor);
    ScalarType type = binding.type(program.tensors[t].type);
    bool real = quern::kind(type) == Kind::kReal;
    for (int64_t i = 0; i < arguments.elements(t); ++i) {
      auto at = static_cast<size_t>(i);
      uint64_t bits = load_bits(type, o.data.data(), i);
      double want = real ? decode_real(type, bits) : static_cast<double>(decode_int(type, bits));
      double have = real ? got.real[t][at] : static_cast<double>(got.whole[t][at]);
      double bound = o.bound.at(at);
      ++tally.elements;
      tally.unbounded += bound == kInf;
      bool same = want == have || (std::isnan(want) && std::isnan(have));
      if (!same && std::isfinite(want) && std::isfinite(have)) {
        same = std::fabs(want - have) <= bound;
      }
      if (same || bound == kInf) continue;
      ADD_FAILURE() << what << ": " << program.tensors[t].name.str() << "[" << i << "] is " << want << " ± " << bound
                    << ", an implementation has " << have;
      return false;
    }
  }
  return true;
}

bool check_law(const Program& program, const Binding& binding, Random& random, const std::string& what, int runs,
               const std::function<double(Random&)>& draw, Tally& tally) {
  Arguments arguments(program, binding);
  fill(arguments, program, binding, random, draw);
  auto truth = interpret(program, binding, arguments.views(), {.threads = 1});
  EXPECT_TRUE(truth) << render(truth.error());
  for (int i = 0; i < runs; ++i) {
    Simulator simulator(program, binding, arguments, &random);
    if (!compare(program, binding, arguments, *truth, simulator.run(), what, tally)) return false;
  }
  return true;
}

std::string text(const Dims& dims) {
  std::string out;
  for (const auto& [n, v] : dims) out += n + "=" + std::to_string(v) + " ";
  return out;
}

// Each kernel in each type on each kind of numbers; the first failure of a kernel is shown.
void check_kernel(const LibraryKernel& k, Tally& tally) {
  Random random(seed() ^ std::hash<std::string>()(k.name));
  for (ScalarType type : {ScalarType::f32, ScalarType::bf16, ScalarType::f16, ScalarType::f64}) {
    for (const Style& style : styles()) {
      Dims dims = library_sizes(k.name, random, chance(random, 0.5) ? 20 : 5);
      Request r = request(dims);
      r.default_type = type;
      auto binding = bind(*k.program, r);
      ASSERT_TRUE(binding) << k.name << " " << text(dims) << render(binding.error());
      std::string what =
          k.name + "(" + std::string(name(type)) + ") " + text(dims) + style.name + ", seed " + std::to_string(seed());
      if (!check_law(*k.program, *binding, random, what, 2, style.draw, tally)) return;
    }
  }
}

TEST(Bounds, LibraryOnAllKindsOfNumbers) {
  Tally tally;
  for (const LibraryKernel& k : library()) check_kernel(k, tally);
  EXPECT_GT(tally.elements, 100000);
}

TEST(Bounds, RandomKernels) {
  Tally tally;
  int failures = 0;
  for (int i = 0; i < runs(1500) && failures < 3; ++i) {
    Random random(seed() + static_cast<uint64_t>(i));
    std::string kernel = RandomRealKernel(random).text();
    Text text(kernel);
    if (HasFailure()) return;
    auto type = [&] {
      ScalarType all[] = {ScalarType::f32, ScalarType::f32, ScalarType::bf16,
                          ScalarType::f16, ScalarType::f64, ScalarType::f8e4m3};
      return all[between(random, 0, 5)];
    };
    Dims dims{{"M", between(random, 1, 3)},
              {"N", between(random, 1, 3)},
              {"K", chance(random, 0.5) ? between(random, 0, 5) : between(random, 16, 20)}};
    auto binding = bind(text.program(), request(dims, {{"T", type()}, {"U", type()}}));
    ASSERT_TRUE(binding) << render(binding.error());
    const Style& style = styles()[static_cast<size_t>(between(random, 0, std::ssize(styles()) - 1))];
    std::string what = kernel + style.name + ", seed " + std::to_string(seed() + static_cast<uint64_t>(i));
    failures += !check_law(text.program(), *binding, random, what, 4, style.draw, tally);
  }
  EXPECT_LT(static_cast<double>(tally.unbounded), 0.6 * static_cast<double>(tally.elements));
}

// On friendly numbers every bound is finite, and of the size of what may happen: the median bound is no more than so
// many times the largest error that a few implementations show.
TEST(Bounds, AreNotNeedlesslyLarge) {
  struct Case {
    const char* kernel;
    Dims dims;
    ScalarType type;
    double most;
  };
  const Dims matmul{{"M", 8}, {"K", 256}, {"N", 8}}, norm{{"R", 8}, {"D", 256}};
  const Dims attention{{"B", 1}, {"H", 2}, {"G", 1}, {"M", 16}, {"N", 64}, {"D", 64}, {"E", 8}};
  const Case cases[] = {
      {"matmul", matmul, ScalarType::f32, 400},       {"matmul", matmul, ScalarType::bf16, 3},
      {"layer_norm", norm, ScalarType::f32, 400},     {"layer_norm", norm, ScalarType::bf16, 3},
      {"attention", attention, ScalarType::f32, 400}, {"attention", attention, ScalarType::bf16, 20},
  };
  for (const Case& c : cases) {
    const Program& program = library_kernel(c.kernel);
    Request r = request(c.dims);
    r.default_type = c.type;
    auto binding = bind(program, r);
    ASSERT_TRUE(binding) << render(binding.error());
    Random random(seed());
    Arguments arguments(program, *binding);
    fill(arguments, program, *binding, random, normal);
    auto truth = interpret(program, *binding, arguments.views());
    std::vector<double> bounds = truth->outputs[0].bound;
    double worst = 0;
    for (int i = 0; i < 4; ++i) {
      Simulator simulator(program, *binding, arguments, &random);
      const std::vector<double>& got = simulator.run().real[static_cast<size_t>(truth->outputs[0].tensor)];
      for (size_t e = 0; e < got.size(); ++e) {
        double want = decode_real(c.type, load_bits(c.type, truth->outputs[0].data.data(), static_cast<int64_t>(e)));
        worst = std::max(worst, std::fabs(got[e] - want));
      }
    }
    std::ranges::sort(bounds);
    EXPECT_LT(bounds.back(), kInf) << c.kernel;
    EXPECT_LE(bounds[bounds.size() / 2], c.most * worst)
        << c.kernel << " in " << name(c.type) << ", worst error " << worst;
  }
}

}  // namespace
}  // namespace quern::expr::test
