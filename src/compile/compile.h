// The compiler: from a checked kernel whose sizes are bound to an object file, pass by pass.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "fuse/graph.h"
#include "jit/cpu_target.h"
#include "jit/gpu_target.h"
#include "target/kernel_text.h"
#include "tile/machine.h"
#include "tile/program.h"
#include "tile/schedule.h"

namespace quern::compile {

// What passes between the passes. Each reads what those before it wrote.
struct State {
  const backend::Request& request;
  jit::CpuTarget cpu;                 // of the processor that computes, or that launches
  std::optional<jit::GpuTarget> gpu;  // that computes
  tile::Machine machine;

  fuse::Graph graph;
  tile::Program program;                 // at the stage that the last pass says
  tile::Schedule schedule;               // given, or chosen
  bool plain = false;                    // instead of one: the simplest code, always right
  std::vector<target::KernelText> llvm;  // one a kernel
  std::vector<std::string> objects;      // ELF objects, one a kernel; or PTX,
  std::vector<std::string> hosts;        // and the objects of what launches it
  Diagnostics remarks;
};

struct Pass {
  std::string_view name;
  Result<void> (*run)(State& state);
  std::optional<backend::Level> after;  // the level that is complete after it
};
std::span<const Pass> passes();

// Runs the passes to the end, or until `last` is complete; `times` gets a row a pass. E740 for options that can't be
// understood, else what the passes say.
Result<State> run(const backend::Request& request, std::optional<backend::Level> last = std::nullopt,
                  std::vector<backend::PassTime>* times = nullptr);

// The text of a level.
Result<std::string> emit(const backend::Request& request, backend::Level level);

// All of it, or the cache's entry, and linked.
Result<backend::Compiled> compile(const backend::Request& request);

}  // namespace quern::compile
