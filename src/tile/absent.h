// What an expression holds where something is known about its parts: in lanes that are absent, or where a mask is
// false.
//
// Small constants travel through programs: a score that is masked holds -inf, its exp2 holds 0, and adding it to a sum
// changes nothing. Two passes ask: cutting of ranges (may the tiles whose mask is false be left out?) and pads (would
// an absent lane be noticed?). Three things are told apart: a constant, some finite number, anything.
#pragma once

#include <functional>
#include <optional>

#include "tile/expression.h"

namespace quern::tile {

struct Held {
  enum class Kind : uint8_t { any, finite, constant } kind = Kind::any;
  double value = 0;  // of a constant; booleans are 0 and 1

  bool is(double v) const { return kind == Kind::constant && value == v; }
  bool is_finite() const;
  bool operator==(const Held&) const = default;
};
Held constant_held(double value);

// `known` answers for parts that the caller knows about (names, conditions, absent loads); nothing: from its arguments.
Held held(const ExprPtr& e, const std::function<std::optional<Held>(const Expr&)>& known);

// Elements that hold this do not change the reduction or dot `e`: its identity; in a dot a factor 0 (an element that is
// absent is not multiplied, so 0 * inf does not arise: derivation, guards). `operands` are what its arguments hold.
bool unnoticed(const Expr& e, const std::vector<Held>& operands);

}  // namespace quern::tile
