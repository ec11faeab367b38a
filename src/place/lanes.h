// Chooses what lies in the lanes of vectors, and the sizes of register blocks: from `placed` to `laid`.
//
// Before: nests whose axes have size 1, keeps without a layout. After: in each nest at most one axis is in lanes, its
// size a multiple of the lanes of a vector; sizes of block axes are register blocks; keeps are laid out so that the
// lanes axis of those who use them is innermost, operands of a dot in panels.
//
// The lanes axis is the one along which most loads and stores of the nest go by one element; loads that go by more
// count against it, those that lack it are broadcasts and count nothing. Nests with a dot choose first and the others
// follow what was chosen for the values they share. An axis is out of the question where lanes of one store would add
// to one element. If no axis is worth it the nest is scalar. Sizes: a dot has rows x columns in registers as the
// machine's rule says (6 x 4 or 8 x 3 vectors of 16), rows divided evenly; other nests have four vectors of the lanes
// axis at once, so that functions hide their latency.
//
// Who masks: on a CPU the code generator does, for the lanes axis and the tails of all blocks; absent lanes reach no
// reduction and no store (place/pads.h is then a check).
#pragma once

#include "base/result.h"
#include "tile/machine.h"
#include "tile/program.h"

namespace quern::place {

Result<tile::Program> lanes(const tile::Program& placed, const tile::Machine& machine);

}  // namespace quern::place
