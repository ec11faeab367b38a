// The rows of the op table that base/elementary.h computes.
#pragma once

#include "base/running_error.h"
#include "expr/node.h"

namespace quern::expr {

// `nonnegative`: the argument is so in every implementation, whatever its bound says.
Real elementary(Op op, Real x, double u, bool nonnegative = false);
Real power(Real x, Real y, double u, bool nonnegative = false);
Real rounded_whole(Op op, Real x);  // floor, ceil, round, abs

}  // namespace quern::expr
