// Gives every reduction a name of its own.
//
// Before: reductions and dots stand anywhere in expressions. After: each is the whole value of a Let (a dot's third
// argument and every operand may be any expression without reductions), what a loop hands on (`next`) and what it
// starts from (`init`) is a name or a constant fill, and ranges and conditions hold no reductions. Nesting into
// registers, walking a reduction in pieces and placing it all want reductions to be statements. Reductions are not
// lazy, so nothing changes: their loads carry their own guards.
#pragma once

#include "tile/program.h"

namespace quern::tile {

void name_reductions(Kernel& kernel);

// A dot or a reduction.
bool is_reduction(const Expr& e);
bool has_reduction(const ExprPtr& e);
// A literal, or a fill with one.
bool is_constant_fill(const ExprPtr& e);

}  // namespace quern::tile
