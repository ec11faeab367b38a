// The merge of a loop's states, read off its step.
//
// A step brings every carried value up to date: what was carried, moved to the new gauge or centre, joined with what
// the tile adds. The merge of several states is the same with the tile left out, and what was carried gathered over the
// parts (docs/derivation.md, combine):
//
//     step    l' = l * c + sum[n](p)             merge    l' = sum[s](l * c)
//             m' = max(m, max[n](x))                      m' = max[s](m)
//
// So nothing but the loop has to be kept to split it, and sums that are merely walked in pieces merge by the same rule.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "tile/program.h"

namespace quern::fuse {

// Statements that define each carried name of `loop` as the merge of its states: `states[i]`, with the axis `parts`, is
// what the parts carried at the end. Names of the body are used again, with other axes, so the loop itself must not
// stand in this kernel. Fails with the reason, in words, where a step is not of this form.
std::expected<tile::Block, std::string> merge_step(tile::Kernel& kernel, const tile::Loop& loop,
                                                   const std::vector<tile::ExprPtr>& states, tile::AxisId parts);

// The reduction that gathers the results of a reduction over parts of its axes: a sum of a dot.
tile::Op gathering(const tile::Expr& reduction);

}  // namespace quern::fuse
