// Cuts the range of a loop where its masks change: tiles that a mask leaves whole, tiles on its edge, tiles it empties.
//
// A comparison of integers that is linear in the streamed axis with factor 1 or -1 is monotone along it: `n <= m + N -
// M` holds up to some n and fails from some n on, over all the m now in range. So the loop becomes at most three: edge,
// full, edge. In a full piece the comparison is true and its select is gone; elements behind the last edge are not
// visited if every reduction over the axis holds its identity there (tile/absent.h), since a tile of absent elements
// changes no state (derivation, section 4, the theorem). The border of full and edge tiles is rounded to whole tiles,
// counted from the loop's first index, so that tiles stay aligned with what is packed.
//
// Before: carries are names (tile/reductions.h), scalar axes are in no type. After: the same, names of further pieces
// are new.
#pragma once

#include "tile/program.h"

namespace quern::fuse {

// The loops that stand for `loop`, one over one axis, in order, behind the integers that say where they meet. Uses of
// what it carried are to be renamed by `renamed`.
tile::Block cut(const tile::Program& program, tile::Kernel& kernel, const tile::Loop& loop,
                std::vector<std::pair<int32_t, int32_t>>& renamed);

}  // namespace quern::fuse
