#include "fuse/derive/represent.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace quern::fuse::algebra {

namespace {

constexpr double kWidest = 80;       // of an exponent that needs no running gauge
constexpr double kSmallEnough = 40;  // |h| of one that needs none at all

// A logarithm, or a choice of such.
bool is_small(const ExprPtr& e) {
  if (e->op == Op::kLog || is_number(e, 0)) return true;
  return e->op == Op::kSelect && is_small(e->args[0]) && is_small(e->args[2]);
}

void push_new(std::vector<ExprPtr>& list, const ExprPtr& e) {
  if (std::find(list.begin(), list.end(), e) == list.end()) list.push_back(e);
}

}  // namespace

void Representer::answer(const ExprPtr& reduction, const ExprPtr& finish) {
  answers_[reduction.get()] = finish;
  pass_.answers.push_back({reduction, finish, nullptr});
}

void Representer::restore(const Snapshot& s) {
  pass_ = s.pass;
  answers_ = s.answers;
  accumulators_ = s.accumulators;
  centres_ = s.centres;
  attempts = s.attempts;
}

void Representer::peel(const ExprPtr& f, bool below, Element& out) {
  if (!is_real(f)) {
    (below ? out.divisors : out.weights).push_back(f);
    return;
  }
  auto number = number_of(f);
  if (number && (std::abs(*number) == 1 || !below)) {
    out.sign *= *number;
    return;
  }
  switch (f->op) {
    case Op::kMul: peel(f->args[0], below, out), peel(f->args[1], below, out); return;
    case Op::kDiv: peel(f->args[0], below, out), peel(f->args[1], !below, out); return;
    case Op::kNeg:
      out.sign = -out.sign;
      peel(f->args[0], below, out);
      return;
    case Op::kExp:
    case Op::kExp2: {
      ExprPtr h = f->args[0];
      if (f->op == Op::kExp2) h = a_.mul(h, a_.number(std::numbers::ln2, f->type));
      out.h.push_back(below ? a_.neg(h) : h);
      out.exponentials.push_back(below ? a_.div(a_.number(1, f->type), f) : f);
      return;
    }
    case Op::kSelect:
      if (!below && is_number(f->args[2], 0)) {
        for (const ExprPtr& c : conjuncts(f->args[1])) push_new(out.guards, c);
        peel(f->args[0], below, out);
        return;
      }
      if (!below && is_number(f->args[0], 0)) {
        push_new(out.guards, a_.negation(f->args[1]));
        peel(f->args[2], below, out);
        return;
      }
      break;
    default: break;
  }
  (below ? out.divisors : out.weights).push_back(f);
}

ExprPtr Representer::strip(const ExprPtr& h, std::vector<ExprPtr>& guards) {
  auto changed = [&](size_t i, const ExprPtr& x) {
    if (x == h->args[i]) return h;
    std::vector<ExprPtr> args = h->args;
    args[i] = x;
    return a_.rebuild(h, args, h->guard);
  };
  switch (h->op) {
    case Op::kSelect:
      if (is_minus_infinity(h->args[2])) {
        for (const ExprPtr& c : conjuncts(h->args[1])) push_new(guards, c);
        return strip(h->args[0], guards);
      }
      if (is_minus_infinity(h->args[0])) {
        push_new(guards, a_.negation(h->args[1]));
        return strip(h->args[2], guards);
      }
      return h;
    case Op::kAdd: {
      ExprPtr a = strip(h->args[0], guards), b = strip(h->args[1], guards);
      return a == h->args[0] && b == h->args[1] ? h : a_.rebuild(h, {a, b}, nullptr);
    }
    case Op::kSub: return changed(0, strip(h->args[0], guards));
    case Op::kMul:
      for (size_t i : {0, 1}) {
        const ExprPtr& factor = h->args[1 - i];
        Interval range = intervals_(factor);
        if (a_.class_of(factor) == 0 && range.lo > 0) return changed(i, strip(h->args[i], guards));
      }
      return h;
    case Op::kDiv:
      if (a_.class_of(h->args[1]) == 0 && intervals_(h->args[1]).lo > 0) return changed(0, strip(h->args[0], guards));
      return h;
    case Op::kCast:
      return is_real(h->args[0]) && h->type == ScalarType::f64 ? changed(0, strip(h->args[0], guards)) : h;
    default: return h;
  }
}

ExprPtr Representer::conjunction(const std::vector<ExprPtr>& guards) {
  ExprPtr out = nullptr;
  for (const ExprPtr& g : guards) out = a_.both(out, g);
  return out;
}

Representer::Exponent Representer::exponent(const Element& e, bool lost) {
  Exponent out;
  ScalarType type = e.h[0]->type;
  out.written = separator_.added(e.h, type);
  out.clean = strip(out.written, out.mask);
  Interval range = intervals_(out.clean, true);
  Gauge gauge;
  if (range.hi - range.lo <= kWidest) {
    gauge.constant = true;
    gauge.value = std::max(std::abs(range.lo), std::abs(range.hi)) <= kSmallEnough ? 0 : range.hi;
  } else {
    // An extremum of the source that the exponent is a multiple of.
    auto varying = [&](const Poly& p) {
      Poly v;
      for (const Monomial& m : p) {
        bool is = false;
        for (const ExprPtr& f : m.factors) is |= (a_.class_of(f) & kElement) != 0;
        if (is) v.push_back(m);
      }
      return v;
    };
    Poly h = a_.poly(out.clean), hv = varying(h);
    std::vector<ExprPtr> all = e.guards;
    for (const ExprPtr& g : out.mask) push_new(all, g);
    for (size_t i = 0; i < pass_.accumulators.size() && gauge.extremum < 0; ++i) {
      const Accumulator& m = pass_.accumulators[i];
      if ((m.op != Op::kMax && m.op != Op::kMin) || m.key || m.type != type) continue;
      std::vector<ExprPtr> mask;
      Poly p = a_.poly(strip(m.weights[0], mask)), pv = varying(p);
      if (pv.size() != hv.size() || pv.empty()) continue;
      double k = hv[0].coefficient / pv[0].coefficient;
      if ((m.op == Op::kMax) != (k > 0)) continue;
      bool fits = true;
      for (size_t j = 0; j < pv.size(); ++j) {
        fits = fits && pv[j].factors == hv[j].factors && pv[j].coefficient * k == hv[j].coefficient;
      }
      for (const ExprPtr& g : mask) fits = fits && std::find(all.begin(), all.end(), g) != all.end();
      if (!fits) continue;
      gauge.extremum = static_cast<int>(i);
      out.k = k;
      Poly rest = a_.sum(h, a_.scaled(p, -k));
      if (!rest.empty()) out.rest = a_.expression(rest, type);
      out.written = m.weights[0];
      out.mask = mask;
    }
    // An extremum of an earlier pass that the source takes off already: h never exceeds 0.
    for (const ExprPtr& r : a_.results) {
      if (lost || (r->op != Op::kMax && r->op != Op::kMin)) continue;
      std::vector<ExprPtr> mask;
      Poly own = a_.poly(strip(r->args[0], mask)), pv = varying(own);
      if (pv.size() != hv.size() || pv.empty()) continue;
      double k = hv[0].coefficient / pv[0].coefficient;
      Poly rest = varying(a_.sum(h, a_.scaled(own, -k)));
      bool off = std::any_of(h.begin(), h.end(), [&](const Monomial& m) {
        return m.coefficient == -k && m.factors == std::vector<ExprPtr>{r};
      });
      if (rest.empty() && off && (r->op == Op::kMax) == (k > 0) && gauge.extremum < 0) return out;
    }
    if (gauge.extremum < 0) {
      const Expr* form = a_.normal(out.clean).get();
      if (!lost && plain_.count(form) != 0) return out;
      ExprPtr masked = out.clean, guard = conjunction(all);
      if (guard) masked = a_.select(guard, masked, a_.number(-std::numeric_limits<double>::infinity(), type));
      gauge.extremum = *symbol_index(plain(Op::kMax, masked), Symbols::kRaw);
      gauge.invented = true;
      out.written = masked;
      out.mask = all;
      for (size_t i = 0; i < pass_.gauges.size(); ++i) {
        if (pass_.gauges[i].extremum == gauge.extremum) out.gauge = static_cast<int>(i);
      }
      if (out.gauge < 0) {
        out.gauge = static_cast<int>(pass_.gauges.size());
        pass_.gauges.push_back(gauge);
        if (!lost) attempts[out.gauge] = form;
      }
      return out;
    }
  }
  for (size_t i = 0; i < pass_.gauges.size(); ++i) {
    const Gauge& g = pass_.gauges[i];
    if (g.constant == gauge.constant && g.value == gauge.value && g.extremum == gauge.extremum) {
      out.gauge = static_cast<int>(i);
      return out;
    }
  }
  out.gauge = static_cast<int>(pass_.gauges.size());
  pass_.gauges.push_back(gauge);
  return out;
}

// `h > -inf` beside exp(h) says nothing: such an element has weight 0, and weight 0 annihilates.
void Representer::drop_implied(std::vector<ExprPtr>& guards, const Exponent& h) {
  if (!rules.drop_guards) return;
  Poly all = a_.poly(h.clean);
  std::vector<ExprPtr> kept;
  for (const ExprPtr& g : guards) {
    bool test = (g->op == Op::kGt || g->op == Op::kNe) && is_minus_infinity(g->args[1]);
    std::vector<ExprPtr> mask;
    if (test) {
      for (const Monomial& m : a_.poly(strip(g->args[0], mask))) {
        test = test && std::any_of(all.begin(), all.end(), [&](const Monomial& x) {
                 return x.factors == m.factors && x.coefficient * m.coefficient > 0;
               });
      }
    }
    if (!test) {
      push_new(kept, g);
    } else {
      for (const ExprPtr& c : mask) push_new(kept, c);
    }
  }
  guards = kept;
}

// A sum over a number of elements that is known before the pass runs, as a mean of those that were seen so far: in the
// middle of the pass the sum over all of them says nothing of where the elements are. Null if it is no such sum.
ExprPtr Representer::running_mean(const Monomial& m, ScalarType type) {
  if (!rules.running_count || m.factors.size() != 2) return nullptr;
  for (size_t i : {0, 1}) {
    const ExprPtr &over = m.factors[i], &sum = m.factors[1 - i];
    bool divides = over->op == Op::kDiv && is_number(over->args[0], 1) && over->args[1]->op == Op::kCast;
    auto index = symbol_index(sum, Symbols::kRaw);
    if (!divides || !index) continue;
    const Accumulator& acc = pass_.accumulators[*index];
    if (acc.op != Op::kSum || acc.key || acc.exponent) continue;
    const ExprPtr& number = over->args[1];
    if (a_.class_of(number) != 0 || kind(number->args[0]->type) != Kind::kInt) continue;
    Accumulator seen;
    seen.type = ScalarType::i64, seen.guard = acc.guard;
    ExprPtr count = raw(find_or_make(std::move(seen)));
    return a_.div(a_.expression({{m.coefficient, {sum}}}, type), a_.cast(type, count));
  }
  return nullptr;
}

// A centre as an expression. The divisor in it must be the *running* count: a part of 1 / N is 1 / count.
Representer::About Representer::about(const Poly& moving, ScalarType type) {
  double extent = 1;
  for (AxisId x : a_.n.list()) extent *= intervals_.extent(x).value_or(0);
  About out{a_.number(0, type), a_.number(0, type)};
  bool runs = false;
  for (Monomial m : moving) {
    double whole = m.coefficient * extent;
    bool share = rules.running_count && extent >= 2 && std::abs(m.coefficient) < 1 &&
                 std::abs(whole - std::round(whole)) < 1e-9 * std::abs(whole);
    if (share) m.coefficient = std::round(whole);
    ExprPtr e = a_.expression({m}, type);
    if (share) e = a_.div(e, a_.cast(type, count()));
    ExprPtr mean = share ? nullptr : running_mean(m, type);
    runs |= mean != nullptr;
    out.rho = a_.add(out.rho, e);
    out.running = a_.add(out.running, mean ? mean : e);
  }
  if (!runs) out.running = nullptr;
  return out;
}

// Where c holds 1 / max|y|^k and the element y^k, k >= 2, the source protects its squares: they stay together.
ExprPtr Representer::take_amplitude(ExprPtr c, Accumulator& acc) {
  std::vector<std::pair<ExprPtr, bool>> factors;
  std::function<void(const ExprPtr&, bool)> collect = [&](const ExprPtr& e, bool below) {
    if (e->op == Op::kMul || e->op == Op::kDiv) {
      collect(e->args[0], below), collect(e->args[1], below != (e->op == Op::kDiv));
    } else {
      factors.emplace_back(e, below);
    }
  };
  collect(c, false);
  for (size_t i = 0; i < pass_.accumulators.size(); ++i) {
    const Accumulator& m = pass_.accumulators[i];
    if (m.op != Op::kMax || m.key || m.weights[0]->op != Op::kAbs) continue;
    std::pair<ExprPtr, bool> divisor(raw(static_cast<int>(i)), true);
    ExprPtr y = m.weights[0]->args[0];
    auto k = std::min(std::count(factors.begin(), factors.end(), divisor),
                      std::count(acc.weights.begin(), acc.weights.end(), y));
    if (k < 2) continue;
    acc.amplitude = static_cast<int>(i);
    acc.amplitude_power = static_cast<int>(k);
    acc.amplitude_of = y;
    for (int j = 0; j < k; ++j) {
      factors.erase(std::find(factors.begin(), factors.end(), divisor));
      acc.weights.erase(std::find(acc.weights.begin(), acc.weights.end(), y));
    }
    c = a_.number(1, acc.type);
    for (const auto& [e, below] : factors) c = below ? a_.div(c, e) : a_.mul(c, e);
    return c;
  }
  return c;
}

int Representer::centre(const std::vector<ExprPtr>& y, const About& about) {
  ScalarType type = y[0]->type;
  std::string id = fmt::format("{} {}", a_.age(a_.normal(separator_.added(y, type))), a_.age(a_.normal(about.rho)));
  auto [at, fresh] = centres_.emplace(id, static_cast<int>(pass_.centres.size()));
  if (fresh) pass_.centres.push_back({y, about.rho, about.running, nullptr});
  return at->second;
}

ExprPtr Representer::raw(int index) {
  const Accumulator& acc = pass_.accumulators[index];
  return a_.symbol(Symbols::kRaw, index, acc.type, acc.axes);
}

std::string Representer::key(const Accumulator& acc) {
  std::string out = fmt::format("{} {}", static_cast<int>(acc.op), static_cast<int>(acc.type));
  std::vector<ExprPtr> guards = conjuncts(acc.guard);
  if (acc.exponent) {
    std::vector<ExprPtr> mask;
    ExprPtr clean = strip(acc.exponent, mask);
    for (const ExprPtr& g : mask) push_new(guards, g);
    out += fmt::format(" h{} k{} g{}", a_.age(a_.normal(clean)), acc.k, acc.gauge);
  }
  std::vector<uint32_t> ages;
  for (const ExprPtr& g : guards) ages.push_back(a_.age(g));
  std::sort(ages.begin(), ages.end());
  for (uint32_t g : ages) out += fmt::format(" c{}", g);
  if (acc.op == Op::kSum && (acc.type == ScalarType::f32 || acc.type == ScalarType::f64)) {
    ExprPtr w = a_.number(1, acc.type);
    for (const ExprPtr& f : acc.weights) w = a_.mul(w, f);
    for (const ExprPtr& f : acc.divisors) w = a_.div(w, f);
    out += fmt::format(" w{}", a_.age(a_.normal(w)));
  } else {
    for (const ExprPtr& f : acc.weights) out += fmt::format(" w{}", a_.age(f));
  }
  if (acc.amplitude >= 0) out += fmt::format(" a{}^{}", acc.amplitude, acc.amplitude_power);
  std::vector<std::pair<int, int>> differences;
  for (const Difference& d : acc.differences) differences.emplace_back(d.centre, d.power);
  std::sort(differences.begin(), differences.end());
  for (auto [c, p] : differences) out += fmt::format(" d{}^{}", c, p);
  if (acc.key) out += fmt::format(" s{} {} {}", a_.age(acc.key), a_.age(acc.selected), acc.unordered);
  return out;
}

int Representer::find_or_make(Accumulator acc) {
  auto [at, fresh] = accumulators_.emplace(key(acc), static_cast<int>(pass_.accumulators.size()));
  if (!fresh) return at->second;
  auto join = [&](const ExprPtr& e) {
    if (e) acc.axes |= e->axes;
  };
  for (const auto* list : {&acc.weights, &acc.divisors}) {
    for (const ExprPtr& e : *list) join(e);
  }
  join(acc.amplitude_of), join(acc.guard), join(acc.exponent), join(acc.key), join(acc.selected);
  for (const Difference& d : acc.differences) {
    for (const ExprPtr& e : pass_.centres[d.centre].y) join(e);
    join(pass_.centres[d.centre].rho);
  }
  acc.axes = acc.axes - a_.n;
  pass_.accumulators.push_back(std::move(acc));
  return at->second;
}

// The accumulator, and those of all lower powers, which its transport reads.
ExprPtr Representer::family(Accumulator acc) {
  for (size_t i = 0; i < acc.differences.size(); ++i) {
    Accumulator lower = acc;
    if (--lower.differences[i].power == 0) lower.differences.erase(lower.differences.begin() + static_cast<long>(i));
    family(lower);
  }
  bool counts = acc.op == Op::kSum && acc.weights.empty() && acc.divisors.empty() && !acc.exponent &&
                acc.differences.empty() && !acc.key && acc.amplitude < 0;
  if (counts) acc.type = ScalarType::i64;
  return raw(find_or_make(std::move(acc)));
}

ExprPtr Representer::plain(Op op, const ExprPtr& element, const Selection* selection) {
  Accumulator acc;
  acc.op = op;
  acc.type = element->type;
  acc.weights = {element};
  if (selection) acc.key = selection->key, acc.selected = selection->selected, acc.unordered = selection->unordered;
  return raw(find_or_make(std::move(acc)));
}

bool Representer::selects(int raw, const ExprPtr& key) const {
  const Accumulator& acc = pass_.accumulators[raw];
  if (key->op != Op::kAxis || !acc.key || acc.weights.size() != 1) return false;
  const ExprPtr& w = acc.weights[0];
  return w == key || (w->op == Op::kSelect && w->args[0] == key);
}

ExprPtr Representer::count() {
  Accumulator acc;
  acc.type = ScalarType::i64;
  return raw(find_or_make(std::move(acc)));
}

ExprPtr Representer::some(const std::vector<ExprPtr>& guards) {
  if (!guards.empty()) return plain(Op::kAny, conjunction(guards));
  bool always = std::ranges::all_of(a_.n.list(), [&](AxisId x) { return intervals_.extent(x).value_or(0) >= 1; });
  return always ? nullptr : a_.apply(Op::kGt, {count(), a_.take(tile::integer(0))});
}

// An extremum over no more than these elements is taken not to be that of nothing.
bool Representer::assumed_some(const std::vector<ExprPtr>& guards) {
  for (const auto& [c, holds] : assumed) {
    if (c->op != Op::kEq || holds->integer != 0) continue;
    for (size_t i : {0, 1}) {
      const ExprPtr& x = c->args[i]->op == Op::kAbs ? c->args[i]->args[0] : c->args[i];
      auto value = number_of(c->args[1 - i]);
      auto raw = symbol_index(x, Symbols::kRaw);
      if (!raw || !value) continue;
      const Accumulator& m = pass_.accumulators[*raw];
      bool nothing = m.op == Op::kMax ? *value == -INFINITY : m.op == Op::kMin && *value == INFINITY;
      if (c->args[i]->op == Op::kAbs) nothing = *value == INFINITY && (m.op == Op::kMax || m.op == Op::kMin);
      if (!nothing || m.key) continue;
      std::vector<ExprPtr> mask;
      ExprPtr own = a_.normal(strip(m.weights[0], mask));
      // Where its key is more than -inf there is one too.
      auto has = [&](const ExprPtr& g) {
        if (std::ranges::find(mask, g) != mask.end()) return true;
        std::vector<ExprPtr> inner;
        bool test = (g->op == Op::kGt || g->op == Op::kNe) && is_minus_infinity(g->args[1]) && m.op == Op::kMax;
        return test && a_.normal(strip(g->args[0], inner)) == own &&
               std::ranges::all_of(inner, [&](const ExprPtr& x) { return std::ranges::find(mask, x) != mask.end(); });
      };
      if (std::ranges::all_of(guards, has)) return true;
    }
  }
  return false;
}

Tried<ExprPtr> Representer::value(const Term& t, const ExprPtr& reduction, const Selection* selection) {
  ScalarType type = reduction->type;
  ExprPtr c = resolve(t.c);
  if (is_number(c, 0)) return c;
  Element e;
  e.guards = t.guards;
  for (const ExprPtr& f : t.u) peel(f, false, e);
  for (const ExprPtr& f : t.divisors) peel(f, true, e);
  e.h.insert(e.h.end(), t.h.begin(), t.h.end());
  c = a_.mul(a_.number(e.sign, type), c);
  const std::vector<ExprPtr> guards = e.guards;

  Accumulator base;
  base.type = type;
  base.weights = e.weights;
  base.divisors = e.divisors;
  if (selection) {
    if (!t.h.empty()) return std::unexpected(NoSplit{reduction, "an exponent inside a selection"});
    base.weights.insert(base.weights.end(), e.exponentials.begin(), e.exponentials.end());
    base.key = selection->key, base.selected = selection->selected, base.unordered = selection->unordered;
  } else if (!e.h.empty()) {
    Exponent h = exponent(e, t.lost);
    if (h.gauge >= 0) {
      drop_implied(e.guards, h);
      base.exponent = h.written;
      base.k = h.k;
      base.gauge = h.gauge;
      for (const ExprPtr& g : h.mask) std::erase(e.guards, g);
      base.masked = !h.mask.empty() || !e.guards.empty();
      if (h.rest) c = a_.mul(c, a_.exp(h.rest));
      for (const Monomial& m : a_.poly(h.clean)) {
        for (const ExprPtr& f : m.factors) {
          if ((a_.class_of(f) & kElement) == 0) continue;
          auto reads = [&](const ExprPtr& w) { return contains(w, [&](const ExprPtr& x) { return x == f; }); };
          for (const auto* list : {&e.weights, &e.divisors}) {
            base.careful |= std::any_of(list->begin(), list->end(), reads);
          }
          for (const Power& p : t.d) base.careful |= std::any_of(p.of.y.begin(), p.of.y.end(), reads);
        }
      }
    } else {
      base.weights.insert(base.weights.end(), e.exponentials.begin(), e.exponentials.end());
    }
  }
  base.guard = conjunction(e.guards);
  if (!selection && t.d.empty()) c = take_amplitude(c, base);

  // Differences: about a centre, or, without one, expanded into the element.
  struct Choice {
    ExprPtr factor;
    std::vector<ExprPtr> weights;
    Difference difference;
  };
  std::vector<std::vector<Choice>> choices;
  for (const Power& p : t.d) {
    Poly moving, rest;
    for (const Monomial& m : a_.poly(resolve(separator_.added(p.of.z, type)))) {
      bool slow =
          std::all_of(m.factors.begin(), m.factors.end(), [&](const ExprPtr& f) { return a_.class_of(f) == 0; });
      bool small = m.factors.size() == 1 && is_small(m.factors[0]);
      (slow || small ? rest : moving).push_back(m);
    }
    About centred = moving.empty() ? About() : about(moving, type);
    ExprPtr zr = a_.expression(rest, type);
    std::vector<Choice> list;
    for (int j = p.power; j >= 0; --j) {
      Choice x;
      x.factor = a_.mul(a_.number(choose(p.power, j), type), a_.power(zr, p.power - j));
      if (is_number(x.factor, 0) && !selection) continue;
      if (moving.empty() || selection) {
        if (!moving.empty()) {
          x.factor = a_.mul(a_.number(choose(p.power, j), type),
                            a_.power(resolve(separator_.added(p.of.z, type)), p.power - j));
        }
        for (int i = 0; i < j; ++i) x.weights.push_back(separator_.added(p.of.y, type));
      } else if (j > 0) {
        x.difference = {centre(p.of.y, centred), j};
      }
      list.push_back(std::move(x));
    }
    choices.push_back(std::move(list));
  }
  // A sum over nothing is 0, whatever it is multiplied with.
  auto finite = number_of(c);
  bool safe = (finite && std::isfinite(*finite) && t.d.empty()) || assumed_some(guards);
  ExprPtr present = safe ? nullptr : some(guards);
  ExprPtr total = a_.number(0, type);
  std::function<void(size_t, ExprPtr, Accumulator)> expand = [&](size_t at, ExprPtr factor, Accumulator acc) {
    if (at < choices.size()) {
      for (const Choice& x : choices[at]) {
        Accumulator next = acc;
        next.weights.insert(next.weights.end(), x.weights.begin(), x.weights.end());
        if (x.difference.centre >= 0) next.differences.push_back(x.difference);
        expand(at + 1, a_.mul(factor, x.factor), std::move(next));
      }
      return;
    }
    ExprPtr sum = family(std::move(acc));
    ExprPtr product = a_.mul(factor, a_.cast(type, sum));
    if (present) {
      product = a_.select(present, product, a_.number(0, type));
      unless_nothing_.insert(product.get());
    }
    if (!t.extra.empty()) product = a_.reduce(Op::kSum, t.extra, product);
    total = a_.add(total, product);
  };
  expand(0, c, base);
  return total;
}

bool is_lower(const Accumulator& low, const Accumulator& high) {
  bool same = low.op == high.op && low.weights == high.weights && low.divisors == high.divisors &&
              low.guard == high.guard && low.exponent == high.exponent && low.k == high.k && low.gauge == high.gauge &&
              low.key == high.key;
  if (!same) return false;
  for (const Difference& d : low.differences) {
    auto at = std::find_if(high.differences.begin(), high.differences.end(),
                           [&](const Difference& x) { return x.centre == d.centre; });
    if (at == high.differences.end() || at->power < d.power) return false;
  }
  return true;
}

}  // namespace quern::fuse::algebra
