// Finds the loop nests whose values stay in registers.
//
// Before: stage `tiled`, reductions are statements. After: every Let and Store stands in a nest, but for integers of
// rank 0, which are the scalars of loops and ranges. Names that several nests use are not yet kept (place/keep.h).
//
// The rule is greedy (docs/tile.md, section 5): a statement joins the last nest if it can, else it opens one. A nest
// has block axes B and strip axes S, and three phases: what has no strip axis; what runs inside the strips, with the
// reductions over them; what depends on those. A statement with axes X, or a reduction from X + R to X, joins when
//   a reduction     R = S and X = B; or no strips yet and R is new or part of B, which makes them strips
//   a map           X inside B + S and it needs no result of a reduction there; or X = B
//                   no strips yet: block axes that X lacks, or axes of X that are new, become strips
//                   where it lacks axes of its phase, these must have indices: it runs once for each
//   a store         as a map, but it has all axes of its phase: it must not run twice
// and no nest has two dots: one takes all registers there are (gate and up of an MLP in one nest took three times as
// long as in two).
// A statement that can't join but needs nothing of the last nest gets a nest of its own in front of it, so that a sum
// over columns does not part a product from its epilogue.
//
// Cheap maps of loads float: they stand in each nest that uses them instead of being kept. A load belongs to its use.
#pragma once

#include "base/result.h"
#include "tile/machine.h"
#include "tile/program.h"

namespace quern::place {

Result<tile::Program> nest(const tile::Program& tiled, const tile::Machine& machine);
// Every statement a nest of its own: what is always right, for tests and for doubt.
Result<tile::Program> nest_apart(const tile::Program& tiled);

}  // namespace quern::place
