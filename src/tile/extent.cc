#include "tile/extent.h"

#include <algorithm>

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

}  // namespace

std::optional<int64_t> extent(const Program& program, const Kernel& kernel, AxisId axis) {
  const Axis& a = kernel.axes[axis];
  auto hi = constant(program, a.hi);
  auto lo = a.lo ? constant(program, a.lo) : std::optional<int64_t>(0);
  if (hi && lo) return std::max<int64_t>(0, *hi - *lo);
  std::optional<int64_t> best;
  if (!a.lo || lo.value_or(-1) >= 0) best = limit(program, a.hi);
  if (best) best = std::max<int64_t>(0, *best);
  auto see = [&](int32_t parameter, const std::vector<ExprPtr>& subscripts, uint32_t checked) {
    for (size_t d = 0; d < subscripts.size(); ++d) {
      if (subscripts[d]->op != Op::kAxis || subscripts[d]->id != axis || (checked >> d & 1) != 0) continue;
      auto size = constant(program, program.parameters[parameter].shape[d]);
      if (size) best = std::min(best.value_or(*size), *size);
    }
  };
  each_expression(kernel.body, [&](const ExprPtr& e) {
    each_part(e, [&](const ExprPtr& part) {
      if (part->op == Op::kLoad && !part->guard) see(part->id, part->args, part->checked);
    });
  });
  return best;
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
