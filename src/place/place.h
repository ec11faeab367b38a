// The passes of this folder in their order: from `tiled` to `laid`.
#pragma once

#include "base/result.h"
#include "tile/machine.h"
#include "tile/program.h"

namespace quern::place {

// Stage `placed`: operands, nest, keep. If the nests that the rule found could not be kept (an axis without a limit),
// the diagnostics of keep.
Result<tile::Program> place(const tile::Program& tiled, const tile::Machine& machine);
// Stage `laid`: lanes, pads.
Result<tile::Program> lay(const tile::Program& placed, const tile::Machine& machine);
// Stage `laid` by the simplest way: each statement a scalar nest of its own. Always right, never fast.
Result<tile::Program> lay_plainly(const tile::Program& tiled);

}  // namespace quern::place
