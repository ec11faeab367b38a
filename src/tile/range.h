// What integer expressions may be: a constant, or an interval, from the ranges of axes and the values of dims. What is
// not known (data, a dyn size, arithmetic that may wrap) is unbounded.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "tile/program.h"

namespace quern::tile {

// A size that is not known is taken to be no larger than this: a launch with a larger one would fit no memory.
inline constexpr int64_t kLargestSize = int64_t{1} << 40;

// Inclusive; an absent end is unknown. Empty ranges (an axis without indices) have low > high.
struct Bounds {
  std::optional<int64_t> low, high;
  bool constant() const { return low && high && *low == *high; }
};

class Ranges {
 public:
  // `axes`: of the kernel, by id. Both must outlive this.
  Ranges(const Program& program, const std::vector<Axis>& axes) : program_(program), axes_(axes) {}

  Bounds operator()(const ExprPtr& integer);
  std::optional<int64_t> constant(const ExprPtr& integer);
  // The indices of an axis over its full range.
  Bounds axis(AxisId id);
  // From now on the axis has these indices only (its range was narrowed).
  void narrow(AxisId id, Bounds indices);
  // Is 0 <= e < size everywhere?
  bool inside(const ExprPtr& e, const ExprPtr& size);

 private:
  Bounds compute(const Expr& e);

  const Program& program_;
  const std::vector<Axis>& axes_;
  std::unordered_map<const Expr*, Bounds> known_;
  std::unordered_map<AxisId, Bounds> narrowed_;
  std::vector<ExprPtr> kept_;  // keys of known_ stay alive
};

// A value of integer arithmetic by the rules of the op table: floor division and remainder by 0 are 0, shifts outside
// 0...63 are 0, everything wraps.
int64_t evaluate(Op op, int64_t a, int64_t b);

}  // namespace quern::tile
