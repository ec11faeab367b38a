// Compiled code against the slow truth: every kernel of the library, or random kernels, in each type and at each width
// of vectors, on random and hostile numbers; every element within the interpreter's bound, and the same findings.
//
//   agreement [--kernel K] [--random N | --programs N] [--cases N] [--seed S] [--list]
//             [--vectors sse2|avx2|avx512 | --on virtual:CHIP]
//
// Prints what disagrees with the command that shows it again; the last line counts, the exit code is 0 if all agree.
#include "backend/agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <set>
#include <utility>

#include "compile/compile.h"
#include "fuse/schedule_rule.h"
#include "jit/cpu_target.h"
#include "library_sizes.h"
#include "random_program.h"
#include "random_real_kernel.h"

namespace quern::expr::test {
namespace {

struct Options {
  std::string kernel;
  int random = 0;    // of RandomRealKernel
  int programs = 0;  // of RandomProgram
  int cases = 4;
  uint64_t seed = 1;
  std::vector<std::string> vectors;  // levels, empty: all that run here; or devices, as --on takes them
};

using Style = double (*)(Random&);
constexpr double kInf = std::numeric_limits<double>::infinity();
const std::pair<const char*, Style> kStyles[] = {
    {"normal", [](Random& r) { return normal(r); }},
    {"whole", [](Random& r) { return static_cast<double>(between(r, -3, 3)); }},
    {"offset", [](Random& r) { return 1e4 + normal(r); }},
    {"large", [](Random& r) { return normal(r) * 1e30; }},
    {"tiny", [](Random& r) { return normal(r) * 1e-33; }},
    {"masked", [](Random& r) { return chance(r, 0.3) ? -kInf : normal(r); }},
    {"special",
     [](Random& r) {
       double all[] = {0, -0.0, 1, -1, kInf, -kInf, std::nan(""), 3e38, 1e-45, 0.5};
       return chance(r, 0.3) ? all[between(r, 0, 9)] : normal(r);
     }},
};

struct Tally {
  int64_t cases = 0, failed = 0;
  int64_t elements = 0, free = 0;  // of results; those that may be anything
  int64_t stored = 0;              // kernels that would have to store what has no limit, so the interpreter runs them
  int64_t split = 0;               // kernels whose reductions were done in parts
  std::set<std::string> whole;     // why others weren't
  double worst = 0;                // error over bound
};

std::string compared(const Program& program, const Binding& binding, const Arguments& arguments,
                     const Interpreted& truth, const backend::Options& how, Tally& tally) {
  auto code = compile::compile({program, binding, how});
  if (!code && code.error().front().code == Code::N904) {
    ++tally.stored;
    return {};
  }
  if (!code) return "not compiled: " + render(code.error());
  backend::Agreement found = backend::agree(*code, program, binding, arguments.views(), truth);
  for (const backend::Closest& c : found.closest) {
    tally.worst = std::max(tally.worst, c.share());
    tally.elements += c.elements;
    tally.free += c.free;
  }
  return found.wrong;
}

// The default schedule with as many parts for each kernel that can be split; empty if none can.
std::string in_parts(const Program& program, const Binding& binding, const backend::Options& how, int64_t parts,
                     Tally& tally) {
  auto state = compile::run({program, binding, how}, backend::Level::kLowered);
  if (!state) return {};
  tile::Schedule schedule = fuse::default_schedule(state->program, state->machine);
  bool any = false;
  for (tile::KernelPlan& plan : schedule.kernels) {
    int64_t before = std::exchange(plan.parts, parts);
    if (auto wrong = fuse::feasible(state->program, {{plan}}, state->machine)) {
      plan.parts = before;
      tally.whole.insert(wrong->message);
    } else {
      any = true;
    }
  }
  tally.split += any;
  return any ? tile::print(schedule) : "";
}

std::string attempt(const Program& program, const Binding& binding, Random& random, Style draw,
                    const std::string& vectors, Tally& tally) {
  Arguments arguments(program, binding);
  fill(arguments, program, binding, random, draw);
  auto truth = interpret(program, binding, arguments.views(), {.threads = 1});
  if (!truth) return "the interpreter: " + render(truth.error());
  backend::Options how{.cache = false, .verify = true};
  (vectors.find(':') != std::string::npos ? how.on : how.vectors) = vectors;
  std::string wrong = compared(program, binding, arguments, *truth, how, tally);
  for (int64_t parts : {2, 3}) {
    if (!wrong.empty()) return wrong;
    backend::Options split = how;
    split.schedule = in_parts(program, binding, how, parts, tally);
    if (split.schedule.empty()) continue;
    wrong = compared(program, binding, arguments, *truth, split, tally);
    if (!wrong.empty()) wrong = fmt::format("with --schedule '{}', {}", split.schedule, wrong);
  }
  if (!wrong.empty() || program.locals.empty()) return wrong;
  // Small sizes seldom pay for memory: once more with all locals in it.
  how.store = true;
  wrong = compared(program, binding, arguments, *truth, how, tally);
  return wrong.empty() ? wrong : "with locals stored, " + wrong;
}

void library_kernel(const LibraryKernel& k, const Options& options, Tally& tally) {
  for (const std::string& vectors : options.vectors) {
    Random random(options.seed ^ std::hash<std::string>()(k.name));
    for (ScalarType type : {ScalarType::f32, ScalarType::bf16, ScalarType::f16, ScalarType::f64}) {
      for (int i = 0; i < options.cases; ++i) {
        const auto& [style, draw] = kStyles[i == 0 ? 0 : static_cast<size_t>(between(random, 0, 6))];
        Dims dims = library_sizes(k.name, random, i % 2 ? 5 : 40);
        Request r = request(dims);
        r.default_type = type;
        auto binding = bind(*k.program, r);
        if (!binding) continue;
        ++tally.cases;
        std::string wrong = attempt(*k.program, *binding, random, draw, vectors, tally);
        if (wrong.empty()) continue;
        ++tally.failed;
        std::string sizes;
        for (const auto& [n, v] : dims) sizes += fmt::format(" {}={}", n, v);
        fmt::print("FAILED {} {} {} {}{}, seed {}: {}\n", k.name, name(type), vectors, style, sizes, options.seed,
                   wrong);
        std::fflush(stdout);
        break;
      }
    }
  }
}

// A random kernel of the kind that the option asks for, on random sizes.
void random_kernel(std::string_view option, uint64_t seed, const Options& options, Tally& tally) {
  Random random(seed);
  bool program = option == "--programs";
  std::string source = program ? RandomProgram(random).text() : RandomRealKernel(random).text();
  Text text(source);
  Dims dims{{"M", between(random, 0, 9)}, {"K", between(random, 0, 40)}, {"N", between(random, 0, 9)}};
  if (program) {
    // Mostly small, now and then more than a block or a vector of anything.
    auto size = [&] { return chance(random, 0.2) ? between(random, 20, 70) : between(random, 0, 19); };
    dims = {{"M", size()}, {"N", size()}, {"K", size()}, {"E", size()}};
  }
  const auto& [style, draw] = kStyles[static_cast<size_t>(between(random, 0, 6))];
  ScalarType types[] = {ScalarType::f32, ScalarType::bf16, ScalarType::f16, ScalarType::f64};
  Types given;
  for (const TypeVariable& t : text.program().types) given[t.name.str()] = types[between(random, 0, 3)];
  auto binding = bind(text.program(), request(dims, given));
  if (!binding) return;
  const std::string& vectors = options.vectors[seed % options.vectors.size()];
  ++tally.cases;
  std::string wrong = attempt(text.program(), *binding, random, draw, vectors, tally);
  if (wrong.empty()) return;
  ++tally.failed;
  std::string sizes;
  for (const auto& [n, v] : dims) sizes += fmt::format(" --dim {}={}", n, v);
  for (const auto& [n, t] : given) sizes += fmt::format(" --type {}={}", n, name(t));
  fmt::print("FAILED random kernel, {} 1 --seed {} ({}, {}{}):\n{}  {}\n", option, seed, vectors, style, sizes, source,
             wrong);
  std::fflush(stdout);
}

int main_of(int count, char** words) {
  Options options;
  for (int i = 1; i < count; ++i) {
    std::string word = words[i];
    if (word == "--list") {
      for (const LibraryKernel& k : library()) fmt::print("{}\n", k.name);
      return 0;
    }
    if (i + 1 == count) {
      fmt::print(stderr, "agreement: {} needs a value\n", word);
      return 2;
    }
    std::string value = words[++i];
    if (word == "--kernel") {
      options.kernel = value;
    } else if (word == "--random") {
      options.random = std::atoi(value.c_str());
    } else if (word == "--programs") {
      options.programs = std::atoi(value.c_str());
    } else if (word == "--cases") {
      options.cases = std::atoi(value.c_str());
    } else if (word == "--seed") {
      options.seed = std::strtoull(value.c_str(), nullptr, 0);
    } else if (word == "--vectors" || word == "--on") {
      options.vectors = {value};
    } else {
      fmt::print(stderr, "agreement: there is no {}\n", word);
      return 2;
    }
  }
  bool all_levels = options.vectors.empty();
  for (auto level : {jit::VectorLevel::kSse2, jit::VectorLevel::kAvx2, jit::VectorLevel::kAvx512}) {
    if (all_levels && jit::runs_here(jit::cpu_of(level))) options.vectors.emplace_back(jit::name(level));
  }
  Tally tally;
  for (int i = 0; i < options.random; ++i) {
    random_kernel("--random", options.seed + static_cast<uint64_t>(i), options, tally);
  }
  for (int i = 0; i < options.programs; ++i) {
    random_kernel("--programs", options.seed + static_cast<uint64_t>(i), options, tally);
  }
  if (options.random + options.programs == 0) {
    for (const LibraryKernel& k : library()) {
      if (options.kernel.empty() || options.kernel == k.name) library_kernel(k, options, tally);
    }
  }
  fmt::print("largest error over bound {:.3f}; {} elements, {:.1f} % of them without a bound\n", tally.worst,
             tally.elements,
             100.0 * static_cast<double>(tally.free) / static_cast<double>(std::max<int64_t>(tally.elements, 1)));
  fmt::print("{} in parts; others not, because:\n", tally.split);
  for (const std::string& why : tally.whole) fmt::print("  {}\n", why);
  fmt::print("{} passed, {} failed, {} not compiled (N904)\n", tally.cases - tally.failed - tally.stored, tally.failed,
             tally.stored);
  return tally.failed == 0 && tally.cases > 0 ? 0 : 1;
}

}  // namespace
}  // namespace quern::expr::test

int main(int count, char** words) { return quern::expr::test::main_of(count, words); }
