// What random values fit a kernel: for each integer tensor the range in which its elements may lie so that no subscript
// leaves its dimension, and how they hang together (lengths, sorted starts, slots).
#pragma once

#include "expr/bind.h"
#include "expr/program.h"

namespace quern::expr {

struct Draw {
  enum class Pattern : uint8_t {
    kReal,          // any real
    kInteger,       // lo <= x < hi
    kLength,        // lo <= x <= hi - 1, with the extremes: an upper bound of a range
    kSortedStarts,  // nondecreasing along the last axis from lo to hi - 1: start[i] <= t < start[i + 1]
    kDistinct,      // lo <= x < hi, each at most once: a scatter with `=`
    kBool,
  } pattern = Pattern::kReal;
  int64_t lo = 0;
  int64_t hi = 0;
};

// One for each tensor of the program.
std::vector<Draw> draws(const Program& program, const Binding& binding);

}  // namespace quern::expr
