// The simulator's loop over ranges, for the files that hold its parts.
#pragma once

#include <algorithm>

#include "simulator.h"

namespace quern::expr::test {

// Long ranges, as data may ask for, are visited at their ends and around zero.
template <class Body>
void Simulator::loop(const std::vector<Binder>& binders, size_t depth, Body&& body) {
  if (depth == binders.size()) return body();
  const Binder& b = binders[depth];
  int64_t lo = b.lo ? eval(b.lo).whole : 0, hi = eval(b.hi).whole;
  int64_t before = index(b.id);
  bool was = bound_.contains(b.id);
  bool far = hi > lo && (hi < 0) == (lo < 0) ? hi - lo > 600 : hi > lo && (hi > 300 || lo < -300);
  for (int64_t i = lo; i < hi; ++i) {
    if (far && i > lo + 8 && i < hi - 8 && (i < -8 || i > 24)) {
      i = i < -8 ? std::min<int64_t>(-8, hi - 8) : hi - 8;
      if (i <= lo || i >= hi) break;
    }
    index(b.id) = i;
    bound_.insert(b.id);
    loop(binders, depth + 1, body);
    if (i == INT64_MAX) break;
  }
  index(b.id) = before;
  if (!was) bound_.erase(b.id);
}

}  // namespace quern::expr::test
