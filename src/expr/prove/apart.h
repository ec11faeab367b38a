// Which reads of an inout tensor may meet an element that the kernel also writes.
//
// On the right an inout tensor is its value before the kernel. That needs no order where an instance reads the very
// element that it writes (or that the same instance of another update does), or one that no instance writes. The
// second is shown for the read at one instance and the write at another, with indices of their own: on some axis the
// difference of their subscripts is above 0, below 0, or never a multiple of what divides its coefficients. Ranges and
// filters on both sides are known, and the guards of the read, so `x[i] if i >= N else 0` is apart from `x[i < N]`.
#pragma once

#include <vector>

#include "expr/program.h"

namespace quern::expr {

// The reads that are neither, at least one for each place in the text; or of a local, where following it would take too
// long. For all sizes.
std::vector<NodePtr> reads_of_written(const Program& program);

}  // namespace quern::expr
