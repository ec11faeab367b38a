// A laid tile kernel as LLVM IR text for x86: three functions as jit/kernel_abi.h describes them, named after the
// kernel's number ("k0", "k0_points", "k0_arena").
//
// One generator serves every width: blocks of a nest are unrolled over positions, the axis in lanes as vectors of
// CpuTarget::vector_bytes, and LLVM splits what is wider than a register. What differs from processor to processor
// (fma, f16 conversion, rounding, dot products of small types) is asked of the CpuTarget.
#pragma once

#include <string>

#include "base/result.h"
#include "jit/cpu_target.h"
#include "tile/machine.h"
#include "tile/program.h"

namespace quern::target {

struct KernelText {
  std::string entry;  // "k0"
  std::string ir;
};

// B001 where the program is not a laid program as tile/program.h describes it.
Result<KernelText> emit_x86(const tile::Program& program, size_t kernel, const jit::CpuTarget& cpu);

// What placement asks: register blocks and sizes of memory. Rates are typical of the level, and to be replaced by
// measured ones where they are known.
tile::Machine machine_of(const jit::CpuTarget& cpu);

}  // namespace quern::target
