// Barriers that are objects in shared memory (PTX ISA 9.7.13.15): 64 bits that only these operations look into, and
// that are laid out here as we like.
//
//   bits 0 … 19   arrivals that are pending in this phase
//   bits 20 … 39  arrivals that the next phase expects
//   bits 40 … 60  bytes of asynchronous copies that are still to come, with a sign
//   bit 63        the parity of the phase
//
// A phase ends when neither arrivals nor bytes are pending.
#pragma once

#include <cstdint>

namespace quern::vgpu {

enum class Mbarrier : int32_t {
  kInit,      // operand: arrivals expected
  kExpect,    // operand: bytes
  kComplete,  // operand: bytes
  kArrive,    // operand: arrivals; `bytes` are expected first; the result is the state before
  kDrop,      // as arrive, and the next phases expect so many fewer
  kTest,      // operand: a state, or a parity; the result is 1 if that phase has ended
};

// One instruction of a warp: addresses were checked.
struct MbarrierCall {
  int32_t operation = 0;  // Mbarrier
  int32_t parity = 0;     // kTest: the operand is a parity
  uint64_t address[32];
  uint64_t operand[32];
  uint64_t bytes[32];
  uint64_t result[32];
};

inline constexpr uint64_t kMbarrierMost = (1 << 20) - 1;

// Lane after lane. Whether a phase ended that warps may be waiting for.
bool run(MbarrierCall& call, uint32_t lanes);

}  // namespace quern::vgpu
