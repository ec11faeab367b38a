#include "target/x86/emit.h"

#include <fmt/format.h>

#include "target/vector/emitter.h"

namespace quern::target {

Features features_of(const jit::CpuTarget& cpu) {
  return {.vector_bytes = cpu.vector_bytes,
          .fma = cpu.fma,
          .rounding = cpu.level >= jit::VectorLevel::kAvx2,
          .half = cpu.f16c,
          .avx512 = cpu.level == jit::VectorLevel::kAvx512,
          .bf16_dot = cpu.bf16_dot,
          .int8_dot = cpu.int8_dot};
}

Result<KernelText> emit_x86(const tile::Program& program, size_t kernel, const jit::CpuTarget& cpu) {
  KernelText out{.entry = fmt::format("k{}", kernel)};
  Module module;
  Features has = features_of(cpu);
  const tile::Kernel& k = program.kernels[kernel];
  try {
    Writer writer(module, fmt::format("define void @{}(ptr noalias %params, ptr noalias %dims, i64 %begin, i64 %end, "
                                      "ptr noalias %arena, ptr noalias %report)",
                                      out.entry));
    Emitter(program, k, has, writer).emit_kernel();
    emit_sizes(program, k, has, out.entry, module);
  } catch (const NotLaid& fault) {
    return fail(not_laid(k, fault));
  }
  out.ir = module.print();
  return out;
}

}  // namespace quern::target
