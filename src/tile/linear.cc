#include "tile/linear.h"

#include "tile/extent.h"

namespace quern::tile {

Linear scaled(int64_t by, const Linear& a) {
  Linear out;
  for (const auto& [axis, factor] : a.factors) {
    int64_t f = 0;
    // Factors wrap as the integers of programs do.
    static_cast<void>(__builtin_mul_overflow(by, factor, &f));
    if (f != 0) out.factors[axis] = f;
  }
  out.rest = times(by, a.rest);
  return out;
}

Linear added(const Linear& a, const Linear& b) {
  Linear out = a;
  for (const auto& [axis, factor] : b.factors) {
    int64_t& f = out.factors[axis];
    static_cast<void>(__builtin_add_overflow(f, factor, &f));
    if (f == 0) out.factors.erase(axis);
  }
  out.rest = plus(a.rest, b.rest);
  return out;
}

std::optional<Linear> linear(const Program& program, const ExprPtr& e) {
  if (e->type != ScalarType::i64) return std::nullopt;
  if (e->axes.empty()) return Linear{{}, e};
  if (e->op == Op::kAxis) return Linear{{{e->id, 1}}, integer(0)};
  if (row(*e).family == Family::negate) {
    auto a = linear(program, e->args[0]);
    return a ? std::optional(scaled(-1, *a)) : std::nullopt;
  }
  if (row(*e).family != Family::arithmetic) return std::nullopt;
  if (e->op == Op::kMul) {
    auto left = constant(program, e->args[0]), right = constant(program, e->args[1]);
    auto a = left ? linear(program, e->args[1]) : right ? linear(program, e->args[0]) : std::nullopt;
    return a ? std::optional(scaled(left ? *left : *right, *a)) : std::nullopt;
  }
  if (e->op != Op::kAdd && e->op != Op::kSub) return std::nullopt;
  auto a = linear(program, e->args[0]), b = linear(program, e->args[1]);
  if (!a || !b) return std::nullopt;
  return added(*a, e->op == Op::kAdd ? *b : scaled(-1, *b));
}

namespace {

ExprPtr end_of(const Linear& a, bool greatest) {
  ExprPtr out = a.rest;
  for (const auto& [axis, factor] : a.factors) {
    bool high = (factor > 0) == greatest;
    out = plus(out, times(factor, high ? minus(axis_high(axis), integer(1)) : axis_low(axis)));
  }
  return out;
}

}  // namespace

ExprPtr least(const Linear& a) { return end_of(a, false); }
ExprPtr greatest(const Linear& a) { return end_of(a, true); }

}  // namespace quern::tile
