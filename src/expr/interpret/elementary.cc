#include "expr/interpret/elementary.h"

namespace quern::expr {
namespace {

// The larger change of an increasing function at the ends of [x - e, x + e].
template <class F>
double spread(F f, double x, double e, double v) {
  if (e == 0) return 0;
  double up = f(x + e) - v, down = v - f(x - e);
  double out = std::max(std::fabs(up), std::fabs(down));
  return std::isnan(out) ? kInfinity : out;
}

}  // namespace

Real elementary(Op op, Real x, double u) {
  double own = row(op).error * u;
  switch (op) {
    case Op::kExp: {
      double v = std::exp(x.v);
      // Below f32's smallest numbers an implementation gives 0.
      return settled(v, (x.e == 0 ? 0 : v * std::expm1(x.e)) + v * own + (v < 0x1p-126 && u > 0x1p-50 ? v : 0), u);
    }
    case Op::kExp2: {
      double v = std::exp2(x.v);
      return settled(v, (x.e == 0 ? 0 : v * std::expm1(x.e * 0.6931471805599453)) + v * own + (v < 0x1p-126 && u > 0x1p-50 ? v : 0), u);
    }
    case Op::kLog: {
      double v = std::log(x.v);
      if (x.e > 0 && x.e >= x.v) return settled(v, kInfinity, u);
      return settled(v, (x.e == 0 ? 0 : -std::log1p(-x.e / x.v)) + std::fabs(v) * own, u);
    }
    case Op::kLog2: {
      double v = std::log2(x.v);
      if (x.e > 0 && x.e >= x.v) return settled(v, kInfinity, u);
      return settled(v, (x.e == 0 ? 0 : -std::log1p(-x.e / x.v) * 1.4426950408889634) + std::fabs(v) * own, u);
    }
    case Op::kSqrt: {
      double v = std::sqrt(x.v);
      double e = x.e == 0 ? 0 : v - std::sqrt(std::max(0.0, x.v - x.e));
      if (x.e > 0 && x.v < x.e) e = std::max(e, std::sqrt(x.v + x.e) - v);
      return settled(v, e + v * own, u);
    }
    case Op::kRsqrt: {
      double v = 1 / std::sqrt(x.v);
      if (x.e > 0 && x.e >= x.v) return settled(v, kInfinity, u);
      return settled(v, (x.e == 0 ? 0 : 1 / std::sqrt(x.v - x.e) - v) + v * own, u);
    }
    case Op::kSin: return settled(std::sin(x.v), std::min(x.e, 2.0) + own, u);
    case Op::kCos: return settled(std::cos(x.v), std::min(x.e, 2.0) + own, u);
    case Op::kTanh: {
      double v = std::tanh(x.v);
      return settled(v, spread([](double t) { return std::tanh(t); }, x.v, x.e, v) + std::fabs(v) * own, u);
    }
    case Op::kErf: {
      double v = std::erf(x.v);
      return settled(v, spread([](double t) { return std::erf(t); }, x.v, x.e, v) + std::fabs(v) * own, u);
    }
    default: return {std::numeric_limits<double>::quiet_NaN(), 0};
  }
}

Real power(Real x, Real y, double u) {
  double v = std::pow(x.v, y.v);
  double own = row(Op::kPow).error * u;
  double e = 0;
  if (x.e > 0 || y.e > 0) {
    if (x.e > 0 && x.e >= std::fabs(x.v)) return settled(v, kInfinity, u);
    // log(x^y) = y log x: its change bounds the relative change of the power.
    double change = (std::fabs(y.v) + y.e) * (x.e == 0 ? 0 : -std::log1p(-x.e / std::fabs(x.v)));
    if (y.e > 0) change += y.e * std::fabs(std::log(std::fabs(x.v)));
    e = std::fabs(v) * std::expm1(change);
  }
  return settled(v, e + std::fabs(v) * own + (std::fabs(v) < 0x1p-126 && u > 0x1p-50 ? std::fabs(v) : 0), u);
}

Real rounded_whole(Op op, Real x) {
  switch (op) {
    case Op::kAbs: return {std::fabs(x.v), x.e};
    case Op::kFloor: return monotone(x, [](double t) { return std::floor(t); });
    case Op::kCeil: return monotone(x, [](double t) { return std::ceil(t); });
    default: return monotone(x, [](double t) { return std::nearbyint(t); });  // ties to even
  }
}

}  // namespace quern::expr
