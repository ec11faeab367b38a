#include "tile/absent.h"

#include <cmath>
#include <unordered_map>

namespace quern::tile {

namespace {

constexpr Held kFiniteHeld{Held::Kind::finite, 0};

bool is_constant(const Held& h) { return h.kind == Held::Kind::constant; }
bool is_infinite(const Held& h) { return is_constant(h) && std::isinf(h.value); }

Held joined(const Held& a, const Held& b) {
  if (a == b) return a;
  return a.is_finite() && b.is_finite() ? kFiniteHeld : Held{};
}

Held sum(const Held& a, const Held& b, double sign) {
  if (is_constant(a) && is_constant(b)) return constant_held(a.value + sign * b.value);
  if (is_infinite(a) && b.is_finite()) return a;
  if (is_infinite(b) && a.is_finite()) return constant_held(sign * b.value);
  return {};  // two finite numbers may overflow
}

Held product(const Held& a, const Held& b) {
  if (is_constant(a) && is_constant(b)) return constant_held(a.value * b.value);
  if ((a.is(0) && b.is_finite()) || (b.is(0) && a.is_finite())) return constant_held(0);
  return {};
}

Held arithmetic(Op op, const Held& a, const Held& b) {
  switch (op) {
    case Op::kAdd: return sum(a, b, 1);
    case Op::kSub: return sum(a, b, -1);
    case Op::kMul: return product(a, b);
    case Op::kDiv:
      if (is_constant(a) && is_constant(b) && b.value != 0) return constant_held(a.value / b.value);
      return a.is(0) && is_infinite(b) ? a : Held{};
    default: return {};
  }
}

std::optional<bool> compared(Op op, double a, double b) {
  switch (op) {
    case Op::kLt: return a < b;
    case Op::kLe: return a <= b;
    case Op::kGt: return a > b;
    case Op::kGe: return a >= b;
    case Op::kEq: return a == b;
    case Op::kNe: return a != b;
    default: return std::nullopt;
  }
}

Held function(Op op, const Held& a) {
  if (!is_constant(a)) return {};
  switch (op) {
    case Op::kExp: return constant_held(std::exp(a.value));
    case Op::kExp2: return constant_held(std::exp2(a.value));
    case Op::kTanh: return constant_held(std::tanh(a.value));
    case Op::kSqrt: return a.value >= 0 ? constant_held(std::sqrt(a.value)) : Held{};
    default: return {};
  }
}

Held rounding(Op op, const Held& a) {
  if (op == Op::kFinite) return is_constant(a) ? constant_held(std::isfinite(a.value) ? a.value : 0) : kFiniteHeld;
  if (!is_constant(a)) return a;
  switch (op) {
    case Op::kAbs: return constant_held(std::fabs(a.value));
    case Op::kFloor: return constant_held(std::floor(a.value));
    case Op::kCeil: return constant_held(std::ceil(a.value));
    case Op::kRound: return constant_held(std::nearbyint(a.value));
    default: return {};
  }
}

// What a reduction holds when all its elements hold `a`, any number of them.
Held reduced(Op op, const Held& a) {
  double same = op == Op::kProd || op == Op::kAll ? 1 : 0;
  if (op == Op::kMax) same = -HUGE_VAL;
  if (op == Op::kMin) same = HUGE_VAL;
  return a.is(same) ? a : Held{};
}

Held from_parts(const Expr& e, const std::vector<Held>& args) {
  switch (row(e).family) {
    case Family::literal: {
      if (e.op == Op::kReal) return constant_held(e.real);
      // Only integers that a double holds exactly.
      bool exact = std::abs(static_cast<double>(e.integer)) <= 0x1p53;
      return exact ? constant_held(static_cast<double>(e.integer)) : kFiniteHeld;
    }
    case Family::fill:
    case Family::anchor: return args[0];
    case Family::arithmetic: {
      if (e.type == ScalarType::i64) return kFiniteHeld;
      return arithmetic(e.op, args[0], args[1]);
    }
    case Family::negate: return is_constant(args[0]) ? constant_held(-args[0].value) : args[0];
    case Family::fma: return sum(product(args[0], args[1]), args[2], 1);
    case Family::compare: {
      if (!is_constant(args[0]) || !is_constant(args[1])) return {};
      auto v = compared(e.op, args[0].value, args[1].value);
      return v ? constant_held(*v ? 1 : 0) : Held{};
    }
    case Family::negation: return is_constant(args[0]) ? constant_held(1 - args[0].value) : Held{};
    case Family::logic: {
      double decides = e.op == Op::kAnd ? 0 : 1;
      if (args[0].is(decides) || args[1].is(decides)) return constant_held(decides);
      return is_constant(args[0]) && is_constant(args[1]) ? args[0] : Held{};
    }
    case Family::select:
      if (is_constant(args[1])) return args[1].value != 0 ? args[0] : args[2];
      return joined(args[0], args[2]);
    case Family::function: return function(e.op, args[0]);
    case Family::function2:
      return e.op == Op::kExpAt && args[0].is(-HUGE_VAL) && args[1].is_finite() ? constant_held(0) : Held{};
    case Family::rounding: return rounding(e.op, args[0]);
    case Family::extremum:
      if (!is_constant(args[0]) || !is_constant(args[1]) || e.type == ScalarType::i64) return {};
      return constant_held(e.op == Op::kMaxOf ? std::fmax(args[0].value, args[1].value)
                                              : std::fmin(args[0].value, args[1].value));
    case Family::cast:
      // 0, and to reals the infinities, have an exact image in every type.
      if (args[0].is(0) || args[0].is(1)) return args[0];
      if (is_infinite(args[0]) && (e.type == ScalarType::f32 || e.type == ScalarType::f64)) return args[0];
      return kind(e.type) == Kind::kReal ? Held{} : kFiniteHeld;
    case Family::reduce: return reduced(e.op, args[0]);
    case Family::dim:
    case Family::axis:
    case Family::bits: return kFiniteHeld;
    default: return {};
  }
}

}  // namespace

bool Held::is_finite() const { return kind == Kind::finite || (kind == Kind::constant && std::isfinite(value)); }

Held constant_held(double value) { return std::isnan(value) ? Held{} : Held{Held::Kind::constant, value}; }

Held held(const ExprPtr& e, const std::function<std::optional<Held>(const Expr&)>& known) {
  std::unordered_map<const Expr*, Held> done;
  auto walk = [&](auto& self, const ExprPtr& part) -> Held {
    if (auto it = done.find(part.get()); it != done.end()) return it->second;
    Held out;
    if (auto given = known(*part)) {
      out = *given;
    } else if (part->op == Op::kLoad) {
      bool off = part->guard && self(self, part->guard).is(0);
      out = off ? constant_held(0) : kind(part->type) == Kind::kReal ? Held{} : kFiniteHeld;
    } else {
      std::vector<Held> args;
      for (const ExprPtr& a : part->args) args.push_back(self(self, a));
      out = from_parts(*part, args);
    }
    done.emplace(part.get(), out);
    return out;
  };
  return walk(walk, e);
}

bool unnoticed(const Expr& e, const std::vector<Held>& operands) {
  if (row(e).family == Family::dot) return operands[0].is(0) || operands[1].is(0);
  if (e.type == ScalarType::i64 && (e.op == Op::kMax || e.op == Op::kMin)) return false;
  return is_constant(reduced(e.op, operands[0]));
}

}  // namespace quern::tile
