// Walks a reduced axis in pieces: what is reduced over it in one go becomes a loop that carries what is reduced so far.
//
// Before: reductions are statements (tile/reductions.h) and the axis is reduced flat in a block. After: one loop over
// the axis, in steps of `size`, stands where the first reduction stood; sums are carried sums, a dot carries its third
// argument. Refused, and nothing changed, when one reduction over the axis needs another's result (it would take two
// loops with the elements in between kept or computed again, which the nests do better), or a store has the axis.
#pragma once

#include "tile/program.h"

namespace quern::fuse {

bool walk_reductions(tile::Kernel& kernel, tile::AxisId axis, int64_t size);

}  // namespace quern::fuse
