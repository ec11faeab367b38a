// How an access moves through memory along an axis.
#pragma once

#include <vector>

#include "tile/program.h"

namespace quern::place {

enum class Along : uint8_t {
  absent,     // the axis does not occur
  unit,       // by one element
  strided,    // by a constant, or at least a known distance
  scattered,  // by data, or by what is not linear
};
Along along(const tile::Program& program, int32_t parameter, const std::vector<tile::ExprPtr>& subscripts,
            tile::AxisId axis);

}  // namespace quern::place
