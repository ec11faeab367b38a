// A laid tile kernel as LLVM IR text for x86: three functions as jit/kernel_abi.h describes them, named after the
// kernel's number ("k0", "k0_points", "k0_arena").
#pragma once

#include "base/result.h"
#include "jit/cpu_target.h"
#include "target/features.h"
#include "target/kernel_text.h"
#include "tile/machine.h"
#include "tile/program.h"

namespace quern::target {

// B001 where the program is not a laid program as tile/program.h describes it.
Result<KernelText> emit_x86(const tile::Program& program, size_t kernel, const jit::CpuTarget& cpu);

Features features_of(const jit::CpuTarget& cpu);

// What placement asks: register blocks and sizes of memory. Rates are typical of the level, and to be replaced by
// measured ones where they are known.
tile::Machine machine_of(const jit::CpuTarget& cpu);

}  // namespace quern::target
