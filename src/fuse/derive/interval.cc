#include "fuse/derive/interval.h"

#include <algorithm>
#include <cmath>

namespace quern::fuse::algebra {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

double times(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

Interval product(Interval a, Interval b) {
  double p[] = {times(a.lo, b.lo), times(a.lo, b.hi), times(a.hi, b.lo), times(a.hi, b.hi)};
  return {*std::min_element(p, p + 4), *std::max_element(p, p + 4)};
}

Interval added(Interval a, Interval b) {
  double lo = a.lo + b.lo, hi = a.hi + b.hi;
  return {std::isnan(lo) ? -kInf : lo, std::isnan(hi) ? kInf : hi};
}

Interval minus(Interval a) { return {-a.hi, -a.lo}; }
Interval hull(Interval a, Interval b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }

Interval reciprocal(Interval a) {
  if (a.lo > 0 || a.hi < 0) return {1 / a.hi, 1 / a.lo};
  if (a.lo == 0) return {a.hi == kInf ? 0 : 1 / a.hi, kInf};
  return {};
}

Interval stored(ScalarType type) {
  switch (kind(type)) {
    case Kind::kInt: return {static_cast<double>(least_int(type)), static_cast<double>(greatest_int(type))};
    case Kind::kBool: return {0, 1};
    default: break;
  }
  if (row(type).bits <= 8) {
    double top = largest(type);
    return type == ScalarType::f8e8m0   ? Interval{0, top}
           : type == ScalarType::f8e5m2 ? Interval{}
                                        : Interval{-top, top};
  }
  return {};
}

}  // namespace

std::optional<double> Intervals::extent(AxisId axis) {
  if (!facts_.axes || static_cast<size_t>(axis) >= facts_.axes->size()) return std::nullopt;
  const tile::Axis& a = (*facts_.axes)[axis];
  Interval hi = (*this)(a.hi), lo = a.lo ? (*this)(a.lo) : Interval{0, 0};
  if (hi.lo == hi.hi && lo.lo == lo.hi && std::isfinite(hi.lo)) return hi.lo - lo.lo;
  return std::nullopt;
}

Interval Intervals::operator()(const ExprPtr& e, bool unmasked) {
  auto known = known_[unmasked].find(e.get());
  if (known != known_[unmasked].end()) return known->second;
  Interval i = compute(e, unmasked);
  known_[unmasked][e.get()] = i;
  kept_.push_back(e);
  return i;
}

int Intervals::sign(const ExprPtr& e) {
  Interval i = (*this)(e);
  return i.lo >= 0 ? 1 : i.hi <= 0 ? -1 : 0;
}

Interval Intervals::compute(const ExprPtr& e, bool unmasked) {
  auto of = [&](size_t i) { return (*this)(e->args[i], unmasked); };
  auto mono = [&](double (*f)(double)) {
    Interval a = of(0);
    return Interval{f(a.lo), f(a.hi)};
  };
  auto value = number_of(e);
  if (value) return std::isnan(*value) ? Interval{} : Interval{*value, *value};
  switch (e->op) {
    case Op::kDim: {
      if (facts_.program && static_cast<size_t>(e->id) < facts_.program->dims.size()) {
        auto v = facts_.program->dims[e->id].value;
        if (v) return {static_cast<double>(*v), static_cast<double>(*v)};
      }
      return {0, kInf};
    }
    case Op::kAxis:
    case Op::kLow:
    case Op::kHigh: {
      if (!facts_.axes || static_cast<size_t>(e->id) >= facts_.axes->size()) return {};
      const tile::Axis& a = (*facts_.axes)[e->id];
      double lo = a.lo ? (*this)(a.lo).lo : 0;
      return {lo, (*this)(a.hi).hi - (e->op == Op::kAxis ? 1 : 0)};
    }
    case Op::kLoad: {
      Interval i = stored(e->type);
      return e->guard || e->checked != 0 ? hull(i, {0, 0}) : i;
    }
    case Op::kAdd: return added(of(0), of(1));
    case Op::kSub: return added(of(0), minus(of(1)));
    case Op::kMul:
      if (e->args[0] == e->args[1]) {
        Interval a = of(0);
        double top = std::max(a.lo * a.lo, a.hi * a.hi);
        return {a.lo > 0 ? a.lo * a.lo : a.hi < 0 ? a.hi * a.hi : 0, top};
      }
      return product(of(0), of(1));
    case Op::kDiv: return product(of(0), reciprocal(of(1)));
    case Op::kNeg: return minus(of(0));
    case Op::kFma: return added(product(of(0), of(1)), of(2));
    case Op::kSelect: {
      if (unmasked && is_minus_infinity(e->args[0])) return of(2);
      if (unmasked && is_minus_infinity(e->args[2])) return of(0);
      return hull(of(0), of(2));
    }
    case Op::kExp: return mono(std::exp);
    case Op::kExp2: return mono(std::exp2);
    case Op::kLog: {
      Interval a = of(0);
      return {a.lo > 0 ? std::log(a.lo) : -kInf, a.hi > 0 ? std::log(a.hi) : kInf};
    }
    case Op::kSqrt: {
      Interval a = of(0);
      return {a.lo > 0 ? std::sqrt(a.lo) : 0, a.hi > 0 ? std::sqrt(a.hi) : kInf};
    }
    case Op::kRsqrt: return {0, kInf};
    case Op::kSin:
    case Op::kCos: return {-1, 1};
    case Op::kTanh: return mono(std::tanh);
    case Op::kErf: return mono(std::erf);
    case Op::kFloor: return mono(std::floor);
    case Op::kCeil: return mono(std::ceil);
    case Op::kRound: return mono(std::nearbyint);
    case Op::kAnchor:
    case Op::kFinite: return hull(of(0), {0, 0});
    case Op::kAbs: {
      Interval a = of(0);
      return {a.lo > 0 ? a.lo : a.hi < 0 ? -a.hi : 0, std::max(std::abs(a.lo), std::abs(a.hi))};
    }
    case Op::kMaxOf: {
      Interval a = of(0), b = of(1);
      return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    }
    case Op::kMinOf: {
      Interval a = of(0), b = of(1);
      return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    }
    case Op::kCast: return is_real(e) ? of(0) : stored(e->type);
    case Op::kSum: {
      Interval a = of(0);
      double count = 1;
      for (AxisId x : e->over.list()) {
        auto size = extent(x);
        count = size ? count * *size : kInf;
      }
      if (!std::isfinite(count)) return {a.lo >= 0 ? 0 : -kInf, a.hi <= 0 ? 0 : kInf};
      return {times(a.lo, count), times(a.hi, count)};
    }
    case Op::kMax:
    case Op::kMin: return of(0);
    case Op::kExpAt: return {0, kInf};
    case Op::kPow: return of(0).lo >= 0 ? Interval{0, kInf} : Interval{};
    default: return {};
  }
}

}  // namespace quern::fuse::algebra
