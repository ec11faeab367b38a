// Sums of products as `dot`: the form that micro-kernels and tensor cores take.
#pragma once

#include "tile/expression.h"

namespace quern::fuse {

// The sum as a dot of two operands, with the factors that don't change over it taken out: sum[d](q * k / c) is
// dot[d](q, k) / c. Null if the body is no product, or no two free axes are apart: then it stays a plain sum. An
// element that is masked out of the range is absent, so both operands must be able to hold the mask.
tile::ExprPtr contract(const tile::ExprPtr& sum);

}  // namespace quern::fuse
