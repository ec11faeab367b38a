// Selects where an absent lane would be noticed.
//
// The last piece of an axis in lanes may be smaller than the vector; what the lanes behind its end hold is what their
// operations make of absent operands (tile/absent.h): a load 0, a kept value anything. Only what crosses lanes can
// notice: a reduction over the lanes axis wants its identity there, a dot 0 on both sides, since 0 * NaN is not 0.
//
// Before: stage `laid`. After: where that is not so already, the operand is `x if n < n.hi else identity`; nothing
// where the axis divides evenly.
//
// Whose work this is: on machines whose lanes talk (shuffles, matrix instructions) this pass inserts the selects. On a
// CPU the code generator masks the lanes axis itself, in the tail only, loads, reductions and stores, as it does the
// tails of blocks; a select would be tested in every trip, so the pass leaves such programs as they are.
#pragma once

#include "base/result.h"
#include "tile/machine.h"
#include "tile/program.h"

namespace quern::place {

Result<tile::Program> pads(const tile::Program& laid, const tile::Machine& machine);

}  // namespace quern::place
