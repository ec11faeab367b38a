// A kernel over the axes of a graph with its own: those that it uses, numbered from 0.
#pragma once

#include "tile/program.h"

namespace quern::fuse {

// `first`: axes that come first, in this order; the others as they are met. A range may use other axes: they come
// before.
tile::Kernel with_own_axes(tile::Kernel kernel, const std::vector<tile::Axis>& axes,
                           const std::vector<tile::AxisId>& first);

}  // namespace quern::fuse
