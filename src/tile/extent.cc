#include "tile/extent.h"

#include <algorithm>

#include "tile/linear.h"
#include "tile/rebuild.h"

namespace quern::tile {

namespace {

std::optional<int64_t> folded(Op op, int64_t a, int64_t b) {
  int64_t out = 0;
  switch (op) {
    case Op::kAdd: return __builtin_add_overflow(a, b, &out) ? std::nullopt : std::optional(out);
    case Op::kSub: return __builtin_sub_overflow(a, b, &out) ? std::nullopt : std::optional(out);
    case Op::kMul: return __builtin_mul_overflow(a, b, &out) ? std::nullopt : std::optional(out);
    case Op::kFloorDiv:
      if (b == 0) return 0;
      if (b == -1) return __builtin_sub_overflow(int64_t{0}, a, &out) ? std::nullopt : std::optional(out);
      return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
    case Op::kMod:
      if (b == 0 || b == -1) return 0;
      return a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);
    case Op::kMaxOf: return std::max(a, b);
    case Op::kMinOf: return std::min(a, b);
    default: return std::nullopt;
  }
}

bool is(const ExprPtr& e, int64_t value) { return e->op == Op::kInteger && e->integer == value; }

ExprPtr combined(Op op, const ExprPtr& a, const ExprPtr& b) {
  if (a->op == Op::kInteger && b->op == Op::kInteger) {
    if (auto v = folded(op, a->integer, b->integer)) return integer(*v);
  }
  return apply(op, {a, b});
}

}  // namespace

std::optional<int64_t> constant(const Program& program, const ExprPtr& e) {
  if (!e) return std::nullopt;
  switch (row(*e).family) {
    case Family::literal: return e->op == Op::kInteger ? std::optional(e->integer) : std::nullopt;
    case Family::dim: return program.dims[e->id].value;
    case Family::negate: {
      auto a = constant(program, e->args[0]);
      return a ? folded(Op::kSub, 0, *a) : std::nullopt;
    }
    case Family::arithmetic:
    case Family::extremum: {
      auto a = constant(program, e->args[0]);
      auto b = constant(program, e->args[1]);
      return a && b && e->type == ScalarType::i64 ? folded(e->op, *a, *b) : std::nullopt;
    }
    default: return std::nullopt;
  }
}

namespace {

// A number that `e` never exceeds, where one is written: min(length, N) over all rows.
std::optional<int64_t> limit(const Program& program, const ExprPtr& e) {
  if (auto known = constant(program, e)) return known;
  bool smaller = e->op == Op::kMinOf, reduced = e->op == Op::kMax;
  if (!smaller && !reduced && e->op != Op::kMaxOf) return std::nullopt;
  std::optional<int64_t> out;
  for (const ExprPtr& a : e->args) {
    auto one = limit(program, a);
    if (!one && !smaller) return std::nullopt;
    if (one) out = !out ? *one : smaller ? std::min(*out, *one) : std::max(*out, *one);
  }
  return out;
}

// Sums, products and the like of what is never negative.
bool never_negative(const Program& program, const Kernel& kernel, const ExprPtr& e) {
  if (auto known = constant(program, e)) return *known >= 0;
  auto of = [&](const ExprPtr& a) { return never_negative(program, kernel, a); };
  switch (e->op) {
    case Op::kAdd:
    case Op::kMul:
    case Op::kFloorDiv:
    case Op::kMinOf: return of(e->args[0]) && of(e->args[1]);
    case Op::kMaxOf: return of(e->args[0]) || of(e->args[1]);
    case Op::kMin: return of(e->args[0]);
    case Op::kAxis:
    case Op::kLow:
    case Op::kHigh: {
      const Axis& a = kernel.axes[static_cast<size_t>(e->id)];
      return !a.lo || of(a.lo);
    }
    default: return false;
  }
}

// hi - lo where that is a number whatever the axes are; of min(a, x) to min(a, y) at most what it is from x to y.
std::optional<int64_t> span(const Program& program, const ExprPtr& lo, const ExprPtr& hi) {
  if (lo->op == hi->op && lo->op == Op::kMinOf && equal(lo->args[0], hi->args[0])) {
    return span(program, lo->args[1], hi->args[1]);
  }
  auto from = linear(program, lo), to = linear(program, hi);
  if (!from || !to) return std::nullopt;
  Linear difference = added(*to, scaled(-1, *from));
  if (!difference.factors.empty() || !difference.terms.empty()) return std::nullopt;
  return std::max<int64_t>(0, difference.number);
}

// The smallest dimension that the axis subscripts by itself, unguarded and unchecked.
std::optional<int64_t> subscripted(const Program& program, const Kernel& kernel, AxisId axis) {
  std::optional<int64_t> best;
  each_expression(kernel.body, [&](const ExprPtr& e) {
    each_part(e, [&](const ExprPtr& part) {
      if (part->op != Op::kLoad || part->guard) return;
      for (size_t d = 0; d < part->args.size(); ++d) {
        const Expr& subscript = *part->args[d];
        if (subscript.op != Op::kAxis || subscript.id != axis || (part->checked >> d & 1) != 0) continue;
        auto size = constant(program, program.parameters[part->id].shape[d]);
        if (size) best = std::min(best.value_or(*size), *size);
      }
    });
  });
  return best;
}

}  // namespace

std::optional<int64_t> extent(const Program& program, const Kernel& kernel, AxisId axis) {
  const Axis& a = kernel.axes[axis];
  auto hi = constant(program, a.hi);
  auto lo = a.lo ? constant(program, a.lo) : std::optional<int64_t>(0);
  if (hi && lo) return std::max<int64_t>(0, *hi - *lo);
  std::optional<int64_t> best = subscripted(program, kernel, axis);
  auto at_most = [&](std::optional<int64_t> count) {
    if (count) best = std::min(best.value_or(*count), std::max<int64_t>(0, *count));
  };
  if (!a.lo || never_negative(program, kernel, a.lo)) at_most(limit(program, a.hi));
  if (a.lo) at_most(span(program, a.lo, a.hi));
  return best;
}

std::optional<int64_t> index_limit(const Program& program, const Kernel& kernel, AxisId axis) {
  auto best = subscripted(program, kernel, axis), written = limit(program, kernel.axes[axis].hi);
  return best && written ? std::min(*best, *written) : best ? best : written;
}

ExprPtr plus(const ExprPtr& a, const ExprPtr& b) {
  if (is(a, 0)) return b;
  if (is(b, 0)) return a;
  return combined(Op::kAdd, a, b);
}
ExprPtr minus(const ExprPtr& a, const ExprPtr& b) {
  if (is(b, 0)) return a;
  return combined(Op::kSub, a, b);
}
ExprPtr times(int64_t a, const ExprPtr& b) {
  if (a == 1) return b;
  if (a == 0) return integer(0);
  return combined(Op::kMul, integer(a), b);
}
ExprPtr larger(const ExprPtr& a, const ExprPtr& b) { return equal(a, b) ? a : combined(Op::kMaxOf, a, b); }
ExprPtr smaller(const ExprPtr& a, const ExprPtr& b) { return equal(a, b) ? a : combined(Op::kMinOf, a, b); }

}  // namespace quern::tile
