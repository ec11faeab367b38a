// Linear forms over atoms, with intervals: the arithmetic of the subscript prover.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace quern::expr {

using Atom = int32_t;

// Closed; an absent end is unbounded. lo > hi: empty.
struct Interval {
  std::optional<int64_t> lo, hi;
};

// constant + sum of coefficient * atom. Coefficients are never 0. `valid` is false after an overflow: such a form
// says nothing, and nothing is proved with it.
struct Linear {
  std::map<Atom, int64_t> terms;
  int64_t constant = 0;
  bool valid = true;

  static Linear number(int64_t value) { return {{}, value, true}; }
  static Linear atom(Atom a) { return {{{a, 1}}, 0, true}; }
  bool is_number() const { return valid && terms.empty(); }
  bool operator==(const Linear&) const = default;
  std::string key() const;  // equal forms, equal keys
};

Linear add(const Linear& a, const Linear& b, int64_t factor = 1);  // a + factor * b
Linear scale(const Linear& a, int64_t factor);

// Interval arithmetic; an overflowing end is unbounded.
Interval add(const Interval& a, const Interval& b);
Interval scale(const Interval& a, int64_t factor);
Interval multiply(const Interval& a, const Interval& b);
Interval hull(const Interval& a, const Interval& b);
Interval intersect(const Interval& a, const Interval& b);
Interval floor_divide(const Interval& a, int64_t by);  // by > 0

int64_t floor_divide(int64_t a, int64_t b);  // b != 0, no overflow

}  // namespace quern::expr
