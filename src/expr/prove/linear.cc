#include "expr/prove/linear.h"

#include <algorithm>

namespace quern::expr {
namespace {

using End = std::optional<int64_t>;

End plus(End a, End b) {
  int64_t out;
  if (!a || !b || __builtin_add_overflow(*a, *b, &out)) return std::nullopt;
  return out;
}

End times(End a, int64_t b) {
  int64_t out;
  if (!a || __builtin_mul_overflow(*a, b, &out)) return std::nullopt;
  return out;
}

}  // namespace

std::string Linear::key() const {
  std::string out = valid ? std::to_string(constant) : "?";
  for (const auto& [atom, c] : terms) out += "+" + std::to_string(c) + "a" + std::to_string(atom);
  return out;
}

Linear add(const Linear& a, const Linear& b, int64_t factor) {
  Linear out = a;
  out.valid = a.valid && b.valid;
  int64_t product;
  auto add_to = [&](int64_t& place, int64_t value) {
    if (__builtin_mul_overflow(value, factor, &product) || __builtin_add_overflow(place, product, &place)) {
      out.valid = false;
    }
  };
  add_to(out.constant, b.constant);
  for (const auto& [atom, c] : b.terms) {
    auto [it, added] = out.terms.emplace(atom, 0);
    add_to(it->second, c);
    if (it->second == 0) out.terms.erase(it);
  }
  return out;
}

Linear scale(const Linear& a, int64_t factor) { return add(Linear{}, a, factor); }

Interval add(const Interval& a, const Interval& b) { return {plus(a.lo, b.lo), plus(a.hi, b.hi)}; }

Interval scale(const Interval& a, int64_t f) {
  if (f == 0) return {0, 0};
  if (f > 0) return {times(a.lo, f), times(a.hi, f)};
  return {times(a.hi, f), times(a.lo, f)};
}

Interval multiply(const Interval& a, const Interval& b) {
  if (a.lo && a.lo == a.hi) return scale(b, *a.lo);
  if (b.lo && b.lo == b.hi) return scale(a, *b.lo);
  if (a.lo && a.hi && b.lo && b.hi) {
    Interval x = scale(b, *a.lo), y = scale(b, *a.hi);
    return hull(x, y);
  }
  // Half-open products: only the common case of two that are not negative says anything.
  if (a.lo && b.lo && *a.lo >= 0 && *b.lo >= 0) return {times(a.lo, *b.lo), std::nullopt};
  return {};
}

Interval hull(const Interval& a, const Interval& b) {
  Interval out;
  if (a.lo && b.lo) out.lo = std::min(*a.lo, *b.lo);
  if (a.hi && b.hi) out.hi = std::max(*a.hi, *b.hi);
  return out;
}

Interval intersect(const Interval& a, const Interval& b) {
  Interval out = a;
  if (b.lo && (!out.lo || *b.lo > *out.lo)) out.lo = b.lo;
  if (b.hi && (!out.hi || *b.hi < *out.hi)) out.hi = b.hi;
  return out;
}

int64_t floor_divide(int64_t a, int64_t b) {
  int64_t q = a / b;
  return q - (a % b != 0 && (a < 0) != (b < 0));
}

Interval floor_divide(const Interval& a, int64_t by) {
  Interval out;
  if (a.lo) out.lo = floor_divide(*a.lo, by);
  if (a.hi) out.hi = floor_divide(*a.hi, by);
  return out;
}

}  // namespace quern::expr
