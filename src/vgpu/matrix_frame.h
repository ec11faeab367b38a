// Where registers that hold parts of matrices lie: in one piece of memory, %matrix, where the functions that multiply,
// load and store fragments find them. They would be in memory most of the time in any case.
//
// An unrolled loop has a register of its own for every fragment that it ever touches, thousands, of which a few dozen
// are needed at a time: places are given out by live ranges (linear scan), so that the frame stays in the nearest
// cache.
#pragma once

#include <cstdint>
#include <map>

#include "ptx/module.h"
#include "vgpu/flow.h"
#include "vgpu/shape.h"

namespace quern::vgpu {

struct MatrixFrame {
  std::map<int32_t, int64_t> place;  // of a register, bytes from the start
  int64_t spare = 0;                 // from here on there are places for one instruction's registers
  int64_t bytes = 0;                 // 0: the function has no such instructions
};

// Registers of 32 and 64 bits that differ between lanes and are an operand of such an instruction. Two that are
// needed at a time have two places, and so have the results and operands of one instruction; but D may lie where C
// does, register for register.
MatrixFrame place_matrices(const ptx::Function& function, const Flow& flow, const Shapes& shapes);

}  // namespace quern::vgpu
