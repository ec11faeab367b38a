// Reductions: a loop over the ranges, left to right, and what each makes of the values. Over nothing: sum 0, prod 1,
// max the least, min the greatest, any false, all true, argmax -1.
#include <fmt/format.h>

#include "expr/interpret/evaluator.h"
#include "expr/print.h"

namespace quern::expr {

Evaluator::Ends Evaluator::ends(const Range& r) {
  Int lo = r.lo ? integer(*r.lo) : Int{0, 0}, hi = integer(*r.hi);
  if (r.limit >= 0 && hi.v > r.limit && hi.v > lo.v) {
    report(Code::E801, *r.place, 0,
           {{"x", r.limited_by.str()},
            {"e", plan_.program->indices[static_cast<size_t>(r.slot)].str()},
            {"v", std::to_string(hi.v - 1)},
            {"indices", "the end of its range " + print(std::make_shared<const Node>(*r.place)) + " = " + std::to_string(hi.v)},
            {"d", std::to_string(r.limit)}});
    hi.v = r.limit;
  }
  return {lo.v, hi.v, lo.e + hi.e == 0};
}

// Calls body for every instance of the ranges; false if rounding may change which there are.
template <class Body>
bool Evaluator::loop(const Step& s, size_t depth, Body&& body) {
  if (depth == s.ranges.size()) {
    body();
    return true;
  }
  const Range& r = s.ranges[depth];
  Ends e = ends(r);
  bool sure = e.sure;
  int64_t before = slots_[r.slot];
  bool innermost = depth + 1 == s.ranges.size();
  for (int64_t i = e.lo; i < e.hi; ++i) {
    slots_[r.slot] = i;
    if (innermost) {
      body();
    } else {
      sure &= loop(s, depth + 1, body);
    }
  }
  slots_[r.slot] = before;
  return sure;
}

Evaluator::Slot Evaluator::reduce(const Step& s) {
  switch (s.op) {
    case Op::kSum: return sum(s);
    case Op::kProd: return product(s);
    case Op::kMax: return extreme(s, true);
    case Op::kMin: return extreme(s, false);
    case Op::kArgmax: return position(s, true);
    case Op::kArgmin: return position(s, false);
    case Op::kAny: return quantifier(s, false);
    default: return quantifier(s, true);
  }
}

// Both operands of a contraction, and what rounding the computed ones once to 16 bits may change.
Real Evaluator::contracted(const SumParts& parts, double unit) {
  Real side[2];
  for (int k : {0, 1}) {
    Real x{1, 0};
    bool first = true;
    for (const auto& [step, inverse] : parts.factors[k]) {
      Real f = number(*step);
      x = inverse ? divide(x, f, unit) : first ? f : multiply(x, f, unit);
      first = false;
    }
    side[k] = x;
  }
  Real out = multiply(side[0], side[1], unit);
  for (int k : {0, 1}) {
    if (!parts.computed[k] || !std::isfinite(out.v)) continue;
    out.e += std::fabs(out.v) * parts.unit + std::fabs(side[1 - k].v) * parts.underflow;
  }
  return out;
}

// Any order of n terms: (n - 1) roundings of the sum of magnitudes.
Evaluator::Slot Evaluator::sum(const Step& s) {
  Slot out;
  const Step& body = *s.args[0];
  if (s.kind == Kind::kInt) {
    uint64_t total = 0;
    double e = 0;
    bool sure = loop(s, 0, [&] {
      Int x = integer(body);
      total += static_cast<uint64_t>(x.v);
      e += x.e;
    });
    out.integer = {static_cast<int64_t>(total), sure ? e : kInfinity};
    return out;
  }
  double total = 0, magnitude = 0, e = 0;
  int64_t count = 0;
  bool rounds = s.parts && memory_.bounds;
  bool sure = loop(s, 0, [&] {
    Real x = rounds ? contracted(*s.parts, s.unit) : number(body);
    total += x.v;
    magnitude += std::fabs(x.v);
    e += x.e;
    ++count;
  });
  if (count > 1) e += static_cast<double>(count - 1) * s.unit * magnitude;
  out.real = settled(total, sure ? e : kInfinity, s.unit);
  return out;
}

Evaluator::Slot Evaluator::product(const Step& s) {
  Slot out;
  const Step& body = *s.args[0];
  if (s.kind == Kind::kInt) {
    uint64_t total = 1;
    double e = 0;
    bool sure = loop(s, 0, [&] {
      Int x = integer(body);
      total *= static_cast<uint64_t>(x.v);
      if (x.e > 0) e = kInfinity;
    });
    out.integer = {static_cast<int64_t>(total), sure ? e : kInfinity};
    return out;
  }
  Real total{1, 0};
  bool first = true;
  bool sure = loop(s, 0, [&] {
    Real x = number(body);
    total = std::exchange(first, false) ? x : multiply(total, x, s.unit);
  });
  if (!sure) total.e = kInfinity;
  out.real = total;
  return out;
}

Evaluator::Slot Evaluator::extreme(const Step& s, bool max) {
  Slot out;
  const Step& body = *s.args[0];
  if (s.kind == Kind::kInt) {
    Int best{max ? INT64_MIN : INT64_MAX, 0};
    bool sure = loop(s, 0, [&] {
      Int x = integer(body);
      if (max ? x.v > best.v : x.v < best.v) best.v = x.v;
      best.e = std::max(best.e, x.e);
    });
    if (!sure) best.e = kInfinity;
    out.integer = best;
    return out;
  }
  Real best{max ? -kInfinity : kInfinity, 0};
  bool sure = loop(s, 0, [&] {
    Real x = number(body);
    bool better = std::isnan(x.v) || (!std::isnan(best.v) && (max ? x.v > best.v : x.v < best.v));
    if (better) best.v = x.v;
    best.e = std::max(best.e, x.e);
  });
  out.real = settled(best.v, sure ? best.e : kInfinity, s.unit);
  return out;
}

// The first of equals, the first NaN if any; not sure where another one may be as good.
Evaluator::Slot Evaluator::position(const Step& s, bool max) {
  const Step& body = *s.args[0];
  const Range& r = s.ranges[0];
  int64_t best = -1;
  Real value;
  double rival = -kInfinity;  // the most that any other one may be, of max (of min: of the negated values)
  bool sure = loop(s, 0, [&] {
    Real x = number(body);
    double key = max ? x.v : -x.v, old = max ? value.v : -value.v;
    bool better = best < 0 || (!std::isnan(value.v) && (std::isnan(x.v) || key > old));
    if (better) {
      if (best >= 0 && value.e + x.e > 0) rival = std::max(rival, old + value.e);
      best = slots_[r.slot];
      value = x;
    } else if (value.e + x.e > 0) {
      rival = std::max(rival, key + x.e);
    }
  });
  Slot out;
  bool certain = std::isnan(value.v) || rival < (max ? value.v : -value.v) - value.e || rival == -kInfinity;
  out.integer = {best, sure && certain ? 0 : kInfinity};
  return out;
}

Evaluator::Slot Evaluator::quantifier(const Step& s, bool all) {
  Slot out;
  bool value = all, doubtful = false, decided = false;
  bool sure = loop(s, 0, [&] {
    Bool x = boolean(*s.args[0]);
    if (x.v != all) value = !all;
    decided |= x.v != all && x.sure;
    doubtful |= !x.sure;
  });
  out.boolean = {value, sure && (decided || !doubtful)};
  return out;
}

}  // namespace quern::expr
