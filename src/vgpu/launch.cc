#include "vgpu/launch.h"

#include <chrono>
#include <cstring>

#include "vgpu/compile.h"
#include "vgpu/grid.h"

namespace quern::vgpu {
namespace {

std::optional<Diagnostic> beyond(const ptx::Function& k, const Launch& launch, const Limits& limits, int64_t shared) {
  auto say = [](std::string what, int64_t value, std::string limit) {
    return diagnose(Code::E960, {},
                    {{"what", std::move(what)}, {"value", std::to_string(value)}, {"limit", std::move(limit)}});
  };
  const char* axis[] = {"x", "y", "z"};
  int64_t threads = 1;
  for (size_t i = 0; i < 3; ++i) {
    if (!launch.grid[i] || launch.grid[i] > limits.grid[i]) {
      return say(fmt::format("grid.{}", axis[i]), launch.grid[i], fmt::format("it must be 1 to {}", limits.grid[i]));
    }
    if (!launch.block[i] || launch.block[i] > limits.block[i]) {
      return say(fmt::format("block.{}", axis[i]), launch.block[i], fmt::format("it must be 1 to {}", limits.block[i]));
    }
    threads *= launch.block[i];
  }
  if (threads > limits.threads_per_block) {
    return say("threads of a block", threads, fmt::format("at most {}", limits.threads_per_block));
  }
  if (launch.shared_bytes < 0 || shared + launch.shared_bytes > limits.shared_bytes) {
    return say("shared memory of a block", shared + launch.shared_bytes,
               fmt::format("at most {} bytes", limits.shared_bytes));
  }
  int64_t most = 1;
  for (int32_t m : k.max_threads) most *= m ? m : 1;
  if (k.max_threads[0] && threads > most) {
    return say("threads of a block", threads, fmt::format("the kernel is compiled for at most {} (.maxntid)", most));
  }
  for (size_t i = 0; i < 3; ++i) {
    int32_t want = k.required_threads[i];
    if (k.required_threads[0] && launch.block[i] != static_cast<uint32_t>(want ? want : 1)) {
      return say(fmt::format("block.{}", axis[i]), launch.block[i],
                 fmt::format("the kernel is compiled for {} (.reqntid)", want ? want : 1));
    }
  }
  return std::nullopt;
}

// What cooperative_groups finds through %envreg1 (high) and %envreg2: two words, the size of this and the count of
// those who came to the grid's barrier. A grid that isn't cooperative has none.
Result<uint64_t> make_workspace(Memory& memory) {
  constexpr uint32_t kWords[2] = {sizeof kWords, 0};
  auto at = memory.allocate(sizeof kWords, 64, Holds::kGlobal, "grid workspace");
  if (!at) return fail(at.error());
  std::memcpy(reinterpret_cast<void*>(*at), kWords, sizeof kWords);
  memory.mark_written(*at, sizeof kWords);
  return *at;
}

}  // namespace

Limits limits_of(const chip::Chip& chip) {
  Limits out;
  out.shared_bytes = static_cast<int64_t>(chip.gpu.shared_block_bytes.value);
  out.multiprocessors = static_cast<int32_t>(chip.units.value);
  out.clock_khz = static_cast<int32_t>(chip.clock.value / 1e3);
  out.blocks_per_multiprocessor = static_cast<int32_t>(chip.gpu.blocks.value);
  out.compute_capability = static_cast<int32_t>(chip.gpu.compute_capability.value);
  return out;
}

ParameterLayout parameter_layout(const ptx::Function& kernel) {
  ParameterLayout out;
  for (const ptx::Variable& p : kernel.parameters) {
    int64_t align = std::max<int64_t>(p.align, 1);
    out.bytes = (out.bytes + align - 1) / align * align;
    out.offsets.push_back(out.bytes);
    out.sizes.push_back(p.bytes());
    out.bytes += p.bytes();
  }
  return out;
}

Result<Ran> run(Program& program, std::string_view name, const Launch& launch, const Settings& settings) {
  const ptx::Function* kernel = program.kernel(name);
  if (!kernel) return fail(diagnose(Code::E962, {}, {{"name", std::string(name)}, {"remedy", ""}}));
  ParameterLayout layout = parameter_layout(*kernel);
  if (static_cast<int64_t>(launch.arguments.size()) != layout.bytes) {
    return fail(diagnose(Code::E961, {},
                         {{"kernel", std::string(name)},
                          {"want", fmt::format("{} bytes of arguments", layout.bytes)},
                          {"have", fmt::format("{}", launch.arguments.size())}}));
  }
  Ran out;
  if (auto d = beyond(*kernel, launch, settings.limits, 0)) return fail(std::move(*d));
  BlockClass block = class_of(launch.block[0], launch.block[1], launch.block[2]);
  auto code = compiled(program, *kernel, block, settings, &out.compile_s);
  if (!code) return fail(code.error());
  if (auto d = beyond(*kernel, launch, settings.limits, (*code)->shared_bytes)) return fail(std::move(*d));
  auto bank = program.memory().allocate(std::max<int64_t>(layout.bytes, 1), 64, Holds::kParameter, "arguments");
  if (!bank) return fail(bank.error());
  if (layout.bytes) std::memcpy(reinterpret_cast<void*>(*bank), launch.arguments.data(), launch.arguments.size());
  uint64_t workspace = 0;
  if (launch.cooperative) {
    auto made = make_workspace(program.memory());
    if (!made) return fail(made.error());
    workspace = *made;
  }
  auto start = std::chrono::steady_clock::now();
  Grid grid(program, **code, launch, settings, *bank, workspace);
  auto fault = grid.run();
  out.run_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  program.memory().release(*bank);
  if (workspace) program.memory().release(workspace);
  if (!fault) return fail(fault.error());
  out.fault = std::move(*fault);
  out.warp_instructions = grid.warp_instructions();
  return out;
}

}  // namespace quern::vgpu
