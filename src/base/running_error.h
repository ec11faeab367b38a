// Values of the interpreters, each with what is known of its error, and the rules of running error analysis (Higham,
// Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.3): if an f32 implementation may differ from the
// operands by their e, it may differ from the result by the e computed here.
//
// e is finite, or infinite: then nothing is known, an implementation may even have an infinity or a NaN there. A value
// that is not finite has e = 0 if every implementation has the very same, else infinite; so e of an infinity says
// whether it is certain. What overflows in f32 although f64 holds it has an infinite e.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/scalar_type.h"

namespace quern {

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
// Roundoff of one operation. In f64 the interpreter itself rounds like an implementation: both errors count.
inline constexpr double kSingle = 0x1p-24, kDouble = 0x1p-52;
inline constexpr double kLargestSingle = 3.4028234663852886e38;
inline constexpr double kLeastNormal = 0x1p-126, kHalfLeast = 0x1p-150;  // of f32; half its least subnormal

inline bool unbounded(Real a) { return !(a.e < kInfinity); }
inline bool zero_possible(Real a) { return a.v == 0 || std::fabs(a.v) <= a.e; }

// One operation's result, which an implementation computes from operands that make it differ by e, and rounds: the
// rounding is relative to what the implementation has. `tiny`: the operation may underflow.
inline Real rounded(double v, double e, double u, bool tiny, double units = 1) {
  double most = std::fabs(v) + e;
  if (!(most <= std::numeric_limits<double>::max())) return {v, kInfinity};
  if (u == kSingle && most > kLargestSingle) return {v, kInfinity};
  if (u == kSingle && e == 0 && units == 1 && static_cast<double>(static_cast<float>(v)) == v) return {v, 0};  // exact
  double own = units * u * most;
  if (tiny && u == kSingle && most > 0 && std::fabs(v) - e < kLeastNormal) own += units * kHalfLeast;
  return {v, e + own};
}

inline Real add(Real a, Real b, double u) {
  double v = a.v + b.v;
  if (unbounded(a) || unbounded(b)) return {v, kInfinity};
  if (!std::isfinite(v)) return {v, std::isfinite(a.v) && std::isfinite(b.v) ? kInfinity : 0};
  return rounded(v, a.e + b.e, u, false);
}
inline Real subtract(Real a, Real b, double u) { return add(a, {-b.v, b.e}, u); }

inline Real multiply(Real a, Real b, double u) {
  double v = a.v * b.v;
  if (unbounded(a) || unbounded(b)) return {v, kInfinity};
  if (!std::isfinite(v)) {
    // Infinity times something that may be zero, or of either sign, may be anything.
    bool a_finite = std::isfinite(a.v), b_finite = std::isfinite(b.v);
    bool doubtful = a_finite ? b_finite || (std::isinf(b.v) && a.e > 0 && zero_possible(a))
                             : b_finite && std::isinf(a.v) && b.e > 0 && zero_possible(b);
    return {v, doubtful ? kInfinity : 0};
  }
  double e = std::fabs(a.v) * b.e + std::fabs(b.v) * a.e + a.e * b.e;
  return rounded(v, e, u, true);
}

inline Real divide(Real a, Real b, double u) {
  double v = a.v / b.v;
  if (unbounded(a) || unbounded(b)) return {v, kInfinity};
  if (std::isnan(a.v) || !std::isfinite(b.v)) return {v, 0};
  if (b.e > 0 && zero_possible(b)) return {v, kInfinity};
  if (!std::isfinite(v)) {
    // The sign of a zero depends on the order of a sum, and with it that of the infinity.
    bool certain = b.v == 0 ? a.v == 0 && a.e == 0 : std::isinf(a.v);
    return {v, certain ? 0 : kInfinity};
  }
  return rounded(v, (a.e + std::fabs(v) * b.e) / (std::fabs(b.v) - b.e), u, true);
}

// A monotone conversion of the whole interval [v - e, v + e].
template <class Convert>
Real monotone(Real a, Convert&& convert) {
  double v = convert(a.v);
  if (a.e == 0) return {v, 0};
  if (unbounded(a)) return {v, kInfinity};
  double low = convert(a.v - a.e), high = convert(a.v + a.e);
  if (std::isfinite(v)) return {v, std::max(high - v, v - low)};
  return {v, low == high || std::isnan(v) ? 0 : kInfinity};
}

// `a` where an implementation may as well have `b`.
inline Real either(Real a, Real b) {
  if (unbounded(a) || unbounded(b)) return {a.v, kInfinity};
  if (std::isfinite(a.v) && std::isfinite(b.v)) return {a.v, std::max(a.e, std::fabs(b.v - a.v) + b.e)};
  return {a.v, a.v == b.v || (std::isnan(a.v) && std::isnan(b.v)) ? 0 : kInfinity};
}

// The largest or least of several values; a NaN wins. Its bound comes from the largest and least that each may be, so
// that the error of what is far from the extreme does not count.
class Extreme {
 public:
  explicit Extreme(bool max) : sign_(max ? 1 : -1) {}
  void take(Real x) {
    doubt_ |= unbounded(x);
    double key = sign_ * x.v;
    if (std::isnan(x.v)) {
      nan_ = true;
      nan_sure_ |= x.e == 0;
    } else {
      best_ = std::max(best_, key);
      if (!doubt_) {
        low_ = std::max(low_, key - x.e);
        high_ = std::max(high_, key + x.e);
      }
    }
  }
  Real value() const {
    if (nan_) return {std::numeric_limits<double>::quiet_NaN(), nan_sure_ ? 0 : kInfinity};
    if (doubt_) return {sign_ * best_, kInfinity};
    if (!std::isfinite(best_)) return {sign_ * best_, 0};
    return {sign_ * best_, std::max(high_ - best_, best_ - low_)};
  }

 private:
  double sign_;
  double best_ = -kInfinity, low_ = -kInfinity, high_ = -kInfinity;
  bool nan_ = false, nan_sure_ = false, doubt_ = false;
};

// Terms added in any order, and the rounding of all partial sums: with n terms each passes at most n - 1 of them.
class Total {
 public:
  void take(Real x) {
    ++count_;
    total_ += x.v;
    error_ += x.e;
    if (std::isfinite(x.v)) {
      magnitude_ += std::fabs(x.v);
    } else {
      finite_ = false;
    }
  }
  // A partial sum may be as large as all terms together, or as those terms before a common factor.
  void allow(double magnitude) { largest_ += magnitude; }
  Real value(double u) const { return with(total_, count_ - 1, u); }

 private:
  Real with(double v, double roundings, double u) const {
    double most = magnitude_ + error_;
    if (!(most < std::numeric_limits<double>::max())) return {v, kInfinity};
    if (u == kSingle && std::max(most, largest_) > kLargestSingle) return {v, kInfinity};
    if (!finite_) return {v, 0};
    double g = std::max(0.0, roundings) * u;
    return {v, g < 0.5 ? error_ + g / (1 - g) * most : kInfinity};
  }

  double total_ = 0, magnitude_ = 0, error_ = 0, count_ = 0, largest_ = 0;
  bool finite_ = true;
};

// Bool of a comparison whose sides may be off.
inline bool separated(Real a, Real b) {
  if (unbounded(a) || unbounded(b)) return false;
  double e = a.e + b.e;
  return e == 0 || std::isnan(a.v) || std::isnan(b.v) || std::fabs(a.v - b.v) > e;
}

// An integer that keeps its low bits only: one that may be off may also come round the other end.
inline Int wrapped(ScalarType type, Int a) {
  int64_t v = wrap_to(type, a.v);
  bool stays = a.e == 0 || (static_cast<double>(v) - a.e >= static_cast<double>(least_int(type)) &&
                            static_cast<double>(v) + a.e <= static_cast<double>(greatest_int(type)));
  return {v, stays ? a.e : kInfinity};
}

// A 64-bit integer as a double that rounds once more like the integer itself: where it isn't exact, to odd.
inline Real whole_value(Int a, ScalarType to) {
  auto v = static_cast<double>(a.v);
  bool exact = v < 0x1p63 && static_cast<int64_t>(v) == a.v;
  if (exact || to == ScalarType::f64) return {v, a.e};
  auto bits = std::bit_cast<uint64_t>(v);
  bool larger = v >= 0x1p63 || static_cast<int64_t>(v) > a.v;
  if (larger == (v > 0)) bits -= 1;  // toward zero
  return {std::bit_cast<double>(bits | 1), a.e};
}

}  // namespace quern
