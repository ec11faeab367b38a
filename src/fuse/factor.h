// Sums of products over several axes, one axis at a time: sum[n, d](q[d] k[n, d] v[n]) is sum[n](v[n] sum[d](q[d] k[n,
// d])).
#pragma once

#include "tile/range.h"

namespace quern::fuse {

// The sum with an inner one for each axis that only some factors of its body have, where that takes fewer
// multiplications; the sum itself otherwise. Only for sums that allow factors to be taken out (docs/notation.md,
// rounding). Not interned.
tile::ExprPtr factored(const tile::ExprPtr& sum, tile::Ranges& ranges);

}  // namespace quern::fuse
