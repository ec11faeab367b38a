// What the shared library of the back half exports: one function, which gives the table of backend/backend.h.
#include "chip/host.h"
#include "compile/compile.h"
#include "compile/count.h"
#include "compile/derivation.h"
#include "device/cpu/executable.h"
#include "device/cpu/peak.h"
#include "jit/cpu_target.h"

namespace quern::compile {
namespace {

Result<backend::Compiled> compile_kernel(const backend::Request& request) { return compile(request); }
Result<std::string> emit_kernel(const backend::Request& request, backend::Level level) { return emit(request, level); }

Result<std::string> derive_kernel(const backend::Request& request) { return derivation(request); }

Result<backend::Work> count_kernel(const backend::Request& request) {
  auto state = run(request, backend::Level::kLowered);
  if (!state) return fail(std::move(state.error()));
  return count(state->program);
}

std::vector<backend::DeviceRow> devices() {
  chip::Chip host = chip::host();
  backend::DeviceRow cpu;
  cpu.name = "cpu";
  cpu.description = host.model;
  cpu.units = host.units.value;
  cpu.clock = host.clock.value;
  cpu.vector_bytes = host.vector_bytes.value;
  cpu.l1_bytes = host.l1_bytes.value;
  cpu.l2_bytes = host.l2_bytes.value;
  cpu.l3_bytes = host.l3_bytes.value;
  for (auto level : {jit::VectorLevel::kSse2, jit::VectorLevel::kAvx2, jit::VectorLevel::kAvx512}) {
    if (jit::runs_here(jit::cpu_of(level))) cpu.vectors.emplace_back(jit::name(level));
  }
  return {cpu};
}

backend::Peak peak(int threads) {
  auto measured = device::cpu::measure_peak(threads > 0 ? threads : device::cpu::default_threads());
  return {measured.flops, measured.bandwidth};
}

}  // namespace
}  // namespace quern::compile

extern "C" __attribute__((visibility("default"))) const quern::backend::Backend* quern_backend(
    quern::SymbolPool* pool) {
  quern::use_symbol_pool(pool);
  static const quern::backend::Backend table = {
      .version = QUERN_VERSION,
      .compile = quern::compile::compile_kernel,
      .emit = quern::compile::emit_kernel,
      .derive = quern::compile::derive_kernel,
      .count = quern::compile::count_kernel,
      .devices = quern::compile::devices,
      .measure_peak = quern::compile::peak,
  };
  return &table;
}
