// Counts that compare every element of a range with every other: `rank`, which says how many are before each one.
//
// They are right, and cost the square of the range's length; a sorted list would not. A range of up to kMostPairs
// entries is compared (its pairs take a core some ten seconds); a longer one is N903. The prelude's functions are not
// known by name: such a count is known by its form, an element at the index that is counted over beside the same
// element at another index.
#pragma once

#include "base/diagnostic.h"
#include "expr/bind.h"
#include "expr/program.h"

namespace quern::fuse {

inline constexpr int64_t kMostPairs = 1 << 18;  // entries of a range

// N903, one for each definition that compares the pairs of a longer range.
Diagnostics all_pairs(const expr::Program& program, const expr::Binding& binding);

}  // namespace quern::fuse
