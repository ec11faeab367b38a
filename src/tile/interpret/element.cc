// The rules of base/running_error.h and base/elementary.h, chosen by family and op.
#include "tile/interpret/element.h"

#include "base/elementary.h"
#include "base/philox.h"

namespace quern::tile {
namespace {

bool is_real(ScalarType t) { return kind(t) == Kind::kReal; }

Real arithmetic(Op op, Real a, Real b, double u) {
  switch (op) {
    case Op::kAdd: return add(a, b, u);
    case Op::kSub: return subtract(a, b, u);
    case Op::kMul: return multiply(a, b, u);
    default: return divide(a, b, u);
  }
}

int64_t whole_divide(int64_t a, int64_t b, bool remainder) {
  if (b == 0) return 0;
  if (b == -1) return remainder ? 0 : static_cast<int64_t>(-static_cast<uint64_t>(a));
  int64_t q = a / b, r = a % b;
  bool down = r != 0 && (r < 0) != (b < 0);
  return remainder ? r + (down ? b : 0) : q - down;
}

Int whole(Op op, Int a, Int b) {
  auto x = static_cast<uint64_t>(a.v), y = static_cast<uint64_t>(b.v);
  double e = a.e + b.e;
  bool shift_fits = b.v >= 0 && b.v <= 63;
  switch (op) {
    case Op::kAdd: return {static_cast<int64_t>(x + y), e};
    case Op::kSub: return {static_cast<int64_t>(x - y), e};
    case Op::kMul:
      if (e > 0) e = std::fabs(static_cast<double>(a.v)) * b.e + std::fabs(static_cast<double>(b.v)) * a.e + a.e * b.e;
      return {static_cast<int64_t>(x * y), e};
    case Op::kFloorDiv: return {whole_divide(a.v, b.v, false), e > 0 ? kInfinity : 0};
    case Op::kMod: return {whole_divide(a.v, b.v, true), e > 0 ? kInfinity : 0};
    case Op::kBitAnd: return {a.v & b.v, e > 0 ? kInfinity : 0};
    case Op::kBitOr: return {a.v | b.v, e > 0 ? kInfinity : 0};
    case Op::kBitXor: return {a.v ^ b.v, e > 0 ? kInfinity : 0};
    case Op::kShl: return {shift_fits ? static_cast<int64_t>(x << b.v) : 0, e > 0 ? kInfinity : 0};
    default: return {shift_fits ? a.v >> b.v : 0, e > 0 ? kInfinity : 0};
  }
}

template <class T>
bool decide(Op op, T a, T b) {
  switch (op) {
    case Op::kLt: return a < b;
    case Op::kLe: return a <= b;
    case Op::kGt: return a > b;
    case Op::kGe: return a >= b;
    case Op::kEq: return a == b;
    default: return a != b;
  }
}

Bool compare(Op op, ScalarType type, Element a, Element b) {
  if (is_real(type)) return {decide(op, a.v, b.v), separated(a.real(), b.real())};
  bool sure = a.e + b.e == 0 || std::fabs(static_cast<double>(a.i) - static_cast<double>(b.i)) > a.e + b.e;
  return {decide(op, a.i, b.i), sure};
}

Real function(Op op, Real x, double u, int units) {
  auto apply = [&](Elementary f) { return elementary(f, x, u, units); };
  switch (op) {
    case Op::kExp: return apply(Elementary::kExp);
    case Op::kExp2: return apply(Elementary::kExp2);
    case Op::kLog: return apply(Elementary::kLog);
    case Op::kLog2: return apply(Elementary::kLog2);
    case Op::kSqrt: return apply(Elementary::kSqrt);
    case Op::kRsqrt: return apply(Elementary::kRsqrt);
    case Op::kSin: return apply(Elementary::kSin);
    case Op::kCos: return apply(Elementary::kCos);
    case Op::kTanh: return apply(Elementary::kTanh);
    default: return apply(Elementary::kErf);
  }
}

Real rounding(Op op, Real x) {
  switch (op) {
    case Op::kAbs: return rounded_whole(Whole::kAbs, x);
    case Op::kFloor: return rounded_whole(Whole::kFloor, x);
    case Op::kCeil: return rounded_whole(Whole::kCeil, x);
    case Op::kRound: return rounded_whole(Whole::kRound, x);
    default:  // finite
      if (std::isfinite(x.v)) return x;
      return {0, x.e == 0 ? 0 : kInfinity};
  }
}

Element extremum(bool max, ScalarType type, Element a, Element b) {
  if (is_real(type)) {
    Extreme extreme(max);
    extreme.take(a.real());
    extreme.take(b.real());
    return Element::of(extreme.value());
  }
  bool second = max ? b.i > a.i : b.i < a.i;
  return Element::of(Int{second ? b.i : a.i, std::max(a.e, b.e)});
}

}  // namespace

double unit(ScalarType type) { return type == ScalarType::f64 ? kDouble : kSingle; }

Element finished(Real r, ScalarType type, Mode mode) {
  if (mode == Mode::kBound) return Element::of(r);
  return Element::of(Real{mode == Mode::kRounded ? round_to(type, r.v) : r.v, 0});
}

Element map_element(const Expr& e, Mode mode, std::span<const Element> args) {
  const OpRow& r = row(e);
  Element a = args[0], b = args.size() > 1 ? args[1] : Element{};
  ScalarType type = e.args[0]->type;
  double u = unit(type);
  auto done = [&](Real x) { return finished(x, type, mode); };
  switch (r.family) {
    case Family::arithmetic:
      if (is_real(type)) return done(arithmetic(e.op, a.real(), b.real(), u));
      return Element::of(whole(e.op, a.integer(), b.integer()));
    case Family::bits: return Element::of(whole(e.op, a.integer(), b.integer()));
    case Family::negate:
      if (is_real(type)) return Element::of(Real{-a.v, a.e});
      return Element::of(Int{static_cast<int64_t>(-static_cast<uint64_t>(a.i)), a.e});
    case Family::fma: {
      if (mode == Mode::kRounded) return done({std::fma(a.v, b.v, args[2].v), 0});
      return done(add(multiply(a.real(), b.real(), kDouble), args[2].real(), u));
    }
    case Family::compare: return Element::of(compare(e.op, type, a, b));
    case Family::negation: return Element::of(Bool{a.i == 0, a.e == 0});
    case Family::logic: {
      bool either = e.op == Op::kOr;
      Bool x = a.boolean(), y = b.boolean();
      // What decides alone and is sure makes the other one's doubt void.
      bool decided = (x.sure && x.v == either) || (y.sure && y.v == either);
      return Element::of(Bool{either ? x.v || y.v : x.v && y.v, decided || (x.sure && y.sure)});
    }
    case Family::function: return done(function(e.op, a.real(), u, r.error));
    case Family::function2:
      if (e.op == Op::kExpAt) return done(exponential_at(a.real(), b.real(), u, r.error));
      return done(power(a.real(), b.real(), u, r.error));
    case Family::rounding:
      if (is_real(type)) return Element::of(rounding(e.op, a.real()));
      if (e.op == Op::kAbs && a.i < 0) a.i = static_cast<int64_t>(-static_cast<uint64_t>(a.i));
      return a;
    case Family::extremum: return extremum(e.op == Op::kMaxOf, type, a, b);
    case Family::anchor: return std::isfinite(a.v) && !unbounded(a.real()) ? Element::of(Real{a.v, 0}) : a;
    case Family::random: return Element::of(Int{random_bits(a.i, b.i), a.e + b.e > 0 ? kInfinity : 0});
    default: return undefined_element(e.type);
  }
}

Element select_element(ScalarType type, Mode mode, Bool condition, Element then, Element otherwise) {
  const Element &taken = condition.v ? then : otherwise, &other = condition.v ? otherwise : then;
  if (condition.sure || mode != Mode::kBound) return taken;
  switch (kind(type)) {
    case Kind::kReal: return Element::of(either(taken.real(), other.real()));
    case Kind::kBool: {
      Bool x = taken.boolean(), y = other.boolean();
      return Element::of(Bool{x.v, x.sure && y.sure && x.v == y.v});
    }
    default: {
      double apart = std::fabs(static_cast<double>(other.i) - static_cast<double>(taken.i));
      return Element::of(Int{taken.i, std::max(taken.e, apart + other.e)});
    }
  }
}

Element cast_element(ScalarType from, ScalarType to, Mode mode, Element x, bool anchored) {
  Kind had = kind(from);
  switch (kind(to)) {
    case Kind::kReal: {
      Real a = had == Kind::kReal  ? x.real()
               : had == Kind::kInt ? whole_value(x.integer(), to)
                                   : Real{static_cast<double>(x.i != 0), x.e};
      if (mode == Mode::kPadded && (to == ScalarType::f32 || to == ScalarType::f64)) return Element::of(a);
      double u = unit_roundoff(to);
      // Exact: what the narrower type has, the wider one has.
      if (had == Kind::kReal && unit_roundoff(from) >= u && (to == ScalarType::f32 || to == ScalarType::f64)) {
        return Element::of(a);
      }
      if (mode == Mode::kBound && anchored && std::isfinite(round_to(to, a.v)) && std::fabs(a.v) <= largest(to)) {
        return Element::of(Real{a.v, a.e + u * (std::fabs(a.v) + a.e) + underflow_error(to)});
      }
      return Element::of(monotone(a, [&](double v) { return round_to(to, v); }));
    }
    case Kind::kBool: {
      if (had == Kind::kReal) return Element::of(Bool{x.v != 0, x.e == 0 || std::fabs(x.v) > x.e});
      return Element::of(Bool{x.i != 0, x.e == 0});
    }
    default: {
      if (had == Kind::kInt) return Element::of(wrapped(to, x.integer()));
      if (had == Kind::kBool) return Element::of(Int{x.i != 0 ? wrap_to(to, 1) : 0, x.e == 0 ? 0.0 : 1.0});
      Real t = monotone(x.real(), [&](double v) { return static_cast<double>(truncate_to(to, v)); });
      return Element::of(Int{truncate_to(to, x.v), t.e + (anchored ? 1 : 0)});
    }
  }
}

}  // namespace quern::tile
