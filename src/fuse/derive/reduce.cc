#include "fuse/derive/reduce.h"

#include <algorithm>
#include <cmath>

namespace quern::fuse::algebra {

namespace {

constexpr int kMostConditions = 5;  // on results, in one reduction

std::unexpected<NoSplit> no(const ExprPtr& e, std::string why) { return std::unexpected(NoSplit{e, std::move(why)}); }

bool is_identity(Op op, const ExprPtr& e) {
  ExprPtr i = tile::identity(op, e->type);
  auto x = number_of(e), y = number_of(i);
  if (e->op == Op::kInteger && i->op == Op::kInteger) return e->integer == i->integer;
  return x && y && *x == *y;
}

}  // namespace

namespace {

// The extremum of the key where a condition holds.
bool masked(const ExprPtr& r, const ExprPtr& k) {
  const ExprPtr& body = r->args[0];
  return body->op == Op::kSelect && body->args[0] == k && is_identity(r->op, body->args[2]);
}

}  // namespace

Tried<ExprPtr> Reducer::derive(const ExprPtr& reduction) { return split(reduction, reduction->args[0], 0); }

// A condition of results only, inside a select whose branches vary with the element.
ExprPtr Reducer::result_condition(const ExprPtr& body) {
  ExprPtr found = nullptr;
  std::unordered_set<const Expr*> seen;
  std::function<void(const ExprPtr&)> look = [&](const ExprPtr& e) {
    if (!e || found || a_.is_answer(e) || !seen.insert(e.get()).second) return;
    if (e->op == Op::kSelect && a_.class_of(e->args[1]) == 0 && (a_.class_of(e) & kElement) != 0 && is_real(e) &&
        (is_number(e->args[0], 0) || is_number(e->args[2], 0))) {
      // Of what is known: nothing is computed twice, since one side is 0.
      found = e->args[1];
      return;
    }
    if ((a_.class_of(e) & kResult) == 0 && row(*e).family != Family::arithmetic && e->op != Op::kNeg) return;
    if (e->op == Op::kSelect && a_.class_of(e) == (kElement | kResult)) {
      std::function<void(const ExprPtr&)> inside = [&](const ExprPtr& c) {
        if (found || (a_.class_of(c) & kResult) == 0) return;
        if (a_.class_of(c) == kResult) {
          found = c;
        } else if (row(*c).family == Family::logic || row(*c).family == Family::negation) {
          for (const ExprPtr& x : c->args) inside(x);
        }
      };
      inside(e->args[1]);
    }
    for (const ExprPtr& x : e->args) look(x);
  };
  look(body);
  return found;
}

Tried<ExprPtr> Reducer::split(const ExprPtr& reduction, const ExprPtr& body, int depth) {
  ExprPtr c = depth < kMostConditions ? result_condition(body) : nullptr;
  if (c) {
    Tried<ExprPtr> branch[2];
    ExprPtr resolved = representer_.resolve(c);
    for (int i : {0, 1}) {
      ExprPtr value = a_.number(i == 0, ScalarType::boolean);
      representer_.assumed[resolved.get()] = value;
      branch[i] = split(reduction, a_.substitute(body, {{c.get(), value}}, false), depth + 1);
      representer_.assumed.erase(resolved.get());
      if (!branch[i]) return branch[i];
    }
    return a_.select(resolved, *branch[0], *branch[1]);
  }
  if (auto s = selection(reduction, body)) return *s;
  switch (reduction->op) {
    case Op::kSum: return sum(reduction, body);
    case Op::kMax:
    case Op::kMin: return lattice(reduction->op, body, nullptr);
    case Op::kProd: return product(reduction, body);
    default: break;
  }
  if ((a_.class_of(body) & kResult) == 0) return representer_.plain(reduction->op, body);
  return no(body, std::string(row(*reduction).text) + " of a condition on element and result");
}

Tried<ExprPtr> Reducer::sum(const ExprPtr& reduction, const ExprPtr& body) {
  Tried<std::vector<Term>> terms = separator_.separate(body);
  if (!terms) return std::unexpected(terms.error());
  ExprPtr total = a_.number(0, reduction->type);
  for (const Term& t : *terms) {
    Tried<ExprPtr> v = representer_.value(t, reduction);
    if (!v) return v;
    total = a_.add(total, *v);
  }
  return total;
}

// The result r for which the condition is `key == r`: key's extremum, or the index that a selection found.
std::optional<Selection> Reducer::key_of(const ExprPtr& c, ExprPtr& result) {
  if (c->op == Op::kOr) {
    // `k == r or k != k`: the first NaN, if there is one.
    for (size_t i : {0, 1}) {
      const ExprPtr& nan = c->args[1 - i];
      if (nan->op != Op::kNe || nan->args[0] != nan->args[1]) continue;
      std::optional<Selection> s = key_of(c->args[i], result);
      if (!s || s->key != nan->args[0]) continue;
      s->unordered = true;
      return s;
    }
    return std::nullopt;
  }
  if (c->op != Op::kEq || a_.class_of(c) != (kElement | kResult)) return std::nullopt;
  for (size_t i : {0, 1}) {
    const ExprPtr &k = c->args[i], &r = c->args[1 - i];
    if (a_.class_of(k) != kElement || a_.class_of(r) != kResult) continue;
    ExprPtr resolved = representer_.resolve(r);
    bool fits = a_.is_answer(r) && (r->op == Op::kMax || r->op == Op::kMin) &&
                (r->args[0] == k || a_.normal(r->args[0]) == a_.normal(k) || masked(r, k));
    // An index that a selection found, or -1 where it found none.
    ExprPtr index = resolved->op == Op::kSelect && number_of(resolved->args[0]) ? resolved->args[2] : resolved;
    if (auto raw = symbol_index(index, Symbols::kRaw); raw && !fits) {
      fits = representer_.selects(*raw, k);
      if (fits) index_of_ = *raw;
    }
    if (!fits) continue;
    result = r;
    return Selection{k, resolved};
  }
  return std::nullopt;
}

std::optional<Tried<ExprPtr>> Reducer::selection(const ExprPtr& reduction, const ExprPtr& body) {
  if (body->op != Op::kSelect || !is_identity(reduction->op, body->args[2])) return std::nullopt;
  std::optional<Selection> s;
  ExprPtr guard = nullptr, result;
  for (const ExprPtr& c : conjuncts(body->args[1])) {
    std::optional<Selection> found = s ? std::nullopt : key_of(c, result);
    if (found) {
      s = found;
    } else if (a_.class_of(c) == kElement || a_.class_of(c) == 0) {
      guard = a_.both(guard, c);
    } else {
      return std::nullopt;
    }
  }
  if (!s) return std::nullopt;
  // Where the key equals the result, it is the result.
  ExprPtr p = a_.substitute(body->args[0], {{s->key.get(), result}}, false);
  if (s->key->op == Op::kAxis) {
    // There the index's own key is its extremum.
    auto [key, extremum] = representer_.selected_by(index_of_);
    p = a_.substitute(body->args[0], {{key.get(), extremum}}, false);
  }
  if (a_.class_of(p) == kResult || a_.class_of(p) == 0) p = body->args[0];
  int c = a_.class_of(p);
  if (reduction->op == Op::kSum && is_real(reduction)) {
    Tried<std::vector<Term>> terms = separator_.separate(p);
    if (!terms) return std::unexpected(terms.error());
    ExprPtr total = a_.number(0, reduction->type);
    for (Term& t : *terms) {
      for (const ExprPtr& g : conjuncts(guard)) t.guards.push_back(g);
      Tried<ExprPtr> v = representer_.value(t, reduction, &*s);
      if (!v) return v;
      total = a_.add(total, *v);
    }
    return total;
  }
  if ((c & kResult) != 0) return std::nullopt;
  ExprPtr element = guard ? a_.select(guard, p, body->args[2]) : p;
  return representer_.plain(reduction->op, element, &*s);
}

// Monotone steps move out of a maximum, exactly, since rounding is monotone too.
Tried<ExprPtr> Reducer::lattice(Op op, const ExprPtr& e, const ExprPtr& guard) {
  bool max = op == Op::kMax;
  Op other = max ? Op::kMin : Op::kMax;
  auto leaf = [&](const ExprPtr& x) {
    return representer_.plain(op, guard ? a_.select(guard, x, a_.number(max ? -INFINITY : INFINITY, x->type)) : x);
  };
  int c = a_.class_of(e);
  if (c == kElement) {
    if (!is_real(e) && guard) return representer_.plain(op, a_.select(guard, e, a_.take(tile::identity(op, e->type))));
    return leaf(e);
  }
  if ((c & kElement) == 0) {
    bool some_element = true;
    for (AxisId x : a_.n.list()) some_element = some_element && intervals_.extent(x).value_or(0) >= 1;
    if (some_element && !guard) return representer_.resolve(e);
    if (!is_real(e)) return no(e, "an extremum of a result");
    ExprPtr some = representer_.plain(
        op, guard ? a_.select(guard, a_.number(0, e->type), a_.number(max ? -INFINITY : INFINITY, e->type))
                  : a_.number(0, e->type));
    return a_.add(representer_.resolve(e), some);
  }
  if (auto s = separator_.additive(e);
      s && !s->y.empty() && (e->op == Op::kAdd || e->op == Op::kSub || e->op == Op::kSum)) {
    Tried<ExprPtr> y = leaf(separator_.added(s->y, e->type));
    return a_.add(*y, representer_.resolve(separator_.added(s->z, e->type)));
  }
  auto apply = [&](Op step, Tried<ExprPtr> x) { return x ? Tried<ExprPtr>(a_.apply(step, {*x})) : x; };
  switch (e->op) {
    case Op::kExp:
    case Op::kExp2:
    case Op::kLog:
    case Op::kLog2:
    case Op::kSqrt:
    case Op::kTanh:
    case Op::kErf:
    case Op::kFloor:
    case Op::kCeil:
    case Op::kRound: return apply(e->op, lattice(op, e->args[0], guard));
    case Op::kRsqrt: return apply(e->op, lattice(other, e->args[0], guard));
    case Op::kNeg: {
      Tried<ExprPtr> x = lattice(other, e->args[0], guard);
      return x ? Tried<ExprPtr>(a_.neg(*x)) : x;
    }
    case Op::kCast: {
      if (!is_real(e) || !is_real(e->args[0])) break;
      Tried<ExprPtr> x = lattice(op, e->args[0], guard);
      return x ? Tried<ExprPtr>(a_.cast(e->type, *x)) : x;
    }
    case Op::kAdd:
    case Op::kSub: {
      for (size_t i : {0, 1}) {
        if ((a_.class_of(e->args[i]) & kElement) != 0) continue;
        bool flips = e->op == Op::kSub && i == 0;
        Tried<ExprPtr> x = lattice(flips ? other : op, e->args[1 - i], guard);
        if (!x) return x;
        ExprPtr r = representer_.resolve(e->args[i]);
        return e->op == Op::kAdd ? a_.add(*x, r) : i == 0 ? a_.sub(r, *x) : a_.sub(*x, r);
      }
      break;
    }
    case Op::kMul:
    case Op::kDiv: {
      for (size_t i : {0, 1}) {
        if ((a_.class_of(e->args[i]) & kElement) != 0) continue;
        ExprPtr r = representer_.resolve(e->args[i]);
        int sign = intervals_.sign(e->args[i]);
        bool below = e->op == Op::kDiv && i == 0;  // r / x
        if (below && intervals_.sign(e->args[1]) == 0) break;
        auto step = [&](const ExprPtr& x) {
          return e->op == Op::kMul ? a_.mul(x, r) : below ? a_.div(r, x) : a_.div(x, r);
        };
        Tried<ExprPtr> up, down;
        if (sign >= 0) up = lattice(below ? other : op, e->args[1 - i], guard);
        if (sign <= 0) down = lattice(below ? op : other, e->args[1 - i], guard);
        if (sign >= 0 && !up) return up;
        if (sign <= 0 && !down) return down;
        if (sign > 0) return step(*up);
        if (sign < 0) return step(*down);
        ExprPtr positive = a_.apply(Op::kGe, {r, a_.number(0, r->type)});
        return a_.select(positive, step(*up), step(*down));
      }
      break;
    }
    case Op::kAbs: {
      if (!max) return no(e, "min of abs(x - r) bends where x crosses r, so no fixed set of extrema describes it");
      Tried<ExprPtr> up = lattice(Op::kMax, e->args[0], guard), down = lattice(Op::kMin, e->args[0], guard);
      if (!up) return up;
      if (!down) return down;
      return a_.apply(Op::kMaxOf, {*up, a_.neg(*down)});
    }
    case Op::kMaxOf:
    case Op::kMinOf: {
      bool agrees = (e->op == Op::kMaxOf) == max;
      bool first = (a_.class_of(e->args[0]) & kElement) != 0, second = (a_.class_of(e->args[1]) & kElement) != 0;
      if (!agrees && first && second) break;
      Tried<ExprPtr> x = first ? lattice(op, e->args[0], guard) : Tried<ExprPtr>(representer_.resolve(e->args[0]));
      Tried<ExprPtr> y = second ? lattice(op, e->args[1], guard) : Tried<ExprPtr>(representer_.resolve(e->args[1]));
      if (!x) return x;
      if (!y) return y;
      return a_.apply(e->op, {*x, *y});
    }
    case Op::kSelect: {
      if (a_.class_of(e->args[1]) != kElement) break;
      bool first = !is_identity(op, e->args[0]), second = !is_identity(op, e->args[2]);
      ExprPtr yes = a_.both(guard, e->args[1]), not_so = a_.both(guard, a_.negation(e->args[1]));
      Tried<ExprPtr> x, y;
      if (first) x = lattice(op, e->args[0], yes);
      if (second) y = lattice(op, e->args[2], not_so);
      if (first && !x) return x;
      if (second && !y) return y;
      // An extremum of nothing is its identity, whatever the result that was taken out of it.
      auto unless_nothing = [&](const ExprPtr& value, const ExprPtr& inside, const ExprPtr& holds) {
        if ((a_.class_of(inside) & kResult) == 0) return value;
        return a_.select(representer_.some({holds}), value, a_.take(tile::identity(op, e->type)));
      };
      if (!second) return unless_nothing(*x, e->args[0], yes);
      if (!first) return unless_nothing(*y, e->args[2], not_so);
      return a_.apply(max ? Op::kMaxOf : Op::kMinOf, {*x, *y});
    }
    default: break;
  }
  return no(e, std::string(row(*e).text) + "(x, r) is not monotone in the element, so its " +
                   (max ? "maximum" : "minimum") + " cannot be taken before the result is known");
}

Tried<ExprPtr> Reducer::product(const ExprPtr& reduction, const ExprPtr& body) {
  if (a_.class_of(body) == kElement) return representer_.plain(Op::kProd, body);
  Tried<std::vector<Term>> terms = separator_.separate(body);
  if (!terms) return std::unexpected(terms.error());
  if (terms->size() != 1 || !(*terms)[0].d.empty() || !(*terms)[0].extra.empty() || !(*terms)[0].guards.empty()) {
    return no(body, "a product of sums of element and result does not split");
  }
  const Term& t = (*terms)[0];
  ScalarType type = reduction->type;
  ExprPtr c = representer_.resolve(t.c);
  ExprPtr out = is_number(c, 1) ? c : a_.apply(Op::kPow, {c, a_.cast(type, representer_.count())});
  ExprPtr u = a_.number(1, type);
  for (const ExprPtr& f : t.u) u = a_.mul(u, f);
  for (const ExprPtr& f : t.divisors) u = a_.div(u, f);
  if (!is_number(u, 1)) out = a_.mul(out, representer_.plain(Op::kProd, u));
  if (!t.h.empty()) out = a_.mul(out, a_.exp(representer_.plain(Op::kSum, separator_.added(t.h, type))));
  return out;
}

}  // namespace quern::fuse::algebra
