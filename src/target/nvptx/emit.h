// A laid tile kernel as LLVM IR text for NVIDIA GPUs.
//
//   k0(param0, param1, ..., dim0, ..., report, scratch, arena_bytes, points)
//
// First the addresses of the program's tensors, then the sizes (i64) of those dimensions that aren't known when
// compiling, both in order. A block has kWarps warps and takes points of the grid in turn, so any number of blocks is
// right. Near memory is dynamic shared memory if it is known to fit; else `scratch`, in device memory, has
// `arena_bytes` of it for each block. Checks write what they find into `report`, a jit::Found for each site of the
// program. For the host there are k0_points and k0_arena, as jit/kernel_abi.h describes them.
#pragma once

#include "base/result.h"
#include "jit/gpu_target.h"
#include "target/kernel_text.h"
#include "tile/machine.h"
#include "tile/program.h"

namespace quern::target {

inline constexpr int kWarps = 4;

// B001 where the program is not a laid program as tile/program.h describes it.
Result<KernelText> emit_nvptx(const tile::Program& program, size_t kernel, const jit::GpuTarget& gpu);

tile::Machine machine_of(const jit::GpuTarget& gpu);

}  // namespace quern::target
