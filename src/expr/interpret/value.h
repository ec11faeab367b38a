// Values of the interpreter, each with what is known of its error, and the rules of running error analysis (Higham,
// Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.3): if an f32 implementation may differ from the
// operands by their e, it may differ from the result by the e computed here. Not-finite results carry no bound.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/scalar_type.h"

namespace quern::expr {

struct Real {
  double v = 0;
  double e = 0;  // absolute bound
};
struct Int {
  int64_t v = 0;
  double e = 0;  // 0: exact; an integer made from a real may be off
};
struct Bool {
  bool v = false;
  bool sure = true;  // false: an f32 implementation may decide otherwise
};

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Rounding of one operation: `u` is the unit roundoff of the precision it is done in (2^-24, or 2^-53 for f64).
inline double rounding(double v, double u) { return std::fabs(v) * u; }

// Leaves no bound on what is not finite, and none at all where f32 overflows although f64 does not.
inline Real settled(double v, double e, double u) {
  if (!std::isfinite(v)) return {v, 0};
  constexpr double kLargestSingle = 3.4028234663852886e38;
  if (u == 0x1p-24 && std::fabs(v) + e > kLargestSingle) return {v, kInfinity};
  return {v, std::isnan(e) ? kInfinity : e};
}

inline Real add(Real a, Real b, double u) {
  double v = a.v + b.v;
  return settled(v, a.e + b.e + rounding(v, u), u);
}
inline Real subtract(Real a, Real b, double u) {
  double v = a.v - b.v;
  return settled(v, a.e + b.e + rounding(v, u), u);
}
// |x| e with 0 * inf = 0: an exact zero factor leaves no error.
inline double scaled(double x, double e) { return e == 0 || x == 0 ? 0 : std::fabs(x) * e; }
inline Real multiply(Real a, Real b, double u) {
  double v = a.v * b.v;
  double e = scaled(a.v, b.e) + scaled(b.v, a.e) + (a.e == 0 || b.e == 0 ? 0 : a.e * b.e);
  double tiny = v != 0 && u > 0x1p-50 && std::fabs(v) < 0x1p-126 ? 0x1p-150 : 0;
  return settled(v, e + rounding(v, u) + tiny, u);
}
inline Real divide(Real a, Real b, double u) {
  double v = a.v / b.v;
  if (b.e > 0 && b.e >= std::fabs(b.v)) return settled(v, kInfinity, u);
  double e = a.e == 0 && b.e == 0 ? 0 : (a.e + scaled(v, b.e)) / (std::fabs(b.v) - b.e);
  double tiny = v != 0 && u > 0x1p-50 && std::fabs(v) < 0x1p-126 ? 0x1p-150 : 0;
  return settled(v, e + rounding(v, u) + tiny, u);
}

// A monotone conversion of the whole interval [v - e, v + e].
template <class Convert>
Real monotone(Real a, Convert&& convert) {
  double v = convert(a.v);
  if (a.e == 0 || !std::isfinite(a.v)) return {v, 0};
  double low = convert(a.v - a.e), high = convert(a.v + a.e);
  return {v, std::isfinite(v) ? std::max(high - v, v - low) : 0};
}

// Bool of a comparison whose sides may be off.
inline bool separated(Real a, Real b) {
  double e = a.e + b.e;
  return e == 0 || std::isnan(a.v) || std::isnan(b.v) || std::fabs(a.v - b.v) > e;
}

}  // namespace quern::expr
