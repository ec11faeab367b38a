// Computed operands of products are rounded to the 16-bit type beside them, where the notation allows it and the
// machine multiplies that type faster than f32.
//
// Before: stage `lowered`. After, the same stage: dot[n](p, load v) is dot[n](bf16(p), load v). What else reads p reads
// it unrounded.
#pragma once

#include "fuse/graph.h"
#include "tile/machine.h"

namespace quern::fuse {

struct RoundedProgram {
  tile::Program program;
  Diagnostics remarks;  // R2, one a parameter beside which something was rounded
};

RoundedProgram round_operands(const tile::Program& lowered, const std::map<int32_t, Rounding>& roundings,
                              const tile::Machine& machine);

}  // namespace quern::fuse
