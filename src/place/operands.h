// Gives the operands of dots a form and a place that repay reading them again and again.
//
// Before: stage `tiled`. After, the same stage: where an operand is read for many rows (or columns) and
//   is computed         (a cast, a gain, a dequantisation): it is a statement of its own, computed once a tile
//   does not lie well   (the columns of the result are not side by side in it, or a panel is only part of a wide row):
//                       it is read into a name of its own, which lanes will lay out in panels. This *packing* stands
//                       as far out as the loops allow whose axes it lacks, while it fits the memory for it.
// The other operand is read where it is, row by row: rows need no packing (a broadcast from any pitch costs the same).
#pragma once

#include "base/result.h"
#include "tile/machine.h"
#include "tile/program.h"

namespace quern::place {

Result<tile::Program> operands(const tile::Program& tiled, const tile::Machine& machine);

}  // namespace quern::place
