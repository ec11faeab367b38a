// Entering ranges and guards, and the search for a proof.
#include "expr/prove/scope.h"

#include <algorithm>

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

void ProofScope::enter(const Binder& b) {
  Linear lo = b.lo ? linear(b.lo) : Linear::number(0);
  Linear hi = linear(b.hi);
  auto atom = static_cast<Atom>(atoms_.size());
  AtomInfo info;
  info.index = b.id;
  info.name = b.name;
  info.interval.lo = interval(lo).lo;
  if (auto end = interval(hi).hi; end && *end > INT64_MIN) info.interval.hi = *end - 1;
  info.data = is_data(lo) || is_data(hi);
  if (info.interval.lo && info.interval.hi && *info.interval.lo > *info.interval.hi) ++empty_;
  atoms_.push_back(std::move(info));
  auto outer = current_.find(b.id);
  indices_.push_back({b.id, outer == current_.end() ? -1 : outer->second, atom});
  current_[b.id] = atom;
  Linear n = Linear::atom(atom);
  facts_.push_back(add(n, lo, -1));                               // n - lo >= 0
  facts_.push_back(add(add(hi, Linear::number(1), -1), n, -1));   // hi - 1 - n >= 0
}

void ProofScope::assume(const NodePtr& c, bool holds) {
  ++guards_;
  auto fact = [&](const NodePtr& large, const NodePtr& small, int64_t gap) {  // large - small - gap >= 0
    Linear f = add(linear(large), linear(small), -1);
    facts_.push_back(add(f, Linear::number(gap), -1));
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
      }
      return;
    default: return;
  }
}

Interval ProofScope::interval(const Linear& form) const {
  if (!form.valid) return {};
  Interval out{form.constant, form.constant};
  for (const auto& [atom, c] : form.terms) out = add(out, scale(atoms_[atom].interval, c));
  return out;
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
  std::vector<const Linear*> facts;
  gather(goal, facts);
  for (const Linear* fact : facts) {
    if (search(add(goal, *fact, -1), depth - 1)) return true;
  }
  return false;
}

void ProofScope::gather(const Linear& goal, std::vector<const Linear*>& facts) const {
  auto helps = [&](const Linear& fact) {
    if (!fact.valid) return false;
    return std::ranges::any_of(fact.terms, [&](const auto& t) {
      auto it = goal.terms.find(t.first);
      return it != goal.terms.end() && (it->second < 0) == (t.second < 0);
    });
  };
  for (const Linear& fact : facts_) {
    if (helps(fact)) facts.push_back(&fact);
  }
  for (const auto& [atom, c] : goal.terms) {
    for (const Linear& fact : atoms_[atom].facts) {
      if (helps(fact)) facts.push_back(&fact);
    }
  }
}

// With no guard around it, a form in indices of independent constant ranges takes every value between its ends.
std::optional<std::vector<std::pair<Atom, int64_t>>> ProofScope::witness(const Linear& goal) {
  if (guarded() || unreachable() || !goal.valid) return std::nullopt;
  std::vector<std::pair<Atom, int64_t>> at;
  int64_t value = goal.constant;
  for (const auto& [atom, c] : goal.terms) {
    const AtomInfo& a = atoms_[atom];
    if (a.index == kNoIndex || !a.interval.lo || !a.interval.hi) return std::nullopt;
    // Independent: the ends are numbers, so that every value of the interval occurs whatever the others are.
    for (const Linear& fact : facts_) {
      bool own = fact.terms.contains(atom) && fact.terms.size() > 1;
      if (own) return std::nullopt;
    }
    int64_t end = c > 0 ? *a.interval.lo : *a.interval.hi, product;
    if (__builtin_mul_overflow(c, end, &product) || __builtin_add_overflow(value, product, &value)) return std::nullopt;
    at.emplace_back(atom, end);
  }
  if (value >= 0) return std::nullopt;
  // The nearest place that is outside reads better than the farthest corner: each index steps back while it may.
  for (auto& [atom, end] : at) {
    int64_t c = goal.terms.at(atom), size = c < 0 ? -c : c;
    const Interval& range = atoms_[atom].interval;
    int64_t steps = std::min((-1 - value) / size, *range.hi - *range.lo);
    end += c > 0 ? steps : -steps;
    value += steps * size;
  }
  return at;
}

}  // namespace quern::expr
