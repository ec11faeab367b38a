// Sums of products as `dot`: the form that micro-kernels and tensor cores take.
#pragma once

#include "tile/range.h"

namespace quern::fuse {

// May factors of a sum over these axes be grouped anew and taken out of it? That may overflow, or vanish, where the
// text does not: a permission for contractions, which hold at least 16 values (docs/notation.md, rounding).
bool may_regroup(tile::Ranges& ranges, tile::AxisSet over);

// A factor that is -0 where an element is absent, whatever the other factors hold.
struct Weight {
  tile::ExprPtr factor, present;  // null: all elements are there
};

// The sum as a dot of two operands, with the factors that don't change over it taken out: sum[d](q * k / c) is
// dot[d](q, k) / c. Null if the body is no product, or no two free axes are apart: then it stays a plain sum. An
// element that is masked out of the range is absent, so both operands must be able to hold the mask. Without `regroup`
// only a product of two operands as they are written.
tile::ExprPtr contract(const tile::ExprPtr& sum, bool regroup, const Weight& weight = {});

}  // namespace quern::fuse
