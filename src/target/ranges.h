// Which values an integer expression can take, as an interval: what decides that i32 lanes are enough. Sound, not
// sharp: an operation that might wrap gives all of i64.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "tile/program.h"

namespace quern::target {

struct Interval {
  int64_t lo = INT64_MIN, hi = INT64_MAX;
  bool fits_i32() const { return lo >= INT32_MIN && hi <= INT32_MAX; }
};

class Ranges {
 public:
  Ranges(const tile::Program& program, const tile::Kernel& kernel);
  Interval of(const tile::ExprPtr& e);

 private:
  Interval computed(const tile::Expr& e);
  void collect(const tile::Block& block);

  const tile::Program& program_;
  std::vector<Interval> axes_;
  std::vector<tile::ExprPtr> lets_;  // by name; null where a name is carried or its value not known
  std::unordered_map<const tile::Expr*, Interval> known_;
  std::vector<tile::ExprPtr> alive_;  // what known_ has as keys
};

}  // namespace quern::target
