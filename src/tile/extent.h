// Numbers that are known while compiling: constant integers, and how many indices an axis has.
#pragma once

#include <optional>

#include "tile/program.h"

namespace quern::tile {

// The value of an integer expression of dims and literals; nothing for what is known at run time only.
std::optional<int64_t> constant(const Program& program, const ExprPtr& e);

// A limit to the number of indices of an axis, over its full range: hi - lo where that is a number, else one that hi
// never exceeds (min(length, N)), or the smallest dimension that the axis subscripts by itself, unguarded and
// unchecked. Nothing if there is no such limit.
std::optional<int64_t> extent(const Program& program, const Kernel& kernel, AxisId axis);

// A number that no index of the axis reaches, for the last two reasons.
std::optional<int64_t> index_limit(const Program& program, const Kernel& kernel, AxisId axis);

// a + b, a - b, max and min of integers of rank 0, with literals folded.
ExprPtr plus(const ExprPtr& a, const ExprPtr& b);
ExprPtr minus(const ExprPtr& a, const ExprPtr& b);
ExprPtr times(int64_t a, const ExprPtr& b);
ExprPtr larger(const ExprPtr& a, const ExprPtr& b);
ExprPtr smaller(const ExprPtr& a, const ExprPtr& b);

}  // namespace quern::tile
