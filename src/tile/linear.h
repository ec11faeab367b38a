// Integer expressions as sums of axes: what cutting ranges and finding strides need.
#pragma once

#include <map>
#include <optional>

#include "tile/program.h"

namespace quern::tile {

// sum of factor * axis, plus factors of other integers of rank 0, plus a number. Factors are not 0.
struct Linear {
  std::map<AxisId, int64_t> factors;
  std::vector<std::pair<int64_t, ExprPtr>> terms;
  int64_t number = 0;

  int64_t factor(AxisId axis) const {
    auto it = factors.find(axis);
    return it == factors.end() ? 0 : it->second;
  }
  // All but the axes.
  ExprPtr rest() const;
};

// Nothing if it is not linear, or has a name or a load with axes in it.
std::optional<Linear> linear(const Program& program, const ExprPtr& e);
Linear scaled(int64_t by, const Linear& a);
Linear added(const Linear& a, const Linear& b);

// The least and the greatest value over the indices now in range; rank 0.
ExprPtr least(const Linear& a);
ExprPtr greatest(const Linear& a);

}  // namespace quern::tile
