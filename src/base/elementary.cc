#include "base/elementary.h"

#include <numbers>

namespace quern {
namespace {

// A result below f32's normal numbers may be 0: units of elementary functions flush.
Real flushed(Real r, double u) {
  double most = std::fabs(r.v) + r.e;
  if (u == kSingle && std::fabs(r.v) - r.e < kLeastNormal) r.e += std::min(most, kLeastNormal);
  return r;
}

// What a monotone function makes of [low, high] around x, and its own error.
template <class F>
Real monotone_function(F f, Real x, double low, double high, double u, int units) {
  double v = f(x.v);
  if (unbounded(x)) return {v, kInfinity};
  double e = 0;
  if (x.e > 0) {
    double a = f(low), b = f(high);
    if (!std::isfinite(v)) return {v, (std::isnan(a) && std::isnan(b)) || (a == v && b == v) ? 0 : kInfinity};
    e = std::max(std::fabs(a - v), std::fabs(b - v));
    if (!(e < kInfinity)) return {v, kInfinity};
  }
  if (!std::isfinite(v)) return {v, 0};
  Real r = rounded(v, e, u, true, units);
  return units > 1 ? flushed(r, u) : r;
}

}  // namespace

Real elementary(Elementary f, Real x, double u, int units, bool nonnegative) {
  double low = x.v - x.e, high = x.v + x.e;
  if (nonnegative) low = std::max(low, 0.0);
  auto apply = [&](auto function) { return monotone_function(function, x, low, high, u, units); };
  // What overflows need not where it is scaled by an exponent that is taken off again.
  auto exponential = [&](auto function) {
    Real out = apply(function);
    if (std::isinf(out.v) && std::isfinite(x.v)) out.e = kInfinity;
    return out;
  };
  switch (f) {
    case Elementary::kExp: return exponential([](double t) { return std::exp(t); });
    case Elementary::kExp2: return exponential([](double t) { return std::exp2(t); });
    case Elementary::kLog: return apply([](double t) { return std::log(t); });
    case Elementary::kLog2: return apply([](double t) { return std::log2(t); });
    case Elementary::kSqrt: return apply([](double t) { return std::sqrt(t); });
    case Elementary::kRsqrt:
      if (x.v == 0 && !nonnegative) return {1 / std::sqrt(x.v), kInfinity};  // of either sign, as the zero is
      return apply([](double t) { return 1 / std::sqrt(t); });
    case Elementary::kTanh: return apply([](double t) { return std::tanh(t); });
    case Elementary::kErf: return apply([](double t) { return std::erf(t); });
    case Elementary::kSin:
    case Elementary::kCos: {
      // Absolute near its zeros, as an implementation that reduces the argument in f32 has it.
      double v = f == Elementary::kSin ? std::sin(x.v) : std::cos(x.v);
      if (unbounded(x)) return {v, kInfinity};
      return {v, std::isfinite(x.v) ? std::min(x.e, 2.0) + units * u : 0};
    }
  }
  return {std::numeric_limits<double>::quiet_NaN(), 0};
}

Real exponential_at(Real h, Real g, double u, int units) {
  auto f = [](double x, double y) {
    if (std::isnan(x) || std::isnan(y)) return std::numeric_limits<double>::quiet_NaN();
    if (y == kInfinity || x == -kInfinity) return 0.0;
    if (y == -kInfinity || x == kInfinity) return kInfinity;
    // Whole powers of two are taken off x exactly: both may be large, and nearly cancel.
    double k = std::nearbyint(x * std::numbers::log2e);
    double rest = std::fma(k, -0x1.62e42fefa39efp-1, x);
    rest = std::fma(k, -0x1.abc9e3b39803fp-56, rest);
    double power = std::clamp(k - y, -3000.0, 3000.0);
    return std::ldexp(std::exp(rest), static_cast<int>(power));
  };
  double v = f(h.v, g.v);
  if (unbounded(h) || unbounded(g)) return {v, kInfinity};
  double e = 0;
  if (h.e + g.e > 0) {
    double low = f(h.v - h.e, g.v + g.e), high = f(h.v + h.e, g.v - g.e);
    if (!std::isfinite(v)) return {v, kInfinity};
    e = std::max(std::fabs(low - v), std::fabs(high - v));
    if (!(e < kInfinity)) return {v, kInfinity};
  }
  if (!std::isfinite(v)) return {v, std::isinf(v) && std::isfinite(h.v) ? kInfinity : 0};
  return flushed(rounded(v, e, u, true, units), u);
}

Real power(Real x, Real y, double u, int units, bool nonnegative) {
  double v = std::pow(x.v, y.v);
  if (unbounded(x) || unbounded(y)) return {v, kInfinity};
  if (x.e == 0 && y.e == 0) {
    bool doubtful = std::isinf(v) && std::isfinite(x.v) && std::isfinite(y.v);  // overflow, or a zero of either sign
    return std::isfinite(v) ? flushed(rounded(v, 0, u, true, units), u) : Real{v, doubtful ? kInfinity : 0};
  }
  if (!std::isfinite(v) || !std::isfinite(x.v) || !std::isfinite(y.v)) return {v, kInfinity};
  double low = x.v - x.e, high = x.v + x.e, e = 0;
  if (nonnegative) low = std::max(low, 0.0);
  if (low >= 0) {
    // Monotone in each argument: the extremes are at corners, or at x = 1 of either side, where all powers meet.
    for (double a : {low, high}) {
      for (double b : {y.v - y.e, y.v + y.e}) e = std::max(e, std::fabs(std::pow(a, b) - v));
    }
  } else if (y.e == 0 && y.v == std::floor(y.v)) {
    if (y.v < 0 && zero_possible(x)) return {v, kInfinity};
    double far = std::fabs(x.v) + x.e, near = std::max(0.0, std::fabs(x.v) - x.e);
    e = std::max(std::fabs(std::pow(far, y.v) - std::fabs(v)), std::fabs(std::pow(near, y.v) - std::fabs(v)));
    if (zero_possible(x)) e += std::fabs(v);  // of either sign
  } else {
    return {v, kInfinity};  // a negative number to a power that is not whole is NaN
  }
  if (!(e < kInfinity)) return {v, kInfinity};
  return flushed(rounded(v, e, u, true, units), u);
}

Real rounded_whole(Whole f, Real x) {
  switch (f) {
    case Whole::kAbs: return {std::fabs(x.v), x.e};
    case Whole::kFloor: return monotone(x, [](double t) { return std::floor(t); });
    case Whole::kCeil: return monotone(x, [](double t) { return std::ceil(t); });
    case Whole::kRound: return monotone(x, [](double t) { return std::nearbyint(t); });  // ties to even
  }
  return x;
}

}  // namespace quern
