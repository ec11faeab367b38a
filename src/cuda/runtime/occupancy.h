// How many blocks of a kernel a multiprocessor holds: by threads, by shared memory, by blocks. Registers are not known,
// since no machine code is made, so they limit nothing unless the kernel declares a number (.maxnreg).
#pragma once

#include <cstdint>

#include "vgpu/program.h"

namespace quern::cuda {

// Shared memory that a block may have without asking for more, and what the driver takes of each block for itself.
inline constexpr int64_t kPlainShared = 48 << 10;
inline constexpr int64_t kReservedShared = 1 << 10;

int blocks_per_multiprocessor(const vgpu::Program& program, const ptx::Function& kernel, int threads,
                              size_t dynamic_shared);
// Dynamic shared memory that is left for each of so many blocks.
size_t shared_for_blocks(const vgpu::Program& program, const ptx::Function& kernel, int blocks);
// Registers a thread as cudaFuncGetAttributes tells them: an estimate from what PTX declares, within what the chip has.
int registers_of(const ptx::Function& kernel);

}  // namespace quern::cuda
