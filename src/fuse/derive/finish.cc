#include "fuse/derive/finish.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace quern::fuse::algebra {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

bool same(const Poly& a, const Poly& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Monomial& x, const Monomial& y) {
    return x.coefficient == y.coefficient && x.factors == y.factors;
  });
}

// Adds what cancels away, and leaves everything else as it is.
void flatten(Algebra& a, const ExprPtr& e, bool minus, std::vector<std::pair<ExprPtr, bool>>& out) {
  if (e->op == Op::kAdd || e->op == Op::kSub) {
    flatten(a, e->args[0], minus, out);
    flatten(a, e->args[1], minus != (e->op == Op::kSub), out);
  } else if (e->op == Op::kNeg) {
    flatten(a, e->args[0], !minus, out);
  } else {
    auto other = std::find(out.begin(), out.end(), std::pair(e, !minus));
    if (other != out.end()) {
      out.erase(other);
    } else {
      out.emplace_back(e, minus);
    }
  }
}

// Products as computed: what cancels is left out, and sums over sums come first. Each sum is of elements that may all
// be as large as the largest, and the one below is of weights that step down: only their quotient is of the size that
// the text has before it multiplies with anything else. `is_sum` knows them.
ExprPtr product_of(Algebra& a, const ExprPtr& x, const ExprPtr& y, bool below,
                   const std::function<bool(const ExprPtr&)>& is_sum) {
  std::vector<std::pair<ExprPtr, bool>> parts;
  bool cancels = false, minus = false;
  std::function<void(const ExprPtr&, bool)> collect = [&](const ExprPtr& e, bool under) {
    if (e->op == Op::kMul || e->op == Op::kDiv) {
      collect(e->args[0], under), collect(e->args[1], under != (e->op == Op::kDiv));
    } else if (e->op == Op::kNeg) {
      minus = !minus;
      collect(e->args[0], under);
    } else {
      auto other = std::find(parts.begin(), parts.end(), std::pair(e, !under));
      if (other != parts.end()) {
        parts.erase(other);
        cancels = true;
      } else {
        parts.emplace_back(e, under);
      }
    }
  };
  collect(x, false), collect(y, below);
  auto sums = [&](bool under) {
    std::vector<ExprPtr> out;
    for (const auto& [e, u] : parts) {
      if (u == under && is_sum(e)) out.push_back(e);
    }
    return out;
  };
  std::vector<ExprPtr> above = sums(false), under = sums(true);
  size_t quotients = std::min(above.size(), under.size());
  if (!cancels && (quotients == 0 || parts.size() == 2)) return below ? a.div(x, y) : a.mul(x, y);
  ExprPtr out = a.number(1, x->type);
  for (size_t i = 0; i < quotients; ++i) {
    out = a.mul(out, a.div(above[i], under[i]));
    parts.erase(std::ranges::find(parts, std::pair(above[i], false)));
    parts.erase(std::ranges::find(parts, std::pair(under[i], true)));
  }
  for (bool divides : {false, true}) {
    for (const auto& [e, u] : parts) {
      if (u == divides) out = u ? a.div(out, e) : a.mul(out, e);
    }
  }
  return minus ? a.neg(out) : out;
}

ExprPtr sum_of(Algebra& a, const ExprPtr& x, const ExprPtr& y, bool minus) {
  std::vector<std::pair<ExprPtr, bool>> own, parts;
  flatten(a, x, false, parts);
  size_t before = parts.size();
  flatten(a, y, minus, own);
  flatten(a, y, minus, parts);
  if (parts.size() == before + own.size()) return minus ? a.sub(x, y) : a.add(x, y);
  ExprPtr out = a.number(0, x->type);
  for (bool negative : {false, true}) {
    for (const auto& [e, m] : parts) {
      if (m == negative) out = m ? a.sub(out, e) : a.add(out, e);
    }
  }
  return out;
}

// Is it 0 somewhere by a condition?
bool guarded(const ExprPtr& e) {
  if (e->op == Op::kSelect) return is_number(e->args[0], 0) || is_number(e->args[2], 0);
  if (e->op == Op::kMul) return guarded(e->args[0]) || guarded(e->args[1]);
  return (e->op == Op::kDiv || e->op == Op::kNeg || e->op == Op::kAbs) && guarded(e->args[0]);
}

}  // namespace

ExprPtr Finisher::stored(int index) {
  const Accumulator& acc = pass_.accumulators[index];
  return a_.symbol(Symbols::kStored, index, acc.type, acc.axes);
}

ExprPtr Finisher::gauge_symbol(int gauge, ScalarType type) {
  const Gauge& g = pass_.gauges[gauge];
  if (g.constant) return a_.number(g.value, type);
  return a_.symbol(Symbols::kGauge, gauge, type, pass_.accumulators[g.extremum].axes);
}

// A sum as it is stored, perhaps 0 by a condition.
bool Finisher::is_sum(const ExprPtr& e) {
  if (e->op == Op::kCast) return is_sum(e->args[0]);
  if (e->op == Op::kSelect && is_number(e->args[2], 0)) return is_sum(e->args[0]);
  if (e->op == Op::kSelect && is_number(e->args[0], 0)) return is_sum(e->args[2]);
  auto i = symbol_index(e, Symbols::kStored);
  return i && pass_.accumulators[*i].op == Op::kSum && !pass_.accumulators[*i].key;
}

// A raw sum whose gauge the text takes off again: 0 over nothing, as it is stored.
bool Finisher::is_sum_at_its_gauge(const Scaled& s) {
  double left = 0;
  for (const Monomial& m : s.e) {
    const ExprPtr& f = m.factors.empty() ? s.m : m.factors[0];
    bool gauge = m.factors.size() == 1 && (symbol_index(f, Symbols::kGauge) || symbol_index(f, Symbols::kStored));
    left = gauge ? left + m.coefficient : kInf;
  }
  return left == 0 && symbol_index(s.m, Symbols::kStored);
}

// With what says whether there is anything in m, where e is left.
Finisher::Scaled Finisher::closed(Scaled s) {
  ExprPtr present = std::exchange(s.present, nullptr);
  if (present && !s.e.empty()) s.m = a_.select(present, s.m, a_.number(0, s.m->type));
  return s;
}

ExprPtr Finisher::is_finite(const ExprPtr& x) {
  if (x->op == Op::kNeg) return is_finite(x->args[0]);
  return a_.apply(Op::kLt, {a_.apply(Op::kAbs, {x}), a_.number(kInf, x->type)});
}

// A gauge that is its extremum, made finite, against this extremum as the text has it: they cancel where it is finite.
// Elsewhere the text has a NaN.
Finisher::Scaled Finisher::settled(Scaled s) {
  for (int g : exact_) {
    const Gauge& gauge = pass_.gauges[g];
    if (gauge.constant) continue;
    auto monomial = [&](auto&& is) {
      return std::ranges::find_if(s.e, [&](const Monomial& m) { return m.factors.size() == 1 && is(m.factors[0]); });
    };
    auto own = monomial([&](const ExprPtr& x) { return symbol_index(x, Symbols::kGauge) == g; });
    auto text = monomial([&](const ExprPtr& x) { return symbol_index(x, Symbols::kStored) == gauge.extremum; });
    if (own == s.e.end() || text == s.e.end() || own->coefficient != -text->coefficient) continue;
    ExprPtr extremum = text->factors[0];
    Poly pair = {*own, *text};
    s.e = a_.sum(s.e, a_.scaled(pair, -1));
    s.m = inside(s.m, [&](const ExprPtr& x) {
      return a_.select(is_finite(extremum), x, a_.number(std::numeric_limits<double>::quiet_NaN(), x->type));
    });
  }
  return s;
}

// Exact gauges are what they follow.
ExprPtr Finisher::opened(const ExprPtr& e) {
  Algebra::Map map;
  for (int g : exact_) {
    const Gauge& gauge = pass_.gauges[g];
    if (gauge.constant) continue;
    map[gauge_symbol(g, pass_.accumulators[gauge.extremum].type).get()] = stored(gauge.extremum);
  }
  return map.empty() ? e : a_.substitute(e, map);
}

ExprPtr Finisher::value(const Scaled& whole) {
  Scaled s = settled(closed(whole));
  if (s.e.empty() || is_number(s.m, 0)) return opened(s.m);
  ExprPtr e = a_.expression(s.e, s.m->type);
  auto reads = [&](const ExprPtr& where, int g) {
    const Gauge& gauge = pass_.gauges[g];
    return !gauge.constant && contains(where, [&](const ExprPtr& x) { return symbol_index(x, Symbols::kGauge) == g; });
  };
  for (int g = 0; g < static_cast<int>(pass_.gauges.size()); ++g) {
    if (!reads(e, g)) continue;
    uncancelled.insert(g);
    bool bounded = std::any_of(s.e.begin(), s.e.end(), [&](const Monomial& m) {
      return m.coefficient < 0 && m.factors.size() == 1 && m.factors[0]->op == Op::kFinite && reads(m.factors[0], g);
    });
    if (!bounded) surviving.insert(g);
  }
  return opened(times(s.m, a_.exp(e)));
}

// An exponent that no data make infinite: of gauges.
bool Finisher::stays_finite(const Monomial& m) {
  return std::ranges::all_of(m.factors, [&](const ExprPtr& f) {
    auto gauge = symbol_index(f, Symbols::kGauge);
    return f->op == Op::kFinite || (gauge && !exact_.contains(*gauge));
  });
}

// What a guarded m is 0 without; null if it is not guarded.
ExprPtr Finisher::presence(const ExprPtr& m) {
  if (!guarded(m)) return nullptr;
  if (m->op != Op::kSelect) return presence(guarded(m->args[0]) ? m->args[0] : m->args[1]);
  return is_number(m->args[0], 0) ? a_.apply(Op::kNot, {m->args[1]}) : m->args[1];
}

// m with `change` done to it inside of its guard: what is 0 there stays 0.
ExprPtr Finisher::inside(const ExprPtr& m, const std::function<ExprPtr(const ExprPtr&)>& change) {
  if (!guarded(m)) return change(m);
  std::vector<ExprPtr> args = m->args;
  size_t inner = m->op == Op::kSelect ? (is_number(m->args[0], 0) ? 2 : 0) : guarded(args[0]) ? 0 : 1;
  args[inner] = inside(args[inner], change);
  return a_.rebuild(m, args, nullptr);
}

ExprPtr Finisher::times(const ExprPtr& m, const ExprPtr& factor) {
  return inside(m, [&](const ExprPtr& x) { return a_.mul(x, factor); });
}

ExprPtr Finisher::plain(const ExprPtr& e) { return value(scaled(e)); }

Finisher::Scaled Finisher::scaled(const ExprPtr& e) {
  auto known = memo_.find(e.get());
  if (known != memo_.end()) return known->second;
  kept_.push_back(e);
  Scaled s = compute(e);
  return memo_[e.get()] = s;
}

// exp(a + log b + c) is b * exp(a + c).
Finisher::Scaled Finisher::exponential(const ExprPtr& argument) {
  ScalarType type = argument->type;
  Scaled out{a_.number(1, type), {}};
  for (const Monomial& m : a_.poly(plain(argument))) {
    if (m.factors.size() == 1 && m.factors[0]->op == Op::kLog && std::abs(m.coefficient) == 1) {
      const ExprPtr& x = m.factors[0]->args[0];
      out.m = m.coefficient > 0 ? a_.mul(out.m, x) : a_.div(out.m, x);
    } else {
      out.e = a_.sum(out.e, {m});
    }
  }
  return out;
}

// exp of what is known becomes an exponent where numbers of different exponents meet.
void Finisher::open_exponent(Scaled& s) {
  if (!s.e.empty()) return;
  if (s.m->op == Op::kCast && s.m->args[0]->op == Op::kExp && s.m->type == ScalarType::f64) {
    s.e = a_.poly(a_.cast(s.m->type, s.m->args[0]->args[0]));
    s.m = a_.number(1, s.m->type);
    return;
  }
  if (s.m->op == Op::kExp) {
    s.e = a_.poly(s.m->args[0]);
    s.m = a_.number(1, s.m->type);
  } else if (s.m->op == Op::kMul) {
    for (size_t i : {0, 1}) {
      if (s.m->args[i]->op != Op::kExp) continue;
      s.e = a_.poly(s.m->args[i]->args[0]);
      s.m = s.m->args[1 - i];
      return;
    }
  }
}

Finisher::Scaled Finisher::sum(const Scaled& x, Scaled b, bool minus, ScalarType type) {
  Scaled a = x;
  if (is_number(a.m, 0)) return {minus ? a_.neg(b.m) : b.m, b.e, b.present};
  if (is_number(b.m, 0)) return a;
  a = closed(a);
  b = closed(b);
  if (!same(a.e, b.e)) {
    // Where one is 0 by a condition its exponent says nothing, and may be infinite.
    a = guarded(a.m) ? Scaled{value(a), {}} : settled(a);
    b = guarded(b.m) ? Scaled{value(b), {}} : settled(b);
  }
  if (!same(a.e, b.e)) {
    open_exponent(a);
    open_exponent(b);
  }
  if (same(a.e, b.e)) return {sum_of(a_, a.m, b.m, minus), a.e};
  // They join at the larger exponent, made finite as a gauge is: exp(inf - inf) is no number.
  ExprPtr ea = a_.expression(a.e, type), eb = a_.expression(b.e, type);
  ExprPtr top = a_.apply(Op::kFinite, {a_.apply(Op::kMaxOf, {ea, eb})});
  ExprPtr ma = times(a.m, a_.exp(a_.sub(ea, top))), mb = times(b.m, a_.exp(a_.sub(eb, top)));
  return {minus ? a_.sub(ma, mb) : a_.add(ma, mb), a_.poly(top)};
}

// The sum of weights 1 with a constant gauge over the elements of a maximum: it is 0 where the maximum is -inf.
int Finisher::unit_sum(int extremum) {
  const Accumulator& m = pass_.accumulators[extremum];
  if (m.op != Op::kMax || m.key) return -1;
  auto form = [&](const ExprPtr& e, const ExprPtr& guard) {
    std::vector<ExprPtr> guards = conjuncts(guard);
    ExprPtr clean = representer_.strip(e, guards);
    std::sort(guards.begin(), guards.end());
    guards.erase(std::unique(guards.begin(), guards.end()), guards.end());
    return std::pair(a_.normal(clean), guards);
  };
  for (size_t i = 0; i < pass_.accumulators.size(); ++i) {
    const Accumulator& l = pass_.accumulators[i];
    if (l.op == Op::kSum && l.gauge >= 0 && pass_.gauges[l.gauge].constant && l.weights.empty() && l.divisors.empty() &&
        l.differences.empty() && form(l.exponent, l.guard) == form(m.weights[0], nullptr)) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

// The extremum that decides whether a sum is infinite, if there is just one.
ExprPtr Finisher::extremum_in(const ExprPtr& x) {
  if (x->op != Op::kAdd && x->op != Op::kSub) return nullptr;
  ExprPtr found = nullptr;
  for (const Monomial& m : a_.poly(x)) {
    auto raw = m.factors.size() == 1 ? symbol_index(m.factors[0], Symbols::kRaw) : std::nullopt;
    bool extremum = raw && (pass_.accumulators[*raw].op == Op::kMax || pass_.accumulators[*raw].op == Op::kMin);
    if (!extremum) {
      bool inside = false;
      for (const ExprPtr& f : m.factors) {
        inside |= contains(f, [&](const ExprPtr& e) {
          auto r = symbol_index(e, Symbols::kRaw);
          return r && pass_.accumulators[*r].op != Op::kSum;
        });
      }
      if (inside) return nullptr;
      continue;
    }
    if (found || m.coefficient != 1) return nullptr;
    found = m.factors[0];
  }
  return found;
}

ExprPtr Finisher::condition(const ExprPtr& c) {
  if (a_.class_of(c) == 0) return c;
  if (auto raw = symbol_index(c, Symbols::kRaw)) return stored(*raw);
  if (c->op == Op::kEq) {
    // m == -inf, or |m| == inf, of a bounded exponent.
    for (size_t i : {0, 1}) {
      ExprPtr x = c->args[i];
      auto v = number_of(c->args[1 - i]);
      bool absolute = x->op == Op::kAbs;
      if (absolute) x = x->args[0];
      // m + z is -inf where m is: what is no extremum is finite.
      if (v && std::isinf(*v)) {
        ExprPtr only = extremum_in(x);
        if (only && only != x) {
          if (absolute) only = a_.apply(Op::kAbs, {only});
          return condition(a_.apply(Op::kEq, {only, c->args[1 - i]}));
        }
      }
      auto raw = symbol_index(x, Symbols::kRaw);
      if (!v || *v != (absolute ? kInf : -kInf) || !raw) continue;
      int l = unit_sum(*raw);
      if (l >= 0) return a_.apply(Op::kEq, {stored(l), a_.number(0, stored(l)->type)});
    }
  }
  std::vector<ExprPtr> args;
  if (row(*c).family == Family::compare) {
    Scaled a = scaled(c->args[0]), b = scaled(c->args[1]);
    if (is_number(b.m, 0)) {
      args = {a.m, b.m};
    } else if (is_number(a.m, 0)) {
      args = {a.m, b.m};
    } else {
      args = {value(a), value(b)};
    }
  } else {
    for (const ExprPtr& x : c->args) args.push_back(x->type == ScalarType::boolean ? condition(x) : plain(x));
  }
  return a_.rebuild(c, args, c->guard ? condition(c->guard) : nullptr);
}

Finisher::Scaled Finisher::choice(const ExprPtr& e) {
  ExprPtr c = condition(e->args[1]);
  ExprPtr then = e->args[0];
  // Where m == -inf holds, m is -inf.
  const ExprPtr& test = e->args[1];
  if (test->op == Op::kEq) {
    for (size_t i : {0, 1}) {
      ExprPtr x = test->args[i];
      auto v = number_of(test->args[1 - i]);
      if (x->op == Op::kAbs && c->op == Op::kEq && is_number(c->args[1], 0)) x = x->args[0];
      if (!v || !std::isinf(*v) || !symbol_index(x, Symbols::kRaw)) continue;
      then = a_.substitute(then, {{x.get(), a_.number(-kInf, x->type)}});
      if (*v > 0 && x == test->args[i]) then = e->args[0];
    }
  }
  Scaled a = scaled(then), b = scaled(e->args[2]);
  if (representer_.is_unless_nothing(e) && is_sum_at_its_gauge(a)) return {a.m, a.e, c};
  a = closed(a);
  b = closed(b);
  if (c->op == Op::kBoolean) return c->integer != 0 ? a : b;
  if (is_number(a.m, 0)) return {a_.select(c, a_.number(0, e->type), b.m), b.e};
  if (is_number(b.m, 0)) return {a_.select(c, a.m, a_.number(0, e->type)), a.e};
  if (same(a.e, b.e)) return {a_.select(c, a.m, b.m), a.e};
  return {a_.select(c, value(a), value(b)), {}};
}

Finisher::Scaled Finisher::compute(const ExprPtr& e) {
  if (a_.class_of(e) == 0) return {e, {}};
  if (auto raw = symbol_index(e, Symbols::kRaw)) return accumulator(*raw);
  if (e->type == ScalarType::boolean) return {condition(e), {}};
  if (is_real(e)) {
    auto sums = [&](const ExprPtr& x) { return is_sum(x); };
    auto of = [&](size_t i) { return scaled(e->args[i]); };
    auto powered = [&](double q) {
      Scaled s = closed(of(0));
      return Scaled{a_.power(s.m, q), a_.scaled(s.e, q)};
    };
    switch (e->op) {
      case Op::kNeg: {
        Scaled s = of(0);
        return {a_.neg(s.m), s.e, s.present};
      }
      case Op::kMul: {
        Scaled a = of(0), b = of(1);
        a = closed(a);
        b = closed(b);
        return {product_of(a_, a.m, b.m, false, sums), a_.sum(a.e, b.e)};
      }
      case Op::kDiv: {
        Scaled a = of(0), b = of(1);
        a = closed(a);  // over a sum of nothing there is no value anyway
        return {product_of(a_, a.m, b.m, true, sums), a_.sum(a.e, a_.scaled(b.e, -1))};
      }
      case Op::kAdd:
      case Op::kSub: return sum(of(0), of(1), e->op == Op::kSub, e->type);
      case Op::kExp: return exponential(e->args[0]);
      case Op::kExp2: return exponential(a_.mul(e->args[0], a_.number(std::numbers::ln2, e->type)));
      case Op::kLog:
      case Op::kLog2: {
        Scaled s = of(0);
        // Steps of a gauge beside a logarithm would cost its last bits.
        for (const Monomial& m : s.e) {
          for (const ExprPtr& f : m.factors) {
            if (auto g = symbol_index(f, Symbols::kGauge)) uncancelled.insert(*g);
          }
        }
        ExprPtr log = sum_of(a_, a_.expression(s.e, e->type), a_.apply(Op::kLog, {s.m}), false);
        if (e->op == Op::kLog2) log = a_.mul(log, a_.number(std::numbers::log2e, e->type));
        return {log, {}};
      }
      case Op::kSqrt: return powered(0.5);
      case Op::kRsqrt: return powered(-0.5);
      case Op::kPow: {
        auto q = number_of(e->args[1]);
        if (q) return powered(*q);
        break;
      }
      case Op::kAbs: {
        Scaled s = of(0);
        return {a_.apply(Op::kAbs, {s.m}), s.e, s.present};
      }
      case Op::kMaxOf:
      case Op::kMinOf: {
        Scaled a = of(0), b = of(1);
        a = closed(a);
        b = closed(b);
        if (same(a.e, b.e)) return {a_.apply(e->op, {a.m, b.m}), a.e};
        break;
      }
      case Op::kSelect: return choice(e);
      case Op::kSum: {
        Scaled s = closed(of(0));
        AxisSet axes;
        for (const Monomial& m : s.e) {
          for (const ExprPtr& f : m.factors) axes |= f->axes;
        }
        if (!(axes & e->over).empty()) break;
        ExprPtr total = a_.reduce(Op::kSum, e->over, s.m);
        if (std::ranges::all_of(s.e, [&](const Monomial& m) { return stays_finite(m); })) return {total, s.e};
        // Outside, an infinite power would meet a sum of nothing; it may stand there where a condition says that there
        // is something.
        ExprPtr present = presence(s.m);
        if (!present || !(present->axes & e->over).empty()) break;
        return {total, s.e, present};
      }
      default: break;
    }
  }
  std::vector<ExprPtr> args;
  for (const ExprPtr& x : e->args) args.push_back(x->type == ScalarType::boolean ? condition(x) : plain(x));
  return {a_.rebuild(e, args, e->guard ? condition(e->guard) : nullptr), {}};
}

}  // namespace quern::fuse::algebra
