// Reductions: a loop over the ranges, left to right, and what each makes of the values. Over nothing: sum 0, prod 1,
// max the least, min the greatest, any false, all true, argmax -1.
#include <fmt/format.h>

#include <span>
#include <utility>

#include "expr/interpret/evaluator.h"
#include "expr/print.h"

namespace quern::expr {

Evaluator::Ends Evaluator::ends(const Range& r) {
  Int lo = r.lo ? integer(*r.lo) : Int{0, 0}, hi = integer(*r.hi);
  if (r.limit >= 0 && lo.v < hi.v) {
    if (hi.v > r.limit) {
      cut(r, *r.hi->node, "end", hi.v, hi.v - 1);
      hi.v = r.limit;
    }
    if (lo.v < 0) {
      cut(r, *r.lo->node, "start", lo.v, lo.v);
      lo.v = 0;
    }
  }
  return {lo.v, hi.v, lo.e + hi.e == 0};
}

// Data let a range leave the dimension in which its index stands: said once a loop.
void Evaluator::cut(const Range& r, const Node& place, std::string_view which, int64_t bound, int64_t index) {
  const std::string& name = plan_.program->indices[static_cast<size_t>(r.slot)].str();
  std::string text = print(std::make_shared<const Node>(place));
  std::string what = fmt::format("the {} of its range {} = {}", which, text, bound);
  if (r.limits_write) {
    report(Code::E803, place, -1,
           {{"y", r.limited_by.str()},
            {"v", fmt::format("{} = {}, {}", name, index, what)},
            {"d", std::to_string(r.limit)}});
  } else {
    report(Code::E801, place, -1,
           {{"x", r.limited_by.str()},
            {"e", name},
            {"v", std::to_string(index)},
            {"indices", what},
            {"d", std::to_string(r.limit)}});
  }
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

// A term of a contraction as it is written, and what rounding the computed operands once to 16 bits may change. Factors
// may be grouped and taken out in many ways, so a partial product may be as large as all factors above 1 together
// (`largest`), and as small as all below 1.
Real Evaluator::contracted(const SumParts& parts, double& largest) {
  size_t first = factors_.size();  // a factor may hold a contraction of its own
  auto largest_part = [&](const Step& factor) {
    ++quiet_;
    bool failed_before = failed_;
    double out = peak(factor);
    failed_ = failed_before;
    --quiet_;
    return out;
  };
  double above[2] = {1, 1}, magnitude[2] = {1, 1}, inside[2] = {1, 1}, taken[2] = {1, 1}, below = 1;
  bool hoists[2] = {false, false}, absent = false;
  for (const SumParts::Factor& f : parts.factors) {
    Real y = number(*f.value);
    absent |= y.v == 0 && !f.inverse && f.value->masks;
    factors_.push_back(y);
    double high = std::fabs(y.v) + y.e, low = std::max(0.0, std::fabs(y.v) - y.e);
    if (f.inverse) high = 1 / std::exchange(low, 1 / high);
    above[f.operand] *= f.inverse ? std::max(1.0, high) : std::max(high, largest_part(*f.value));
    magnitude[f.operand] *= high;
    each_inside(f, [&](const SumParts::Factor& g, Real z) {
      double most = std::fabs(z.v) + z.e, least = std::max(0.0, std::fabs(z.v) - z.e);
      if (g.inverse) most = 1 / std::exchange(least, 1 / most);
      below *= std::min(1.0, least);
      if (g.apart) taken[g.operand] *= std::max(1.0, most);
      if (!g.hoisted) inside[g.operand] *= g.apart ? std::min(1.0, least) : least;
      hoists[g.operand] |= g.apart;
    });
  }
  std::span<const Real> factors(factors_.begin() + static_cast<ptrdiff_t>(first), factors_.end());
  size_t next = 0;
  terms_.clear();
  for (Op op : parts.body) {
    if (op == Op::kRead) {
      terms_.push_back(factors[next++]);
    } else if (op == Op::kNeg) {
      terms_.back().v = -terms_.back().v;
    } else {
      Real right = terms_.back();
      terms_.pop_back();
      Real& left = terms_.back();
      left = op == Op::kMul ? multiply(left, right, kSingle) : divide(left, right, kSingle);
    }
  }
  Real out = terms_.back();
  bool exact[2] = {!hoists[0] && exact_operand(parts, factors, 0), !hoists[1] && exact_operand(parts, factors, 1)};
  factors_.resize(first);
  if (!std::isfinite(out.v)) {
    if (std::isnan(out.v) && absent) out.e = kInfinity;
    return out;
  }
  largest = above[0] * above[1];
  if (below < kLeastNormal) out.e += static_cast<double>(parts.factors.size()) * kHalfLeast * largest;
  for (int k : {0, 1}) {
    if (!parts.computed[k] || exact[k]) continue;
    if (above[k] >= parts.largest) out.e = kInfinity;
    out.e += (std::fabs(out.v) + out.e) * parts.unit + magnitude[1 - k] * taken[k] * parts.underflow;
  }
  if (parts.flushes && (out.v != 0 || out.e > 0)) {
    for (double x : inside) {
      if (x < kLeastNormal) out.e += std::fabs(out.v);
    }
    // A sum of terms that are exact products of bf16 is below the least normal number only if one of them is nearly so.
    if (std::fabs(out.v) - out.e < kLeastNormal * 0x1p25) out.e += kLeastNormal * taken[0] * taken[1];
  }
  if (std::isnan(out.e)) out.e = kInfinity;
  return out;
}

// How large a partial product of the factor may be, at least 1: what an unannotated local multiplies and divides by is
// of the same product, and may be taken out of the sum too.
double Evaluator::peak(const Step& s) {
  switch (s.op) {
    case Op::kMul: return peak(*s.args[0]) * peak(*s.args[1]);
    case Op::kDiv: {
      Real y = number(*s.args[1]);
      return peak(*s.args[0]) * std::max(1.0, 1 / std::max(0.0, std::fabs(y.v) - y.e));
    }
    case Op::kNeg: return peak(*s.args[0]);
    case Op::kSelect: return peak(*s.args[boolean(*s.args[1]).v ? 0 : 2]);
    case Op::kLocal: {
      const LocalPlan& l = plan_.locals[static_cast<size_t>(s.target)];
      if (l.type) break;
      std::vector<int64_t> at;
      for (const Step* arg : s.args) at.push_back(integer(*arg).v);
      for (size_t i = 0; i < at.size(); ++i) slots_[l.ranges[i].slot] = at[i];
      return peak(*l.value);
    }
    default: break;
  }
  Real y = number(s);
  return std::max(1.0, std::fabs(y.v) + y.e);
}

// An infinity that is taken out multiplies the sum, not its terms.
bool Evaluator::takes_out_infinity(const SumParts& parts) {
  bool out = false;
  for (const SumParts::Factor& factor : parts.factors) {
    each_inside(factor, [&](const SumParts::Factor& f, Real y) {
      out |= f.apart && (f.inverse ? zero_possible(y) : std::isinf(y.v));
    });
  }
  return out;
}

// The factors that may be grouped anew: the factor itself, or those of the local that it is.
template <class Visit>
void Evaluator::each_inside(const SumParts::Factor& factor, Visit&& visit) {
  if (factor.inside.empty()) return visit(factor, number(*factor.value));
  std::vector<int64_t> at;
  for (const Step* arg : factor.value->args) at.push_back(integer(*arg).v);
  const std::vector<Range>& ranges = plan_.locals[static_cast<size_t>(factor.value->target)].ranges;
  for (const SumParts::Factor& f : factor.inside) {
    for (size_t i = 0; i < at.size(); ++i) slots_[ranges[i].slot] = at[i];
    each_inside(f, visit);
  }
}

// By Horner's rule a term is multiplied with one gate after the other, and what is summed so far with it: an infinite
// gate may meet a partial sum that is none of the terms, and on the way the term may be as large as with all gates
// above 1, or as small as with all below 1.
void Evaluator::gate(const GatedSum& sum, Real& term, double& largest) {
  double up = 1, down = 1, count = 1;
  bool infinite = false;
  loop(*sum.gates, 0, [&] {
    Real x = number(*sum.gates->args[0]);
    infinite |= std::isinf(x.v);
    up *= std::max(1.0, std::fabs(x.v) + x.e);
    double least = std::fabs(x.v) - x.e;
    if (least > 0) down *= std::min(1.0, least);
    ++count;
  });
  if (infinite && !std::isfinite(term.v)) term.e = kInfinity;
  if (!std::isfinite(term.v)) return;
  double magnitude = 1, least = 1;
  for (const GatedSum::Factor& f : sum.others) {
    Real x = number(*f.value);
    double high = std::fabs(x.v) + x.e, low = std::max(0.0, std::fabs(x.v) - x.e);
    if (f.inverse) high = 1 / std::exchange(low, 1 / high);
    magnitude *= high, least *= low;
  }
  largest = std::max(largest, magnitude * up);
  if (magnitude > 0 && least * down < kLeastNormal) term.e += count * kHalfLeast * up;
}

// Whole numbers, products of powers of two: what the 16-bit type holds is not changed.
bool Evaluator::exact_operand(const SumParts& parts, std::span<const Real> factors, int k) {
  if (!parts.computed[k]) return true;
  double v = 1;
  for (size_t i = 0; i < factors.size(); ++i) {
    if (parts.factors[i].operand != k) continue;
    if (factors[i].e > 0 || parts.factors[i].inverse) return false;
    v *= factors[i].v;
  }
  return round_to(parts.type, v) == v;
}

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
  Total total;
  const SumParts* parts = memory_.bounds ? s.parts : nullptr;
  bool sure = loop(s, 0, [&] {
    double largest = 0;
    Real x = parts && s.unit == kSingle ? contracted(*parts, largest) : number(body);
    if (parts && !std::isfinite(x.v) && takes_out_infinity(*parts)) x.e = kInfinity;
    if (memory_.bounds && s.gated) gate(*s.gated, x, largest);
    total.take(x);
    total.allow(largest);
  });
  out.real = total.value(s.unit);
  if (!sure) out.real.e = kInfinity;
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
  // In any order: partial products may be as large as all factors above 1 together, as small as all below 1.
  Real total{1, 0};
  double up = 1, down = 1, count = 0;
  bool zero = false, infinite = false, nan = false;
  bool sure = loop(s, 0, [&] {
    Real x = number(body);
    total = count++ == 0 ? x : multiply(total, x, s.unit);
    zero |= x.v == 0;
    infinite |= std::isinf(x.v);
    nan |= std::isnan(x.v);
    if (std::isfinite(x.v)) up *= std::max(1.0, std::fabs(x.v) + x.e);
    double least = std::fabs(x.v) - x.e;
    if (least > 0) down *= std::min(1.0, least);
  });
  bool single = s.unit == kSingle;
  // A NaN among them, or an infinity and a zero, make one in any order.
  if (count > 1 && !nan && !(zero && infinite)) {
    double largest = single ? kLargestSingle : std::numeric_limits<double>::max();
    double least = single ? kLeastNormal : std::numeric_limits<double>::min();
    if (!(up <= largest) || (infinite && down < least)) {
      total.e = kInfinity;
    } else if (single && down < least) {
      total.e += count * kHalfLeast * up;
    }
  }
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
  Extreme best(max);
  bool sure = loop(s, 0, [&] { best.take(number(body)); });
  out.real = best.value();
  if (!sure) out.real.e = kInfinity;
  return out;
}

// The first of equals, the first NaN if any; not sure where another one may be as good.
Evaluator::Slot Evaluator::position(const Step& s, bool max) {
  const Step& body = *s.args[0];
  const Range& r = s.ranges[0];
  Slot out;
  int64_t best = -1;
  if (body.kind == Kind::kInt) {
    Int value;
    double e = 0;
    bool found = false;
    bool sure = loop(s, 0, [&] {
      Int x = integer(body);
      e = std::max(e, x.e);
      if (std::exchange(found, true) && !(max ? x.v > value.v : x.v < value.v)) return;
      best = slots_[r.slot];
      value = x;
    });
    out.integer = {best, sure && e == 0 ? 0 : kInfinity};
    return out;
  }
  Real value;
  bool found = false, doubtful = false;
  double rival = -kInfinity;  // the most that any other one may be, of max (of min: of the negated values)
  bool sure = loop(s, 0, [&] {
    Real x = number(body);
    if (found && std::isnan(value.v)) return;
    doubtful |= unbounded(x);
    double key = max ? x.v : -x.v, old = max ? value.v : -value.v;
    if (!found || std::isnan(x.v) || key > old) {
      if (found && value.e + x.e > 0) rival = std::max(rival, old + value.e);
      found = true;
      best = slots_[r.slot];
      value = x;
    } else if (value.e + x.e > 0) {
      rival = std::max(rival, key + x.e);
    }
  });
  bool certain = std::isnan(value.v) || rival < (max ? value.v : -value.v) - value.e || rival == -kInfinity;
  out.integer = {best, sure && certain && !doubtful ? 0 : kInfinity};
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
