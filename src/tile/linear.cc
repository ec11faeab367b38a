#include "tile/linear.h"

#include <algorithm>

#include "tile/extent.h"

namespace quern::tile {

namespace {

// As the integers of programs do.
int64_t wrapping_product(int64_t a, int64_t b) {
  int64_t out = 0;
  static_cast<void>(__builtin_mul_overflow(a, b, &out));
  return out;
}
int64_t wrapping_sum(int64_t a, int64_t b) {
  int64_t out = 0;
  static_cast<void>(__builtin_add_overflow(a, b, &out));
  return out;
}

}  // namespace

ExprPtr Linear::rest() const {
  ExprPtr out;
  // What is added stands before what is taken away.
  for (bool positive : {true, false}) {
    for (const auto& [factor, term] : terms) {
      if ((factor > 0) != positive) continue;
      if (!out) {
        out = times(factor, term);
      } else {
        out = positive ? plus(out, times(factor, term)) : minus(out, times(wrapping_product(-1, factor), term));
      }
    }
  }
  if (!out) return integer(number);
  return number < 0 && number != INT64_MIN ? minus(out, integer(-number)) : plus(out, integer(number));
}

Linear scaled(int64_t by, const Linear& a) {
  Linear out;
  for (const auto& [axis, factor] : a.factors) {
    int64_t f = wrapping_product(by, factor);
    if (f != 0) out.factors[axis] = f;
  }
  for (const auto& [factor, term] : a.terms) {
    int64_t f = wrapping_product(by, factor);
    if (f != 0) out.terms.emplace_back(f, term);
  }
  out.number = wrapping_product(by, a.number);
  return out;
}

Linear added(const Linear& a, const Linear& b) {
  Linear out = a;
  for (const auto& [axis, factor] : b.factors) {
    int64_t& f = out.factors[axis];
    f = wrapping_sum(f, factor);
    if (f == 0) out.factors.erase(axis);
  }
  for (const auto& [factor, term] : b.terms) {
    auto same = std::find_if(out.terms.begin(), out.terms.end(), [&](const auto& t) { return equal(t.second, term); });
    if (same == out.terms.end()) {
      out.terms.emplace_back(factor, term);
    } else if ((same->first = wrapping_sum(same->first, factor)) == 0) {
      out.terms.erase(same);
    }
  }
  out.number = wrapping_sum(a.number, b.number);
  return out;
}

std::optional<Linear> linear(const Program& program, const ExprPtr& e) {
  if (e->type != ScalarType::i64) return std::nullopt;
  if (e->op == Op::kAxis && !e->axes.empty()) return Linear{{{e->id, 1}}, {}, 0};
  if (e->op == Op::kInteger) return Linear{{}, {}, e->integer};
  if (row(*e).family == Family::negate) {
    auto a = linear(program, e->args[0]);
    return a ? std::optional(scaled(-1, *a)) : std::nullopt;
  }
  if (row(*e).family == Family::arithmetic) {
    if (e->op == Op::kMul) {
      auto left = constant(program, e->args[0]), right = constant(program, e->args[1]);
      auto a = left ? linear(program, e->args[1]) : right ? linear(program, e->args[0]) : std::nullopt;
      if (a) return scaled(left ? *left : *right, *a);
    } else if (e->op == Op::kAdd || e->op == Op::kSub) {
      auto a = linear(program, e->args[0]), b = linear(program, e->args[1]);
      if (!a || !b) return std::nullopt;
      return added(*a, e->op == Op::kAdd ? *b : scaled(-1, *b));
    }
  }
  if (e->axes.empty()) return Linear{{}, {{1, e}}, 0};
  return std::nullopt;
}

namespace {

ExprPtr end_of(const Linear& a, bool greatest) {
  Linear ends = a;
  ends.factors.clear();
  for (const auto& [axis, factor] : a.factors) {
    bool high = (factor > 0) == greatest;
    ends = added(
        ends, Linear{{}, {{factor, high ? axis_high(axis) : axis_low(axis)}}, high ? wrapping_product(-1, factor) : 0});
  }
  return ends.rest();
}

}  // namespace

ExprPtr least(const Linear& a) { return end_of(a, false); }
ExprPtr greatest(const Linear& a) { return end_of(a, true); }

}  // namespace quern::tile
