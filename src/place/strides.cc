#include "place/strides.h"

#include "tile/extent.h"
#include "tile/linear.h"

namespace quern::place {

using namespace tile;

Along along(const Program& program, int32_t parameter, const std::vector<ExprPtr>& subscripts, AxisId axis) {
  const std::vector<ExprPtr>& shape = program.parameters[parameter].shape;
  Along out = Along::absent;
  bool side_by_side = true;  // the dimensions behind this one have one element
  for (size_t d = subscripts.size(); d-- > 0;) {
    if (subscripts[d]->axes.has(axis)) {
      auto form = linear(program, subscripts[d]);
      if (!form) return Along::scattered;
      if (form->factor(axis) != 0) {
        out = side_by_side && form->factor(axis) == 1 && out == Along::absent ? Along::unit : Along::strided;
      }
    }
    side_by_side = side_by_side && constant(program, shape[d]) == std::optional<int64_t>(1);
  }
  return out;
}

}  // namespace quern::place
