// Elementary functions with their error: what an error of the argument does, and `units` roundings of the result for
// the function itself (the op table's last column).
#pragma once

#include "expr/interpret/value.h"
#include "expr/node.h"

namespace quern::expr {

// `nonnegative`: the argument is so in every implementation, whatever its bound says.
Real elementary(Op op, Real x, double u, bool nonnegative = false);
Real power(Real x, Real y, double u, bool nonnegative = false);
Real rounded_whole(Op op, Real x);  // floor, ceil, round, abs

}  // namespace quern::expr
