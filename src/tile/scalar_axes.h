// Axes that are walked one index at a time become scalars.
//
// Before: kernel.scalar is empty or smaller. After: the axes given are in no type: not in that of a name, an
// expression, a fill. Their ends are the index and the one after it. A reduction over such an axis has one element and
// is that. The declared ranges of axes are left: they are read where an axis still has all its indices.
#pragma once

#include "tile/program.h"

namespace quern::tile {

// With no axes: only the types of what a text or a test put together.
void make_scalar(Kernel& kernel, AxisSet axes);
// One expression, as if it stood in the kernel.
ExprPtr with_scalars(const Kernel& kernel, const ExprPtr& e);

}  // namespace quern::tile
