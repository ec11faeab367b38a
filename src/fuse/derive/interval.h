// Intervals of real and integer terms: they decide signs, and whether an exponent needs a running gauge.
#pragma once

#include <limits>
#include <unordered_map>

#include "fuse/derive.h"
#include "fuse/derive/algebra.h"

namespace quern::fuse::algebra {

struct Interval {
  double lo = -std::numeric_limits<double>::infinity();
  double hi = std::numeric_limits<double>::infinity();
};

class Intervals {
 public:
  explicit Intervals(const Facts& facts) : facts_(facts) {}

  // With `unmasked`, branches of a select that are -inf do not count. NaN is left aside.
  Interval operator()(const ExprPtr& e, bool unmasked = false);
  int sign(const ExprPtr& e);  // 1: >= 0; -1: <= 0; 0: not known
  std::optional<double> extent(AxisId axis);

 private:
  Interval compute(const ExprPtr& e, bool unmasked);

  const Facts& facts_;
  std::unordered_map<const Expr*, Interval> known_[2];
  std::vector<ExprPtr> kept_;
};

}  // namespace quern::fuse::algebra
