// Tile programs from text (docs/tile.md has the grammar). Types and axes of expressions follow from their parts; a
// name's from the first value given to it. Any text gives a program or a diagnostic with its place; what the program
// means is judged by tile/verify.h, which never fails on what comes from here.
#pragma once

#include "base/result.h"
#include "base/source.h"
#include "tile/program.h"

namespace quern::tile {

// E101, E102, E113, E115. Expressions have empty spans: a program does not depend on its text.
Result<Program> parse(const SourcePtr& source);

}  // namespace quern::tile
