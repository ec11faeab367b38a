// Is a tile program well formed for the stage it claims? Run after every pass in tests; what it finds is our fault
// (B002). It never fails itself, whatever the program holds. The rules, by name, are those of docs/tile.md:
//
//   every stage  names are defined once and dominate their uses; types follow the rows of ops.def; axes are declared,
//                their ranges use earlier axes; carried values keep their type; a dot's reduced axes stand in both
//                operands; stores are well typed and have each value's axes in their subscripts; an `out` is not read
//   lowered      no grid, nest or keep; loops are whole, or of one index
//   tiled        scalar axes (walked by one index) are in no type; inner tiles are no larger; ranges of the grid use
//                only axes walked before
//   placed       whatever has axes stands in one nest; nests hold only Lets and Stores, in order: without strip axes,
//                with, after; reductions are over the strips; what crosses nests or is carried is kept
//   laid         at most one axis of a nest lies in lanes; a layout has every axis of its value
#pragma once

#include "base/result.h"
#include "tile/program.h"

namespace quern::tile {

Diagnostics verify(const Program& program);

}  // namespace quern::tile
