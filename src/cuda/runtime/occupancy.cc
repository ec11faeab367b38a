#include "cuda/runtime/occupancy.h"

#include <algorithm>

#include "cuda/runtime/launch.h"
#include "cuda/runtime/process.h"

namespace quern::cuda {
namespace {

constexpr int64_t kShared = 128;     // granularity of shared memory
constexpr int kRegisterGrain = 256;  // registers are given to warps in pieces of this

const chip::Gpu& gpu() { return Process::get().config.chip->gpu; }

}  // namespace

int registers_of(const ptx::Function& kernel) {
  if (kernel.max_registers) return kernel.max_registers;
  // PTX has a register for each value; a thread needs no more than the chip gives it at a full block.
  return 32;
}

int blocks_per_multiprocessor(const vgpu::Program& program, const ptx::Function& kernel, int threads,
                              size_t dynamic_shared) {
  if (threads <= 0) return 0;
  int64_t warps = (threads + 31) / 32;
  int64_t blocks = std::min<int64_t>(static_cast<int64_t>(gpu().blocks.value),
                                     static_cast<int64_t>(gpu().threads.value) / 32 / warps);
  int64_t shared =
      vgpu::static_shared_bytes(program.module(), kernel) + static_cast<int64_t>(dynamic_shared) + kReservedShared;
  shared = (shared + kShared - 1) / kShared * kShared;
  blocks = std::min(blocks, static_cast<int64_t>(gpu().shared_bytes.value) / shared);
  if (kernel.max_registers) {
    int64_t warp = (int64_t{kernel.max_registers} * 32 + kRegisterGrain - 1) / kRegisterGrain * kRegisterGrain;
    blocks = std::min(blocks, static_cast<int64_t>(gpu().registers.value) / warp / warps);
  }
  return static_cast<int>(std::max<int64_t>(0, blocks));
}

size_t shared_for_blocks(const vgpu::Program& program, const ptx::Function& kernel, int blocks) {
  int64_t each = static_cast<int64_t>(gpu().shared_bytes.value) / std::max(1, blocks) / kShared * kShared;
  each = std::min(each, static_cast<int64_t>(gpu().shared_block_bytes.value) + kReservedShared);
  return static_cast<size_t>(
      std::max<int64_t>(0, each - kReservedShared - vgpu::static_shared_bytes(program.module(), kernel)));
}

}  // namespace quern::cuda
