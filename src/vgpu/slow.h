// Operations that emitted code leaves to C++: doubles that are rounded in a direction. One call does all lanes of a
// warp.
#pragma once

#include <cstdint>

namespace quern::vgpu {

enum class Slow : int32_t { kAdd, kMultiply, kDivide, kSquareRoot, kMultiplyAdd, kFromSigned, kFromUnsigned };

struct SlowCall {
  int32_t function = 0;  // Slow
  int32_t round = 0;     // Round
  int32_t lanes = 0;     // 32, or 1 where all have the same operands
  int32_t unused = 0;
  uint64_t operands[3][32];  // bits of doubles, or integers
  uint64_t result[32];
};

void run(SlowCall& call);

}  // namespace quern::vgpu
