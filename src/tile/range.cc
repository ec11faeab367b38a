#include "tile/range.h"

#include <algorithm>
#include <limits>

namespace quern::tile {
namespace {

using Number = std::optional<int64_t>;

int64_t floor_divide(int64_t a, int64_t b) {
  int64_t q = a / b;
  return q - (a % b != 0 && (a < 0) != (b < 0));
}

Bounds one(int64_t v) { return {v, v}; }

bool empty(const Bounds& b) { return b.low && b.high && *b.low > *b.high; }
bool known(const Bounds& b) { return b.low && b.high; }

Number sum(Number a, Number b) {
  int64_t out;
  if (!a || !b || __builtin_add_overflow(*a, *b, &out)) return std::nullopt;
  return out;
}

Number negated(Number a) {
  if (!a || *a == std::numeric_limits<int64_t>::min()) return std::nullopt;
  return -*a;
}

// What is not known at one end may be anything up to wrapping, which spoils the other end too.
Bounds exact(Bounds b) { return known(b) ? b : Bounds{}; }

Bounds add(const Bounds& a, const Bounds& b) {
  return known(a) && known(b) ? exact({sum(a.low, b.low), sum(a.high, b.high)}) : Bounds{};
}

Bounds negate(const Bounds& b) { return known(b) ? exact({negated(b.high), negated(b.low)}) : Bounds{}; }

Bounds multiply(const Bounds& a, const Bounds& b) {
  if (!known(a) || !known(b)) return {};
  int64_t ends[4];
  if (__builtin_mul_overflow(*a.low, *b.low, &ends[0]) || __builtin_mul_overflow(*a.low, *b.high, &ends[1]) ||
      __builtin_mul_overflow(*a.high, *b.low, &ends[2]) || __builtin_mul_overflow(*a.high, *b.high, &ends[3])) {
    return {};
  }
  return {*std::ranges::min_element(ends), *std::ranges::max_element(ends)};
}

// By a divisor of known sign, without zero.
Bounds divide(const Bounds& a, const Bounds& b) {
  if (!known(b) || *b.low <= 0) return {};
  auto smallest = [&](int64_t v) { return floor_divide(v, v < 0 ? *b.low : *b.high); };
  auto largest = [&](int64_t v) { return floor_divide(v, v < 0 ? *b.high : *b.low); };
  Bounds out;
  if (a.low) out.low = smallest(*a.low);
  if (a.high) out.high = largest(*a.high);
  return out;
}

Bounds remainder(const Bounds& a, const Bounds& b) {
  if (!known(b) || *b.low <= 0) return {};
  if (known(a) && *a.low >= 0 && *a.high < *b.low) return a;
  return {0, *b.high - 1};
}

Bounds both(const Bounds& a, const Bounds& b) {  // one of the two
  Bounds out;
  if (a.low && b.low) out.low = std::min(*a.low, *b.low);
  if (a.high && b.high) out.high = std::max(*a.high, *b.high);
  return out;
}

Bounds extreme(bool max, const Bounds& a, const Bounds& b) {
  auto pick = [&](int64_t x, int64_t y) { return max ? std::max(x, y) : std::min(x, y); };
  Bounds out;
  if (a.low && b.low) {
    out.low = pick(*a.low, *b.low);
  } else if (max && (a.low || b.low)) {
    out.low = a.low ? a.low : b.low;  // no less than either
  }
  if (a.high && b.high) {
    out.high = pick(*a.high, *b.high);
  } else if (!max && (a.high || b.high)) {
    out.high = a.high ? a.high : b.high;
  }
  return out;
}

Bounds of_type(ScalarType type) {
  if (quern::kind(type) != Kind::kInt || type == ScalarType::i64) return {};
  return {least_int(type), greatest_int(type)};
}

}  // namespace

int64_t evaluate(Op op, int64_t a, int64_t b) {
  auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  switch (op) {
    case Op::kAdd: return static_cast<int64_t>(x + y);
    case Op::kSub: return static_cast<int64_t>(x - y);
    case Op::kMul: return static_cast<int64_t>(x * y);
    case Op::kFloorDiv:
      if (b == 0) return 0;
      return b == -1 ? static_cast<int64_t>(-x) : floor_divide(a, b);
    case Op::kMod:
      if (b == 0 || b == -1) return 0;
      return static_cast<int64_t>(x - static_cast<uint64_t>(floor_divide(a, b)) * y);  // the product may pass 64 bits
    case Op::kBitAnd: return a & b;
    case Op::kBitOr: return a | b;
    case Op::kBitXor: return a ^ b;
    case Op::kShl: return b < 0 || b > 63 ? 0 : static_cast<int64_t>(x << b);
    case Op::kShr: return b < 0 || b > 63 ? 0 : a >> b;
    case Op::kMaxOf: return std::max(a, b);
    case Op::kMinOf: return std::min(a, b);
    default: return 0;
  }
}

Bounds Ranges::operator()(const ExprPtr& e) {
  auto at = known_.find(e.get());
  if (at != known_.end()) return at->second;
  Bounds b = compute(*e);
  kept_.push_back(e);
  known_[e.get()] = b;
  return b;
}

std::optional<int64_t> Ranges::constant(const ExprPtr& e) {
  Bounds b = (*this)(e);
  return b.constant() ? b.low : std::nullopt;
}

Bounds Ranges::axis(AxisId id) {
  auto at = narrowed_.find(id);
  if (at != narrowed_.end()) return at->second;
  const Axis& a = axes_[static_cast<size_t>(id)];
  Bounds lo = a.lo ? (*this)(a.lo) : one(0), hi = (*this)(a.hi);
  return {lo.low, sum(hi.high, -1)};
}

void Ranges::narrow(AxisId id, Bounds indices) {
  narrowed_[id] = indices;
  known_.clear();
}

bool Ranges::inside(const ExprPtr& e, const ExprPtr& size) {
  Bounds b = (*this)(e), s = (*this)(size);
  if (empty(b)) return true;
  return b.low && *b.low >= 0 && b.high && s.low && *b.high < *s.low;
}

Bounds Ranges::compute(const Expr& e) {
  if (quern::kind(e.type) != Kind::kInt) return {};
  auto arg = [&](size_t i) { return (*this)(e.args[i]); };
  switch (row(e).family) {
    case Family::literal: return one(e.integer);
    case Family::dim: {
      auto v = program_.dims[static_cast<size_t>(e.id)].value;
      return v ? one(*v) : Bounds{0, kLargestSize};
    }
    case Family::axis: {
      Bounds b = axis(e.id);
      if (e.op == Op::kHigh) return {b.low, sum(b.high, 1)};  // an empty range ends where it begins
      return e.op == Op::kLow ? Bounds{b.low, sum(b.high, 1)} : b;
    }
    case Family::load: return e.guard || e.checked ? both(of_type(e.type), one(0)) : of_type(e.type);
    case Family::cast: {
      Bounds t = of_type(e.type);
      if (quern::kind(e.args[0]->type) == Kind::kBool) return {0, 1};
      if (quern::kind(e.args[0]->type) != Kind::kInt) return t;
      Bounds b = arg(0);
      if (e.type == ScalarType::i64) return b;
      return known(b) && t.low && *b.low >= *t.low && *b.high <= *t.high ? b : t;
    }
    case Family::fill: return arg(0);
    case Family::select: return both(arg(0), arg(2));
    case Family::extremum: return extreme(e.op == Op::kMaxOf, arg(0), arg(1));
    case Family::reduce:
      if (e.op == Op::kMax || e.op == Op::kMin) {
        // Over nothing it is the far end of the type: known only where the axes surely have an index.
        bool surely = true;
        for (AxisId id : e.over.list()) {
          const Axis& a = axes_[static_cast<size_t>(id)];
          Bounds lo = a.lo ? (*this)(a.lo) : one(0), hi = (*this)(a.hi);
          surely &= narrowed_.contains(id) || (lo.high && hi.low && *lo.high < *hi.low);
        }
        if (surely) return arg(0);
      }
      return {};
    case Family::negate: return negate(arg(0));
    case Family::rounding: {
      if (e.op != Op::kAbs) return arg(0);
      Bounds b = arg(0);
      if (!known(b) || !negated(b.low)) return {};
      int64_t low = -*b.low, high = *b.high;
      return {*b.low <= 0 && *b.high >= 0 ? 0 : std::min(std::max(low, -low), std::max(high, -high)),
              std::max(low, high)};
    }
    case Family::arithmetic: {
      Bounds a = arg(0), b = arg(1);
      if (a.constant() && b.constant()) return one(evaluate(e.op, *a.low, *b.low));
      if (empty(a) || empty(b)) return {};
      switch (e.op) {
        case Op::kAdd: return add(a, b);
        case Op::kSub: return add(a, negate(b));
        case Op::kMul: return multiply(a, b);
        case Op::kFloorDiv: return divide(a, b);
        default: return remainder(a, b);
      }
    }
    case Family::bits: {
      Bounds a = arg(0), b = arg(1);
      if (a.constant() && b.constant()) return one(evaluate(e.op, *a.low, *b.low));
      if (e.op == Op::kBitAnd) {
        if (b.low && *b.low >= 0 && b.high) return {0, *b.high};
        if (a.low && *a.low >= 0 && a.high) return {0, *a.high};
        return {};
      }
      if (e.op == Op::kShr && known(a) && known(b) && *b.low >= 0 && *b.high <= 63) {
        return {std::min(*a.low >> *b.low, *a.low >> *b.high), std::max(*a.high >> *b.low, *a.high >> *b.high)};
      }
      if ((e.op == Op::kBitOr || e.op == Op::kBitXor) && known(a) && known(b) && *a.low >= 0 && *b.low >= 0) {
        uint64_t most = static_cast<uint64_t>(*a.high) | static_cast<uint64_t>(*b.high);
        while ((most & (most + 1)) != 0) most |= most >> 1;
        return {0, static_cast<int64_t>(most)};
      }
      return {};
    }
    case Family::random: return {0, (int64_t{1} << 32) - 1};
    default: return {};
  }
}

}  // namespace quern::tile
