// Entering ranges and guards, and the search for a proof.
#include "expr/prove/scope.h"

#include <algorithm>
#include <numeric>

namespace quern::expr {

void ProofScope::restore(const Mark& m) {
  facts_.resize(m.facts);
  guards_ = m.guards;
  empty_ = m.empty;
  while (indices_.size() > m.indices) {
    const Index& i = indices_.back();
    if (i.before >= 0) {
      current_[i.id] = i.before;
    } else {
      current_.erase(i.id);
    }
    indices_.pop_back();
  }
}

void ProofScope::learn(Linear fact, bool valid) {
  if (valid && fact.valid) facts_.push_back(std::move(fact));
}

void ProofScope::enter(const Binder& b) {
  Linear lo = b.lo ? linear(b.lo) : Linear::number(0);
  Linear hi = linear(b.hi);
  auto atom = static_cast<Atom>(atoms_.size());
  AtomInfo info;
  info.index = b.id;
  info.name = b.name;
  info.interval.lo = interval(lo).lo;
  if (auto end = interval(hi).hi; end && *end > INT64_MIN) info.interval.hi = *end - 1;
  auto first = reach(lo), last = reach(hi);
  if (first) info.least = first->first;
  if (last && last->second > INT64_MIN) info.most = last->second - 1;
  info.data = is_data(lo) || is_data(hi);
  if (info.interval.lo && info.interval.hi && *info.interval.lo > *info.interval.hi) ++empty_;
  atoms_.push_back(std::move(info));
  auto outer = current_.find(b.id);
  indices_.push_back({b.id, outer == current_.end() ? -1 : outer->second, atom, lo, hi});
  current_[b.id] = atom;
  Linear n = Linear::atom(atom);
  learn(add(n, lo, -1), first.has_value());                             // n - lo >= 0
  learn(add(add(hi, Linear::number(1), -1), n, -1), last.has_value());  // hi - 1 - n >= 0
}

void ProofScope::assume(const NodePtr& c, bool holds) {
  ++guards_;
  auto fact = [&](const NodePtr& large, const NodePtr& small, int64_t gap) {  // large - small - gap >= 0
    Linear a = linear(large), b = linear(small);
    learn(add(add(a, b, -1), Linear::number(gap), -1), fits(a) && fits(b));
  };
  switch (c->op) {
    case Op::kNot: return assume(c->args[0], !holds);
    case Op::kAnd:
    case Op::kOr:
      // A conjunction that holds, or a disjunction that doesn't, says both; the other two say neither.
      if ((c->op == Op::kAnd) == holds) {
        assume(c->args[0], holds);
        assume(c->args[1], holds);
      }
      return;
    default: break;
  }
  if (row(*c).family != Family::compare) return;
  const NodePtr &a = c->args[0], &b = c->args[1];
  if (a->kind != Kind::kInt || b->kind != Kind::kInt) return;
  switch (c->op) {
    case Op::kLt: return holds ? fact(b, a, 1) : fact(a, b, 0);
    case Op::kLe: return holds ? fact(b, a, 0) : fact(a, b, 1);
    case Op::kGt: return holds ? fact(a, b, 1) : fact(b, a, 0);
    case Op::kGe: return holds ? fact(a, b, 0) : fact(b, a, 1);
    case Op::kEq:
    case Op::kNe:
      if ((c->op == Op::kEq) == holds) {
        fact(a, b, 0);
        fact(b, a, 0);
      } else {
        // What is not negative and not zero is at least one.
        Interval apart = interval(add(linear(a), linear(b), -1));
        if (apart.lo == 0) fact(a, b, 1);
        if (apart.hi == 0) fact(b, a, 1);
      }
      return;
    default: return;
  }
}

Interval ProofScope::interval(const Linear& form) const {
  if (!fits(form)) return {};
  Interval out{form.constant, form.constant};
  for (const auto& [atom, c] : form.terms) out = add(out, scale(atoms_[atom].interval, c));
  return out;
}

std::optional<std::pair<int64_t, int64_t>> ProofScope::reach(const Linear& form) const {
  if (!form.valid) return std::nullopt;
  int64_t lo = form.constant, hi = form.constant, a, b;
  for (const auto& [atom, c] : form.terms) {
    const AtomInfo& info = atoms_[static_cast<size_t>(atom)];
    if (__builtin_mul_overflow(c, c > 0 ? info.least : info.most, &a) || __builtin_add_overflow(lo, a, &lo) ||
        __builtin_mul_overflow(c, c > 0 ? info.most : info.least, &b) || __builtin_add_overflow(hi, b, &hi)) {
      return std::nullopt;
    }
  }
  return std::pair(lo, hi);
}

bool ProofScope::is_data(const Linear& form) const {
  return std::ranges::any_of(form.terms, [&](const auto& t) { return atoms_[t.first].data; });
}

bool ProofScope::prove(const Linear& goal) {
  constexpr int kFacts = 3;
  constexpr int kSteps = 20000;  // far beyond what real kernels need; keeps hostile ones in bounds
  if (unreachable()) return true;
  steps_ = kSteps;
  return goal.valid && search(goal, kFacts);
}

// goal >= 0 holds if its interval says so, if goal less a known fact is >= 0, or, where a quotient stands once, if the
// same holds of its numerator: A - e // c >= 0 is c A + c - 1 - e >= 0, and e // c - A >= 0 is e - c A >= 0.
bool ProofScope::search(const Linear& goal, int depth) {
  if (!goal.valid || --steps_ < 0) return false;
  auto low = interval(goal).lo;
  if (low && *low >= 0) return true;
  for (const auto& [atom, c] : goal.terms) {
    if (!atoms_[static_cast<size_t>(atom)].alternatives.empty() && search_alternatives(goal, atom, depth)) return true;
  }
  const AtomInfo* quotient = nullptr;
  Atom which = -1;
  int count = 0;
  for (const auto& [atom, c] : goal.terms) {
    if (atoms_[atom].numerator && (c == 1 || c == -1)) {
      quotient = &atoms_[atom];
      which = atom;
      ++count;
    }
  }
  if (count == 1) {
    int64_t sign = goal.terms.at(which);
    Linear rest = goal;
    rest.terms.erase(which);
    Linear next = scale(rest, quotient->divisor);
    if (sign < 0) next = add(next, Linear::number(quotient->divisor - 1));
    next = add(next, *quotient->numerator, sign);
    if (search(next, depth)) return true;
  }
  if (depth == 0) return false;
  // Only a fact that takes away one of the goal's own terms can help.
  std::vector<Linear> facts;
  gather(goal, facts);
  for (const Linear& fact : facts) {
    if (search(add(goal, fact, -1), depth - 1)) return true;
  }
  return false;
}

// The goal holds if it holds whichever of its alternatives an atom is.
bool ProofScope::search_alternatives(const Linear& goal, Atom atom, int depth) {
  Linear rest = goal;
  int64_t c = rest.terms.extract(atom).mapped();
  for (const AtomInfo::Alternative& one : atoms_[static_cast<size_t>(atom)].alternatives) {
    size_t known = facts_.size();
    facts_.insert(facts_.end(), one.facts.begin(), one.facts.end());
    bool holds = search(add(rest, one.value, c), depth);
    facts_.resize(known);
    if (!holds) return false;
  }
  return true;
}

void ProofScope::gather(const Linear& goal, std::vector<Linear>& facts) const {
  auto helps = [&](const Linear& fact) {
    if (!fact.valid) return false;
    return std::ranges::any_of(fact.terms, [&](const auto& t) {
      auto it = goal.terms.find(t.first);
      return it != goal.terms.end() && (it->second < 0) == (t.second < 0);
    });
  };
  for (const Linear& fact : facts_) {
    if (helps(fact)) facts.push_back(fact);
  }
  for (const auto& [atom, c] : goal.terms) {
    for (const Linear& fact : atoms_[atom].facts) {
      if (helps(fact)) facts.push_back(fact);
    }
  }
}

// The one value that the facts leave an atom.
std::optional<int64_t> ProofScope::pinned(Atom atom) const {
  Interval range = atoms_[static_cast<size_t>(atom)].interval;
  for (const Linear& fact : facts_) {
    if (!fact.valid || fact.terms.size() != 1 || fact.terms.begin()->first != atom) continue;
    int64_t c = fact.terms.begin()->second;
    if (c == 1) range = intersect(range, {-fact.constant, std::nullopt});
    if (c == -1) range = intersect(range, {std::nullopt, fact.constant});
  }
  return range.lo && range.lo == range.hi ? range.lo : std::nullopt;
}

bool ProofScope::never_zero(const Linear& form) {
  if (prove(add(form, Linear::number(1), -1)) || prove(add(Linear::number(-1), form, -1))) return true;
  // Where e % c is known to be v, e is v + c q: one of its terms is written by the others and a whole number q.
  Linear rest = form;
  for (size_t r = 0; r < atoms_.size(); ++r) {
    if (!atoms_[r].dividend) continue;
    const Linear e = *atoms_[r].dividend;
    int64_t c = atoms_[r].divisor;
    auto v = pinned(static_cast<Atom>(r));
    if (!v) continue;
    for (const auto& [atom, k] : e.terms) {
      auto known = rest.terms.find(atom);
      if ((k != 1 && k != -1) || known == rest.terms.end()) continue;
      Linear cycle = Linear::atom(opaque("cycle " + std::to_string(r), {}, false));
      Linear zero = add(add(e, Linear::number(*v), -1), cycle, -c);
      rest = add(rest, zero, -known->second * k);
      break;
    }
  }
  int64_t divisor = 0;
  for (const auto& [atom, k] : rest.terms) divisor = std::gcd(divisor, k);
  return rest.valid && divisor > 1 && rest.constant % divisor != 0;
}

std::optional<int64_t> ProofScope::value_at(const Linear& form, const Witness& at) const {
  if (!form.valid) return std::nullopt;
  int64_t value = form.constant, term;
  for (const auto& [atom, c] : form.terms) {
    const AtomInfo& info = atoms_[static_cast<size_t>(atom)];
    std::optional<int64_t> v;
    if (auto known = at.find(atom); known != at.end()) {
      v = known->second;
    } else if (info.numerator) {
      v = value_at(*info.numerator, at);
      if (v) v = floor_divide(*v, info.divisor);
    }
    if (!v || __builtin_mul_overflow(c, *v, &term) || __builtin_add_overflow(value, term, &value)) return std::nullopt;
  }
  return value;
}

// Is there a value for each index from `index` on, inner ones last, so that all ranges hold? Both ends are tried.
bool ProofScope::complete(Witness& at, size_t index, int& tries) const {
  if (index == indices_.size()) return true;
  if (--tries < 0) return false;
  const Index& i = indices_[index];
  auto lo = value_at(i.lo, at), hi = value_at(i.hi, at);
  if (!lo || !hi || *lo >= *hi) return false;
  if (auto fixed = at.find(i.atom); fixed != at.end()) {
    return fixed->second >= *lo && fixed->second < *hi && complete(at, index + 1, tries);
  }
  for (int64_t value : {*lo, *hi - 1}) {
    at[i.atom] = value;
    if (complete(at, index + 1, tries)) return true;
  }
  at.erase(i.atom);
  return false;
}

std::optional<ProofScope::Witness> ProofScope::witness(const Linear& goal) {
  if (guarded() || unreachable() || !goal.valid) return std::nullopt;
  Witness at;
  for (const auto& [atom, c] : goal.terms) {
    const AtomInfo& a = atoms_[static_cast<size_t>(atom)];
    auto end = c > 0 ? a.interval.lo : a.interval.hi;
    if (a.index == kNoIndex || !end) return std::nullopt;
    at[atom] = *end;
  }
  auto value = value_at(goal, at);
  int tries = 256;
  if (!value || *value >= 0 || !complete(at, 0, tries)) return std::nullopt;
  // The nearest place that is outside reads better than the farthest corner: each index steps back while it may.
  for (const auto& [atom, c] : goal.terms) {
    int64_t size = c < 0 ? -c : c, moved;
    int64_t steps = (-1 - *value) / size;
    Witness nearer;
    for (const auto& [other, unused] : goal.terms) nearer[other] = at[other];
    if (steps <= 0 || __builtin_add_overflow(nearer[atom], c > 0 ? steps : -steps, &moved)) continue;
    nearer[atom] = moved;
    tries = 256;
    if (!complete(nearer, 0, tries)) continue;
    at = std::move(nearer);
    *value += steps * size;
  }
  return at;
}

}  // namespace quern::expr
