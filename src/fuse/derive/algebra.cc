#include "fuse/derive/algebra.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace quern::fuse::algebra {

std::optional<double> number_of(const ExprPtr& e) {
  if (e->op == Op::kReal) return e->real;
  if (e->op == Op::kInteger) return static_cast<double>(e->integer);
  if (e->op == Op::kCast && is_real(e)) return number_of(e->args[0]);
  if (e->op == Op::kNeg) {
    auto x = number_of(e->args[0]);
    if (x) return -*x;
  }
  return std::nullopt;
}

bool is_minus_infinity(const ExprPtr& e) { return is_number(e, -std::numeric_limits<double>::infinity()); }

double choose(int n, int k) {
  double out = 1;
  for (int i = 0; i < k; ++i) out = out * (n - i) / (i + 1);
  return out;
}

bool is_real(const ExprPtr& e) { return kind(e->type) == Kind::kReal; }

std::optional<int32_t> symbol_index(const ExprPtr& e, Symbols kind) {
  if (e->op != Op::kName || e->id < kSymbols) return std::nullopt;
  int32_t rest = e->id - kSymbols;
  if (rest / kSymbolKind != static_cast<int32_t>(kind)) return std::nullopt;
  return rest % kSymbolKind;
}

namespace {

void visit_all(const ExprPtr& e, const std::function<void(const ExprPtr&)>& f, std::unordered_set<const Expr*>& seen) {
  if (!e || !seen.insert(e.get()).second) return;
  for (const ExprPtr& a : e->args) visit_all(a, f, seen);
  visit_all(e->guard, f, seen);
  f(e);
}

}  // namespace

void visit(const ExprPtr& e, const std::function<void(const ExprPtr&)>& f) {
  std::unordered_set<const Expr*> seen;
  visit_all(e, f, seen);
}

bool contains(const ExprPtr& e, const std::function<bool(const ExprPtr&)>& f) {
  bool found = false;
  visit(e, [&](const ExprPtr& x) { found = found || f(x); });
  return found;
}

ExprPtr Algebra::made(ExprPtr e) {
  ExprPtr one = intern_(std::move(e));
  if (age_.emplace(one.get(), static_cast<uint32_t>(age_.size())).second) kept_.push_back(one);
  return one;
}

uint32_t Algebra::age(const ExprPtr& e) { return age_.at(e.get()); }

ExprPtr Algebra::take(const ExprPtr& e) {
  if (!e) return e;
  auto known = taken_.find(e.get());
  if (known != taken_.end()) return known->second;
  std::vector<ExprPtr> args;
  for (const ExprPtr& a : e->args) args.push_back(take(a));
  ExprPtr guard = take(e->guard);
  ExprPtr out;
  bool reduction = row(*e).family == Family::reduce;
  if (e->op == Op::kDot && (e->over & n) == n && !n.empty() && e->args.size() == 2) {
    ExprPtr body = made(tile::apply(Op::kMul, {cast(e->type, args[0]), cast(e->type, args[1])}));
    AxisSet rest = e->over - n;
    if (!rest.empty()) body = made(tile::reduce(Op::kSum, rest, body));
    out = made(tile::reduce(Op::kSum, n, body));
  } else if (reduction && e->over != n && e->over.contains(n) && !n.empty()) {
    ExprPtr inner = made(tile::reduce(e->op, e->over - n, args[0]));
    out = made(tile::reduce(e->op, n, inner));
  } else {
    out = made(args == e->args && guard == e->guard ? e : tile::with_args(*e, args, guard));
  }
  kept_.push_back(e);
  taken_[e.get()] = out;
  taken_[out.get()] = out;
  return out;
}

ExprPtr Algebra::take_as_is(const ExprPtr& e) {
  if (!e) return e;
  if (age_.count(e.get()) != 0) return e;
  std::vector<ExprPtr> args;
  for (const ExprPtr& a : e->args) args.push_back(take_as_is(a));
  ExprPtr guard = take_as_is(e->guard);
  kept_.push_back(e);
  return made(args == e->args && guard == e->guard ? e : tile::with_args(*e, args, guard));
}

bool Algebra::is_answer(const ExprPtr& e) const {
  return row(*e).family == Family::reduce && !n.empty() && e->over.contains(n);
}

void Algebra::finish(const ExprPtr& reduction) {
  if (finished.insert(reduction.get()).second) results.push_back(reduction);
  class_.clear();
}

int Algebra::class_of(const ExprPtr& e) {
  auto known = class_.find(e.get());
  if (known != class_.end()) return known->second;
  int out = (e->axes & n).empty() ? 0 : kElement;
  if (is_answer(e)) {
    out |= finished.count(e.get()) != 0 ? 0 : kResult;
  } else if (e->op == Op::kName) {
    if (e->id >= kSymbols) out |= kResult;
  } else {
    for (const ExprPtr& a : e->args) out |= class_of(a) & kResult;
    if (e->guard) out |= class_of(e->guard) & kResult;
  }
  class_[e.get()] = out;
  return out;
}

ExprPtr Algebra::number(double value, ScalarType type) {
  if (kind(type) == Kind::kReal) return made(tile::real(value, type));
  if (kind(type) == Kind::kBool) return made(tile::boolean(value != 0));
  return made(tile::integer(static_cast<int64_t>(value)));
}

ExprPtr Algebra::symbol(Symbols kind, int32_t index, ScalarType type, AxisSet axes) {
  return made(tile::name(kSymbols + static_cast<int32_t>(kind) * kSymbolKind + index, type, axes));
}

ExprPtr Algebra::apply(Op op, std::vector<ExprPtr> args) { return made(tile::apply(op, std::move(args))); }

ExprPtr Algebra::add(const ExprPtr& a, const ExprPtr& b) {
  if (is_number(a, 0)) return b;
  if (is_number(b, 0)) return a;
  auto x = number_of(a), y = number_of(b);
  if (x && y) return number(*x + *y, a->type);
  if (b->op == Op::kNeg) return sub(a, b->args[0]);
  if (a->op == Op::kNeg) return sub(b, a->args[0]);
  return apply(Op::kAdd, {a, b});
}

ExprPtr Algebra::sub(const ExprPtr& a, const ExprPtr& b) {
  if (is_number(b, 0)) return a;
  if (is_number(a, 0)) return neg(b);
  auto x = number_of(a), y = number_of(b);
  if (x && y) return number(*x - *y, a->type);
  if (b->op == Op::kNeg) return add(a, b->args[0]);
  return apply(Op::kSub, {a, b});
}

ExprPtr Algebra::mul(const ExprPtr& a, const ExprPtr& b) {
  // 0 annihilates: an element of weight 0 is absent.
  if (is_number(a, 0) || is_number(b, 0)) return number(0, a->type);
  if (is_number(a, 1)) return b;
  if (is_number(b, 1)) return a;
  auto x = number_of(a), y = number_of(b);
  if (x && y) return number(*x * *y, a->type);
  if (is_number(a, -1)) return neg(b);
  if (is_number(b, -1)) return neg(a);
  if (a->op == Op::kNeg) return neg(mul(a->args[0], b));
  if (b->op == Op::kNeg) return neg(mul(a, b->args[0]));
  if (a->op == Op::kDiv && is_number(a->args[0], 1)) return div(b, a->args[1]);
  if (b->op == Op::kDiv && is_number(b->args[0], 1)) return div(a, b->args[1]);
  return apply(Op::kMul, {a, b});
}

ExprPtr Algebra::div(const ExprPtr& a, const ExprPtr& b) {
  if (is_number(b, 1)) return a;
  if (is_number(a, 0)) return a;
  if (is_number(b, -1)) return neg(a);
  if (a->op == Op::kNeg) return neg(div(a->args[0], b));
  if (b->op == Op::kDiv && is_number(b->args[0], 1)) return mul(a, b->args[1]);
  return apply(Op::kDiv, {a, b});
}

ExprPtr Algebra::neg(const ExprPtr& a) {
  if (a->op == Op::kNeg) return a->args[0];
  auto x = number_of(a);
  if (x) return number(-*x, a->type);
  return apply(Op::kNeg, {a});
}

ExprPtr Algebra::exp(const ExprPtr& a) {
  if (is_number(a, 0)) return number(1, a->type);
  if (is_minus_infinity(a)) return number(0, a->type);
  if (a->op == Op::kLog) return a->args[0];
  return apply(Op::kExp, {a});
}

ExprPtr Algebra::power(const ExprPtr& a, double exponent) {
  if (exponent == 0) return number(1, a->type);
  if (exponent == 1) return a;
  if (is_number(a, 1)) return a;
  if (is_number(a, 0) && exponent > 0) return a;
  if (exponent == 2) return mul(a, a);
  if (exponent == 3) return mul(a, mul(a, a));
  if (exponent == -1) return div(number(1, a->type), a);
  if (exponent == 0.5) return apply(Op::kSqrt, {a});
  if (exponent == -0.5) return apply(Op::kRsqrt, {a});
  return apply(Op::kPow, {a, number(exponent, a->type)});
}

ExprPtr Algebra::select(const ExprPtr& c, const ExprPtr& then, const ExprPtr& otherwise) {
  if (c->op == Op::kBoolean) return c->integer != 0 ? then : otherwise;
  if (then == otherwise) return then;
  if (c->op == Op::kNot) return select(c->args[0], otherwise, then);
  return made(tile::select(c, then, otherwise));
}

ExprPtr Algebra::both(const ExprPtr& a, const ExprPtr& b) {
  if (!a || a == b) return b;
  if (!b) return a;
  if (a->op == Op::kBoolean) return a->integer != 0 ? b : a;
  if (b->op == Op::kBoolean) return b->integer != 0 ? a : b;
  return apply(Op::kAnd, {a, b});
}

ExprPtr Algebra::negation(const ExprPtr& c) {
  if (c->op == Op::kNot) return c->args[0];
  if (c->op == Op::kBoolean) return made(tile::boolean(c->integer == 0));
  return apply(Op::kNot, {c});
}

ExprPtr Algebra::reduce(Op op, AxisSet over, const ExprPtr& body) {
  if (op == Op::kSum && is_number(body, 0)) return body;
  return made(tile::reduce(op, over, body));
}

ExprPtr Algebra::cast(ScalarType type, const ExprPtr& a) {
  if (a->type == type) return a;
  if ((a->op == Op::kReal || a->op == Op::kInteger) && (type == ScalarType::f32 || type == ScalarType::f64)) {
    return number(*number_of(a), type);
  }
  return made(tile::cast(type, a));
}

ExprPtr Algebra::rebuild(const ExprPtr& e, const std::vector<ExprPtr>& args, const ExprPtr& guard) {
  if (args == e->args && guard == e->guard) return e;
  if (is_real(e) || e->op == Op::kSelect) {
    switch (e->op) {
      case Op::kAdd: return add(args[0], args[1]);
      case Op::kSub: return sub(args[0], args[1]);
      case Op::kMul: return mul(args[0], args[1]);
      case Op::kDiv: return div(args[0], args[1]);
      case Op::kNeg: return neg(args[0]);
      case Op::kExp: return exp(args[0]);
      case Op::kSelect: return select(args[1], args[0], args[2]);
      case Op::kSum: return reduce(e->op, e->over, args[0]);
      default: break;
    }
  }
  if (e->op == Op::kNot) return negation(args[0]);
  if (e->op == Op::kAnd) return both(args[0], args[1]);
  if (e->op == Op::kOr) return negation(both(negation(args[0]), negation(args[1])));
  return made(tile::with_args(*e, args, guard));
}

ExprPtr Algebra::substitute(const ExprPtr& e, const Map& map, bool inside) {
  Map memo;
  return substitute(e, map, inside, memo);
}

ExprPtr Algebra::substitute(const ExprPtr& e, const Map& map, bool inside, Map& memo) {
  if (!e) return e;
  auto given = map.find(e.get());
  if (given != map.end()) return given->second;
  if (!inside && is_answer(e)) return e;
  auto known = memo.find(e.get());
  if (known != memo.end()) return known->second;
  std::vector<ExprPtr> args;
  for (const ExprPtr& a : e->args) args.push_back(substitute(a, map, inside, memo));
  return memo[e.get()] = rebuild(e, args, substitute(e->guard, map, inside, memo));
}

}  // namespace quern::fuse::algebra
