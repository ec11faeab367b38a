#include "compile/target_device.h"

#include <fmt/format.h>

#include "chip/host.h"
#include "device/cpu/executable.h"
#include "device/virtual/executable.h"
#include "target/nvptx/emit.h"
#include "target/x86/emit.h"

namespace quern::compile {
namespace {

constexpr std::string_view kVirtual = "virtual:";

Result<jit::CpuTarget> cpu_of(const backend::Options& options) {
  auto level = jit::parse_level(options.vectors);
  if (level || options.vectors.empty()) {
    jit::CpuTarget out = level ? jit::cpu_of(*level) : jit::host_cpu();
    if (options.exact) out.bf16_dot = false;  // it counts subnormal numbers as 0
    return out;
  }
  std::string what = "there are no vectors '" + options.vectors + "': sse2, avx2 or avx512";
  return fail(diagnose(Code::E740, {}, {{"what", what}, {"command", "run"}}));
}

tile::Machine machine_of_host(const jit::CpuTarget& target) {
  static const chip::Chip host = chip::host();
  tile::Machine m = target::machine_of(target);
  m.near_bytes = static_cast<int64_t>(host.l2_bytes.value) / 2;
  m.line_bytes = static_cast<int64_t>(host.line_bytes.value);
  m.units = static_cast<int64_t>(host.units.value);
  double lanes = static_cast<double>(target.vector_bytes) / 4;
  double per_cycle = target.fma ? host.fma_per_cycle.value : 0.5;
  m.flops_per_second = host.clock.value * per_cycle * lanes * 2;
  // Loads of a core from its L2: a line in two clocks, and a tenth of that from far memory where nobody has measured
  // it.
  m.near_bytes_per_second = host.clock.value * 32;
  m.far_bytes_per_second = host.bandwidth.known() ? host.bandwidth.value : host.clock.value * 3.2;
  return m;
}

jit::GpuTarget gpu_of(const chip::Chip& chip) {
  jit::GpuTarget out;
  out.cpu = fmt::format("sm_{}", static_cast<int>(chip.gpu.compute_capability.value));
  out.shared_block_bytes = static_cast<int64_t>(chip.gpu.shared_block_bytes.value);
  out.multiprocessors = static_cast<int64_t>(chip.units.value);
  out.clock = chip.clock.value;
  // Two transfers a clock.
  out.bandwidth = chip.gpu.memory_clock.value * 2 * chip.gpu.memory_bits.value / 8;
  return out;
}

}  // namespace

Result<TargetDevice> device_of(const backend::Options& options) {
  auto cpu = cpu_of(options);
  if (!cpu) return fail(std::move(cpu.error()));
  TargetDevice out{.cpu = *cpu};
  if (!options.on.starts_with(kVirtual)) return out;
  std::string name = options.on.substr(kVirtual.size());
  auto chip = chip::find_gpu(name);
  if (!chip) return fail(std::move(chip.error()));
  out.chip = *chip;
  out.gpu = gpu_of(**chip);
  return out;
}

tile::Machine machine_for(const TargetDevice& device) {
  return device.gpu ? target::machine_of(*device.gpu) : machine_of_host(device.cpu);
}

Result<std::shared_ptr<const device::Executable>> load(std::shared_ptr<const artifact::Artifact> artifact,
                                                       const TargetDevice& device) {
  if (device.gpu) return device::virtual_gpu::load(std::move(artifact), *device.chip);
  return device::cpu::load(std::move(artifact));
}

}  // namespace quern::compile
