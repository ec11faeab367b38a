// Construction and comparison of expressions; types and axes follow from the rows.
#include "tile/expression.h"

#include <bit>
#include <limits>

namespace quern::tile {

const std::vector<OpRow>& op_rows() {
  static const std::vector<OpRow> rows = {
#define QUERN_TILE_OP(id, text, family, arity, precedence, takes, gives, pad, error) \
  {Op::id, text, Family::family, arity, precedence, Takes::takes, Gives::gives, Pad::pad, error},
#include "tile/ops.def"
#undef QUERN_TILE_OP
  };
  return rows;
}

const OpRow& row(Op op) { return op_rows()[static_cast<size_t>(op)]; }

std::vector<AxisId> AxisSet::list() const {
  std::vector<AxisId> out;
  for (uint64_t rest = bits_; rest != 0; rest &= rest - 1) out.push_back(std::countr_zero(rest));
  return out;
}

namespace {

ExprPtr made(Expr e) { return std::make_shared<const Expr>(std::move(e)); }

AxisSet axes_of(const std::vector<ExprPtr>& args) {
  AxisSet out;
  for (const ExprPtr& a : args) out |= a->axes;
  return out;
}

// Type and axes that follow from the arguments.
void infer(Expr& e) {
  const OpRow& r = row(e);
  switch (r.gives) {
    case Gives::same: e.type = e.args[0]->type; break;
    case Gives::boolean: e.type = ScalarType::boolean; break;
    case Gives::integer: e.type = ScalarType::i64; break;
    case Gives::stated: break;
  }
  if (r.arity != 0) e.axes = axes_of(e.args);
  if (e.guard) e.axes |= e.guard->axes;
  switch (r.family) {
    case Family::fill: e.axes |= e.over; break;
    case Family::reduce:
    case Family::dot: {
      AxisSet kept = e.axes - e.over;
      // What is accumulated may have axes that the operands lack.
      e.axes = e.args.size() == 3 ? kept | e.args[2]->axes : kept;
      break;
    }
    default: break;
  }
}

}  // namespace

ExprPtr integer(int64_t value) {
  Expr e{.op = Op::kInteger, .type = ScalarType::i64};
  e.integer = value;
  return made(std::move(e));
}

ExprPtr real(double value, ScalarType type) {
  Expr e{.op = Op::kReal, .type = type};
  e.real = value;
  return made(std::move(e));
}

ExprPtr boolean(bool value) {
  Expr e{.op = Op::kBoolean, .type = ScalarType::boolean};
  e.integer = value ? 1 : 0;
  return made(std::move(e));
}

ExprPtr dim(int32_t id) { return made({.op = Op::kDim, .type = ScalarType::i64, .id = id}); }
ExprPtr axis(AxisId id) { return made({.op = Op::kAxis, .type = ScalarType::i64, .axes = AxisSet::of(id), .id = id}); }
ExprPtr axis_low(AxisId id) { return made({.op = Op::kLow, .type = ScalarType::i64, .id = id}); }
ExprPtr axis_high(AxisId id) { return made({.op = Op::kHigh, .type = ScalarType::i64, .id = id}); }
ExprPtr name(int32_t id, ScalarType type, AxisSet axes) {
  return made({.op = Op::kName, .type = type, .axes = axes, .id = id});
}

ExprPtr fill(AxisSet axes, ExprPtr value) {
  Expr e{.op = Op::kFill, .over = axes, .args = {std::move(value)}};
  infer(e);
  return made(std::move(e));
}

ExprPtr load(int32_t parameter, ScalarType type, std::vector<ExprPtr> subscripts, ExprPtr guard) {
  Expr e{.op = Op::kLoad, .type = type, .id = parameter, .args = std::move(subscripts), .guard = std::move(guard)};
  infer(e);
  return made(std::move(e));
}

ExprPtr cast(ScalarType type, ExprPtr value) {
  if (value->type == type) return value;
  Expr e{.op = Op::kCast, .type = type, .args = {std::move(value)}};
  infer(e);
  return made(std::move(e));
}

ExprPtr apply(Op op, std::vector<ExprPtr> args) {
  Expr e{.op = op, .args = std::move(args)};
  infer(e);
  return made(std::move(e));
}

ExprPtr reduce(Op op, AxisSet over, ExprPtr body) {
  Expr e{.op = op, .over = over, .args = {std::move(body)}};
  infer(e);
  return made(std::move(e));
}

ExprPtr dot(ScalarType type, AxisSet over, ExprPtr a, ExprPtr b, ExprPtr acc, Op op) {
  Expr e{.op = op, .type = type, .over = over, .args = {std::move(a), std::move(b)}};
  AxisSet operands = axes_of(e.args) - over;
  if (acc) e.args.push_back(acc);
  e.axes = acc ? operands | acc->axes : operands;
  return made(std::move(e));
}

ExprPtr select(ExprPtr condition, ExprPtr then, ExprPtr otherwise) {
  return apply(Op::kSelect, {std::move(then), std::move(condition), std::move(otherwise)});
}

ExprPtr check(ExprPtr condition, ExprPtr value, ExprPtr when, int32_t site) {
  Expr e{.op = Op::kCheck, .args = {std::move(condition), std::move(value), std::move(when)}, .site = site};
  infer(e);
  return made(std::move(e));
}

ExprPtr with_args(const Expr& old, std::vector<ExprPtr> args, ExprPtr guard) {
  Expr e = old;
  e.args = std::move(args);
  e.guard = std::move(guard);
  if (row(e).family == Family::dot) {
    ExprPtr d = dot(e.type, e.over, e.args[0], e.args[1], e.args.size() == 3 ? e.args[2] : nullptr);
    e.axes = d->axes;
  } else {
    infer(e);
  }
  return made(std::move(e));
}

bool equal(const ExprPtr& a, const ExprPtr& b) {
  if (a == b) return true;
  if (!a || !b) return false;
  if (a->op != b->op || a->type != b->type || a->axes != b->axes || a->id != b->id || a->over != b->over ||
      a->args.size() != b->args.size() || a->checked != b->checked || a->site != b->site ||
      a->nan_ignored != b->nan_ignored || std::bit_cast<int64_t>(a->integer) != std::bit_cast<int64_t>(b->integer)) {
    return false;
  }
  for (size_t i = 0; i < a->args.size(); ++i) {
    if (!equal(a->args[i], b->args[i])) return false;
  }
  return equal(a->guard, b->guard);
}

ExprPtr zero(ScalarType type) {
  if (type == ScalarType::boolean) return boolean(false);
  return kind(type) == Kind::kReal ? real(0, type) : integer(0);
}

Op combining(Op reduction) {
  switch (reduction) {
    case Op::kProd: return Op::kMul;
    case Op::kMax: return Op::kMaxOf;
    case Op::kMin: return Op::kMinOf;
    case Op::kAll: return Op::kAnd;
    case Op::kAny: return Op::kOr;
    default: return Op::kAdd;
  }
}

ExprPtr identity(Op reduction, ScalarType type) {
  bool is_real = kind(type) == Kind::kReal;
  constexpr double kInf = std::numeric_limits<double>::infinity();
  switch (reduction) {
    case Op::kProd: return is_real ? real(1, type) : integer(1);
    case Op::kMax: return is_real ? real(-kInf, type) : integer(std::numeric_limits<int64_t>::min());
    case Op::kMin: return is_real ? real(kInf, type) : integer(std::numeric_limits<int64_t>::max());
    case Op::kAll: return boolean(true);
    case Op::kAny: return boolean(false);
    default: return zero(type);
  }
}

}  // namespace quern::tile
