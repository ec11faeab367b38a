#include "compile/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>

#include "artifact/cache.h"
#include "artifact/report.h"
#include "artifact/serial.h"
#include "compile/key.h"
#include "compile/package.h"
#include "compile/target_device.h"
#include "fuse/group.h"
#include "fuse/lower.h"
#include "fuse/round_operands.h"
#include "fuse/schedule_rule.h"
#include "fuse/tile.h"
#include "jit/jit.h"
#include "place/keep.h"
#include "place/lanes.h"
#include "place/nest.h"
#include "place/operands.h"
#include "place/pads.h"
#include "target/nvptx/emit.h"
#include "target/x86/emit.h"
#include "tile/print.h"
#include "tile/verify.h"

namespace quern::compile {
namespace {

using backend::Level;

Result<void> next(State& s, Result<tile::Program> program) {
  if (!program) return fail(std::move(program.error()));
  s.program = *std::move(program);
  return {};
}

Result<void> group(State& s) {
  const backend::Options& o = s.request.options;
  fuse::ExpandOptions options{.trust = o.trust, .lacks = s.machine.lacks};
  auto grouped = fuse::group(s.request.program, s.request.binding, s.machine, options, o.store);
  if (!grouped) return fail(std::move(grouped.error()));
  s.graph = std::move(grouped->graph);
  std::ranges::move(grouped->remarks, std::back_inserter(s.remarks));
  return {};
}

Result<void> lower(State& s) {
  fuse::LoweredProgram lowered = fuse::lower(s.graph, s.machine);
  s.program = std::move(lowered.program);
  std::ranges::move(lowered.remarks, std::back_inserter(s.remarks));
  return {};
}

Result<void> round_operands(State& s) {
  if (s.request.options.exact) return {};
  fuse::RoundedProgram rounded = fuse::round_operands(s.program, s.graph.roundings, s.machine);
  s.program = std::move(rounded.program);
  std::ranges::move(rounded.remarks, std::back_inserter(s.remarks));
  return {};
}

// `plain` instead of a schedule: nothing is tiled, every statement is a scalar nest of its own.
constexpr std::string_view kPlain = "plain";

Result<void> schedule(State& s) {
  s.plain = s.request.options.schedule == kPlain;
  if (s.plain) {
    s.machine.vector_bytes = 1;  // scalars
    return {};
  }
  if (s.request.options.schedule.empty()) {
    s.schedule = fuse::default_schedule(s.program, s.machine);
    return {};
  }
  auto given = tile::parse_schedule(s.request.options.schedule);
  if (!given) return fail(std::move(given.error()));
  s.schedule = *std::move(given);
  return {};
}

Result<void> tiles(State& s) { return next(s, fuse::tile(s.program, s.schedule, s.machine)); }
Result<void> operands(State& s) { return s.plain ? Result<void>() : next(s, place::operands(s.program, s.machine)); }
Result<void> nest(State& s) {
  return next(s, s.plain ? place::nest_apart(s.program) : place::nest(s.program, s.machine));
}
Result<void> keep(State& s) { return next(s, place::keep(s.program, s.machine)); }
Result<void> lanes(State& s) { return next(s, place::lanes(s.program, s.machine)); }
Result<void> pads(State& s) { return next(s, place::pads(s.program, s.machine)); }

Result<void> emit_llvm(State& s) {
  for (size_t k = 0; k < s.program.kernels.size(); ++k) {
    auto text = s.gpu ? target::emit_nvptx(s.program, k, *s.gpu) : target::emit_x86(s.program, k, s.cpu);
    if (!text) return fail(std::move(text.error()));
    s.llvm.push_back(*std::move(text));
  }
  return {};
}

Result<void> machine_code(State& s) {
  for (const target::KernelText& k : s.llvm) {
    auto object = s.gpu ? jit::ptx(k.ir, *s.gpu) : jit::compile(k.ir, s.cpu);
    if (!object) return fail(std::move(object.error()));
    s.objects.push_back(*std::move(object));
    if (!s.gpu) continue;
    auto host = jit::compile(k.host, s.cpu);
    if (!host) return fail(std::move(host.error()));
    s.hosts.push_back(*std::move(host));
  }
  return {};
}

// The compiler. A line says what it needs by standing where it stands; between them is what holds from there on.
constexpr Pass kPasses[] = {
    // A checked kernel; every size and type is known.
    {"group", group, std::nullopt},
    // One graph: no locals, no functions, no laziness; every subscript is proved, guarded or checked. What is stored
    // between kernels is a parameter.
    {"lower", lower, std::nullopt},
    {"round operands", round_operands, Level::kLowered},
    // Kernels in order. What is fused is fused: from here on no value moves between kernels, nor to another type.
    {"schedule", schedule, std::nullopt},
    {"tile", tiles, Level::kTiled},
    // Grids, loops and their steps: no range changes any more. Axes of step 1 are scalars.
    {"operands", operands, std::nullopt},
    {"nest", nest, std::nullopt},
    {"keep", keep, Level::kPlaced},
    // Every statement stands in a nest; every value that crosses one has its memory, whose size is bounded.
    {"lanes", lanes, std::nullopt},
    {"pads", pads, Level::kLaid},
    // What lies in lanes and in registers is said, and no absent lane is noticed: code generation decides nothing that
    // costs.
    {"emit", emit_llvm, Level::kLlvm},
    {"machine code", machine_code, std::nullopt},
};

artifact::Cache& cache() {
  static artifact::Cache one(artifact::Cache::default_folder());
  return one;
}

// The cache's entry, linked; nothing if there is none that can be used.
std::optional<backend::Compiled> cached(const std::string& key, const backend::Request& request,
                                        const TargetDevice& device) {
  auto bytes = cache().find(key);
  auto kept = bytes ? artifact::from_bytes(*bytes) : std::nullopt;
  if (!kept) return std::nullopt;
  auto artifact = std::make_shared<const artifact::Artifact>(*std::move(kept));
  auto executable = load(artifact, device);
  if (!executable) return std::nullopt;
  backend::Compiled out;
  out.executable = *std::move(executable);
  out.remarks = artifact::remarks(*artifact, request.program.sources);
  out.cached = true;
  return out;
}

class Stopwatch {
 public:
  double lap() {
    auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace

std::span<const Pass> passes() { return kPasses; }

Result<State> run(const backend::Request& request, std::optional<Level> last, std::vector<backend::PassTime>* times) {
  auto device = device_of(request.options);
  if (!device) return fail(std::move(device.error()));
  State state{.request = request, .cpu = device->cpu, .gpu = device->gpu, .machine = machine_for(*device)};
  Stopwatch watch;
  for (const Pass& pass : kPasses) {
    if (auto done = pass.run(state); !done) return fail(std::move(done.error()));
    // Between the levels a program is on its way: nests without keeps, grids without nests.
    if (request.options.verify && pass.after && !state.program.kernels.empty()) {
      if (Diagnostics wrong = tile::verify(state.program); !wrong.empty()) {
        wrong.front().message = fmt::format("after {}: {}", pass.name, wrong.front().message);
        return fail(std::move(wrong));
      }
    }
    if (times) times->push_back({std::string(pass.name), watch.lap()});
    if (last && pass.after == last) break;
  }
  return state;
}

Result<std::string> emit(const backend::Request& request, Level level) {
  if (level == Level::kLowered && !request.options.schedule.empty()) {
    // Not used yet, but one that can't be used is an error at every level.
    if (auto used = run(request, Level::kTiled); !used) return fail(std::move(used.error()));
  }
  auto state = run(request, level == Level::kAsm ? Level::kLlvm : level);
  if (!state) return fail(std::move(state.error()));
  if (level != Level::kLlvm && level != Level::kAsm) return tile::print(state->program);
  std::string out;
  for (const target::KernelText& k : state->llvm) {
    if (level == Level::kLlvm) {
      out += k.ir;
      continue;
    }
    auto text = state->gpu ? jit::ptx(k.ir, *state->gpu) : jit::assembly(k.ir, state->cpu);
    if (!text) return text;
    out += *text;
  }
  return out;
}

Result<backend::Compiled> compile(const backend::Request& request) {
  auto device = device_of(request.options);
  if (!device) return fail(std::move(device.error()));
  std::string key;
  backend::Compiled out;
  if (request.options.cache) {
    Stopwatch watch;
    key = key_of(request, *device, machine_for(*device));
    if (auto found = cached(key, request, *device)) {
      found->times.push_back({"cache", watch.lap()});
      return *std::move(found);
    }
  }
  auto state = run(request, std::nullopt, &out.times);
  if (!state) return fail(std::move(state.error()));
  auto packed = package(*state);
  if (!packed) return fail(std::move(packed.error()));
  Stopwatch watch;
  auto artifact = std::make_shared<const artifact::Artifact>(*std::move(packed));
  auto executable = load(artifact, *device);
  if (!executable) return fail(std::move(executable.error()));
  out.times.push_back({"link", watch.lap()});
  out.executable = *std::move(executable);
  out.remarks = std::move(state->remarks);
  if (request.options.cache) {
    cache().keep(key, artifact::to_bytes(*artifact));
    if (auto trouble = cache().trouble()) out.remarks.push_back(*std::move(trouble));
  }
  return out;
}

}  // namespace quern::compile
