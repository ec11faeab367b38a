// What each operation makes of elements, by family, in the three modes.
#pragma once

#include <span>

#include "tile/interpret.h"
#include "tile/interpret/array.h"

namespace quern::tile {

// Roundoff of one operation in the type.
double unit(ScalarType type);
// A real result as the mode has it: with its error, rounded to the type, or neither.
Element finished(Real r, ScalarType type, Mode mode);

// Families of one element in, one element out: all but leaves, loads, casts, selections, reductions and dots.
Element map_element(const Expr& e, Mode mode, std::span<const Element> args);
Element select_element(ScalarType type, Mode mode, Bool condition, Element then, Element otherwise);
// `anchored`: an anchor stands before the value, so that it is near what an implementation has only up to its gauge.
Element cast_element(ScalarType from, ScalarType to, Mode mode, Element x, bool anchored);

}  // namespace quern::tile
