#include "vgpu/launch.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "vgpu/children/family.h"

namespace quern::vgpu {

std::optional<Diagnostic> beyond_limits(const ptx::Function& k, const Launch& launch, const Limits& limits,
                                        int64_t shared) {
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

int64_t static_shared_bytes(const ptx::Module& module, const ptx::Function& kernel) {
  int64_t bytes = 0;
  auto add = [&](const ptx::Variable& v) {
    if (v.space != ptx::Space::kShared || v.linkage == ptx::Linkage::kExtern) return;
    int64_t align = std::max<int64_t>(1, v.align);
    bytes = (bytes + align - 1) / align * align + v.bytes();
  };
  for (const ptx::Variable& v : kernel.variables) add(v);
  // Of the module's own, those that the kernel's instructions name.
  std::set<int32_t> used;
  for (const ptx::Instruction& i : kernel.instructions) {
    for (const ptx::Operand& o : i.operands) {
      bool names = o.kind == ptx::OperandKind::kSymbol || o.kind == ptx::OperandKind::kAddress;
      if (names && o.reg == ptx::kNone && o.symbol.kind == ptx::SymbolKind::kVariable) used.insert(o.symbol.index);
    }
  }
  for (int32_t index : used) {
    if (index >= 0 && index < static_cast<int32_t>(module.variables.size()))
      add(module.variables[static_cast<size_t>(index)]);
  }
  return bytes;
}

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

Result<void> make_ready(Program& program, std::string_view name, const Launch& launch, const Settings& settings) {
  const ptx::Function* kernel = program.kernel(name);
  if (!kernel) return fail(diagnose(Code::E962, {}, {{"name", std::string(name)}, {"remedy", ""}}));
  double seconds = 0;
  auto code =
      compiled(program, *kernel, class_of(launch.block[0], launch.block[1], launch.block[2]), settings, &seconds);
  if (!code) return fail(code.error());
  return {};
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
  if (auto d = beyond_limits(*kernel, launch, settings.limits, 0)) return fail(std::move(*d));
  auto start = std::chrono::steady_clock::now();
  Family family(program, settings);
  auto fault = family.run(*kernel, launch);
  if (!fault) return fail(fault.error());
  Ran out;
  out.fault = std::move(*fault);
  out.compile_s = family.compile_s();
  out.run_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() - out.compile_s;
  out.warp_instructions = family.warp_instructions();
  return out;
}

}  // namespace quern::vgpu
