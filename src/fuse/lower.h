// The kernels of a graph at stage `lowered`: flat definitions over whole axes, a name for what is used more than once
// and for every reduction, sums of products as `dot`.
#pragma once

#include "fuse/graph.h"

namespace quern::fuse {

// Before: a graph whose definitions say in which step they run. After: one kernel for each definition, or for several
// of one step that have the same axes; stage kLowered.
tile::Program lower(const Graph& graph);

}  // namespace quern::fuse
