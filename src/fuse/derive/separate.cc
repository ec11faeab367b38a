#include "fuse/derive/separate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace quern::fuse::algebra {

namespace {

constexpr size_t kMostTerms = 32;

std::unexpected<NoSplit> no(const ExprPtr& e, std::string why) { return std::unexpected(NoSplit{e, std::move(why)}); }

const char* const kBends = "bends where x crosses r, so no fixed set of sums describes it";
const char* const kGrowing =
    "an element is compared with a result that is still growing: elements already added might have to be taken out "
    "again";

}  // namespace

std::vector<ExprPtr> conjuncts(const ExprPtr& c) {
  if (!c) return {};
  if (c->op != Op::kAnd) return {c};
  std::vector<ExprPtr> out = conjuncts(c->args[0]);
  for (const ExprPtr& x : conjuncts(c->args[1])) out.push_back(x);
  return out;
}

Term Separator::unit(const ExprPtr& e) {
  Term t;
  t.c = a_.number(1, e->type);
  return t;
}

ExprPtr Separator::added(const std::vector<ExprPtr>& parts, ScalarType type) {
  ExprPtr out = a_.number(0, type);
  for (const ExprPtr& p : parts) out = a_.add(out, p);
  return out;
}

bool Separator::same(const Split& a, const Split& b) {
  if (a.y.empty() || b.y.empty()) return false;
  ScalarType t = a.y[0]->type;
  return a_.normal(added(a.y, t)) == a_.normal(added(b.y, t)) && a_.normal(added(a.z, t)) == a_.normal(added(b.z, t));
}

Tried<std::vector<Term>> Separator::separate(const ExprPtr& e) {
  int c = a_.class_of(e);
  if ((c & kElement) == 0) {
    Term t = unit(e);
    t.c = e;
    return Terms{t};
  }
  if (c == kElement) return element(e);
  switch (e->op) {
    case Op::kAdd:
    case Op::kSub: return sum(e);
    case Op::kNeg: {
      Tried<Terms> t = separate(e->args[0]);
      if (t) {
        for (Term& x : *t) x.c = a_.neg(x.c);
      }
      return t;
    }
    case Op::kMul: {
      Tried<Terms> a = separate(e->args[0]);
      if (!a) return a;
      Tried<Terms> b = separate(e->args[1]);
      if (!b) return b;
      return product(*a, *b, e);
    }
    case Op::kFma: return separate(a_.add(a_.mul(e->args[0], e->args[1]), e->args[2]));
    case Op::kDiv: return quotient(e);
    case Op::kExp: return exponential(e, e->args[0]);
    case Op::kExp2: return exponential(e, a_.mul(e->args[0], a_.number(std::numbers::ln2, e->type)));
    case Op::kLog: return logarithm(e, 1);
    case Op::kLog2: return logarithm(e, std::numbers::log2e);
    case Op::kSqrt: return root(e, e->args[0], 0.5);
    case Op::kRsqrt: return root(e, e->args[0], -0.5);
    case Op::kPow: {
      auto q = number_of(e->args[1]);
      if (!q) return no(e, "a power of both the element and a result does not split");
      if (*q == 2 || *q == 3 || *q == 4) {
        Tried<Terms> base = separate(e->args[0]);
        if (!base) return base;
        Terms out = *base;
        for (int i = 1; i < static_cast<int>(*q); ++i) {
          Tried<Terms> next = product(out, *base, e);
          if (!next) return next;
          out = *next;
        }
        return out;
      }
      return root(e, e->args[0], *q);
    }
    case Op::kAbs: return absolute(e);
    case Op::kMaxOf:
    case Op::kMinOf: return extremum(e);
    case Op::kSin:
    case Op::kCos: return trigonometric(e);
    case Op::kSelect: return choice(e);
    case Op::kSum: return inner(e);
    case Op::kCast:
      if (e->type == ScalarType::f64 && e->args[0]->type == ScalarType::f32) {
        Tried<Terms> t = separate(e->args[0]);
        if (!t) return t;
        // What is one exponent in f64 is two in f32, which may overflow apart.
        if (std::ranges::any_of(*t, [](const Term& x) { return !x.h.empty(); })) {
          return no(e, "an exponential in f32 that is widened does not split");
        }
        auto widen = [&](std::vector<ExprPtr>& all) {
          for (ExprPtr& x : all) x = a_.cast(e->type, x);
        };
        for (Term& x : *t) {
          x.c = a_.cast(e->type, x.c);
          widen(x.u), widen(x.divisors), widen(x.h);
          for (Power& p : x.d) widen(p.of.y), widen(p.of.z);
        }
        return t;
      }
      return no(e, std::string(name(e->type)) + "(x, r) rounds, and so does not split");
    default:
      return no(
          e, std::string(row(*e).text) + "(x, r) does not split into a part of the element and a part of the result");
  }
}

// Numbers are taken out of a product; the rest stays as written, factor by factor. What is only known later may be an
// infinity, which multiplies terms of either sign differently from their sum.
Tried<std::vector<Term>> Separator::element(const ExprPtr& e) {
  Term t = unit(e);
  if (!is_real(e)) {
    t.u = {e};
    return Terms{t};
  }
  std::function<void(const ExprPtr&, bool)> collect = [&](const ExprPtr& x, bool below) {
    if (auto number = number_of(x); number && std::isfinite(*number)) {
      t.c = below ? a_.div(t.c, x) : a_.mul(t.c, x);
    } else if (x->op == Op::kMul) {
      collect(x->args[0], below), collect(x->args[1], below);
    } else if (x->op == Op::kDiv) {
      collect(x->args[0], below), collect(x->args[1], !below);
    } else if (x->op == Op::kNeg) {
      t.c = a_.neg(t.c);
      collect(x->args[0], below);
    } else {
      (below ? t.divisors : t.u).push_back(x);
    }
  };
  collect(e, false);
  return Terms{t};
}

std::optional<Split> Separator::additive(const ExprPtr& e) {
  int c = a_.class_of(e);
  if ((c & kElement) == 0) return Split{{}, {e}};
  if (c == kElement) return Split{{e}, {}};
  auto each = [&](std::optional<Split> s, auto&& f) {
    if (s) {
      for (ExprPtr& x : s->y) x = f(x);
      for (ExprPtr& x : s->z) x = f(x);
    }
    return s;
  };
  switch (e->op) {
    case Op::kAdd:
    case Op::kSub: {
      std::optional<Split> a = additive(e->args[0]), b = additive(e->args[1]);
      if (!a || !b) return std::nullopt;
      if (e->op == Op::kSub) b = each(b, [&](const ExprPtr& x) { return a_.neg(x); });
      a->y.insert(a->y.end(), b->y.begin(), b->y.end());
      a->z.insert(a->z.end(), b->z.begin(), b->z.end());
      return a;
    }
    case Op::kNeg: return each(additive(e->args[0]), [&](const ExprPtr& x) { return a_.neg(x); });
    case Op::kMul:
      for (int i : {0, 1}) {
        const ExprPtr& k = e->args[i];
        if (a_.class_of(k) == 0) {
          return each(additive(e->args[1 - i]), [&](const ExprPtr& x) { return i == 0 ? a_.mul(k, x) : a_.mul(x, k); });
        }
      }
      return std::nullopt;
    case Op::kDiv:
      if (a_.class_of(e->args[1]) != 0) return std::nullopt;
      return each(additive(e->args[0]), [&](const ExprPtr& x) { return a_.div(x, e->args[1]); });
    case Op::kSelect: {
      bool first = is_minus_infinity(e->args[2]), second = is_minus_infinity(e->args[0]);
      if (a_.class_of(e->args[1]) != kElement || first == second) return std::nullopt;
      std::optional<Split> s = additive(first ? e->args[0] : e->args[2]);
      if (!s || s->y.empty()) return std::nullopt;
      ExprPtr y = added(s->y, e->type), out = a_.number(-std::numeric_limits<double>::infinity(), e->type);
      return Split{{first ? a_.select(e->args[1], y, out) : a_.select(e->args[1], out, y)}, s->z};
    }
    case Op::kSum: {
      if (a_.is_answer(e)) return std::nullopt;
      return each(additive(e->args[0]), [&](const ExprPtr& x) { return a_.reduce(Op::kSum, e->over, x); });
    }
    case Op::kMax:
    case Op::kMin: {
      if (a_.is_answer(e)) return std::nullopt;
      std::optional<Split> s = additive(e->args[0]);
      if (!s || s->y.empty()) return std::nullopt;
      for (const ExprPtr& z : s->z) {
        if (!(z->axes & e->over).empty()) return std::nullopt;
      }
      return Split{{a_.reduce(e->op, e->over, added(s->y, e->type))}, s->z};
    }
    case Op::kCast:
      if (e->type != ScalarType::f64 || e->args[0]->type != ScalarType::f32) return std::nullopt;
      return each(additive(e->args[0]), [&](const ExprPtr& x) { return a_.cast(e->type, x); });
    default: return std::nullopt;
  }
}

Tried<std::vector<Term>> Separator::sum(const ExprPtr& e) {
  Split pure;
  Terms out;
  std::optional<NoSplit> failed;
  std::function<void(const ExprPtr&, bool)> collect = [&](const ExprPtr& x, bool minus) {
    if (failed) return;
    auto sign = [&](const ExprPtr& p) { return minus ? a_.neg(p) : p; };
    if (auto s = additive(x)) {
      for (const ExprPtr& p : s->y) pure.y.push_back(sign(p));
      for (const ExprPtr& p : s->z) pure.z.push_back(sign(p));
    } else if (x->op == Op::kAdd || x->op == Op::kSub) {
      collect(x->args[0], minus), collect(x->args[1], minus != (x->op == Op::kSub));
    } else if (x->op == Op::kNeg) {
      collect(x->args[0], !minus);
    } else {
      Tried<Terms> t = separate(x);
      if (!t) {
        failed = t.error();
        return;
      }
      for (Term& y : *t) {
        if (minus) y.c = a_.neg(y.c);
        out.push_back(std::move(y));
      }
    }
  };
  collect(e, false);
  if (failed) return std::unexpected(*failed);
  bool open = std::any_of(pure.z.begin(), pure.z.end(), [&](const ExprPtr& z) { return a_.class_of(z) == kResult; });
  if (!pure.y.empty() && open) {
    Term t = unit(e);
    t.d.push_back({std::move(pure), 1});
    out.push_back(std::move(t));
  } else {
    for (const ExprPtr& y : pure.y) {
      Tried<Terms> t = element(y);
      out.insert(out.end(), t->begin(), t->end());
    }
    for (const ExprPtr& z : pure.z) {
      Term t = unit(e);
      t.c = z;
      out.push_back(std::move(t));
    }
  }
  return out;
}

Tried<std::vector<Term>> Separator::product(const Terms& a, const Terms& b, const ExprPtr& e) {
  if (a.size() * b.size() > kMostTerms) return no(e, "the product has too many terms");
  Terms out;
  for (const Term& x : a) {
    for (const Term& y : b) {
      Term t = x;
      t.c = a_.mul(x.c, y.c);
      if (is_number(t.c, 0)) continue;
      t.u.insert(t.u.end(), y.u.begin(), y.u.end());
      t.divisors.insert(t.divisors.end(), y.divisors.begin(), y.divisors.end());
      t.h.insert(t.h.end(), y.h.begin(), y.h.end());
      t.lost |= y.lost;
      for (const ExprPtr& g : y.guards) {
        if (std::find(t.guards.begin(), t.guards.end(), g) == t.guards.end()) t.guards.push_back(g);
      }
      for (const Power& p : y.d) {
        auto found = std::find_if(t.d.begin(), t.d.end(), [&](const Power& q) { return same(p.of, q.of); });
        if (found != t.d.end()) {
          found->power += p.power;
        } else {
          t.d.push_back(p);
        }
      }
      if (!(x.extra & y.extra).empty()) return no(e, "a product of two sums over the same index does not split");
      t.extra = x.extra | y.extra;
      out.push_back(std::move(t));
    }
  }
  return out;
}

Tried<std::vector<Term>> Separator::quotient(const ExprPtr& e) {
  Tried<Terms> a = separate(e->args[0]);
  if (!a) return a;
  Tried<Terms> b = separate(e->args[1]);
  if (!b) return b;
  if (b->size() != 1 || !(*b)[0].d.empty() || !(*b)[0].guards.empty() || !(*b)[0].extra.empty()) {
    return no(e, "1 / (x, r) does not split into a part of the element and a part of the result");
  }
  Term inverse = (*b)[0];
  std::swap(inverse.u, inverse.divisors);
  for (ExprPtr& h : inverse.h) h = a_.neg(h);
  inverse.c = a_.div(a_.number(1, e->type), inverse.c);
  return product(*a, {inverse}, e);
}

Tried<std::vector<Term>> Separator::exponential(const ExprPtr& e, const ExprPtr& argument) {
  std::optional<Split> s = additive(argument);
  if (!s) return no(e, "exp of a product of element and result");
  Term t = unit(e);
  t.h = s->y;
  t.c = a_.exp(added(s->z, e->type));
  for (const ExprPtr& z : s->z) t.lost |= (a_.class_of(z) & kResult) != 0;
  return Terms{t};
}

Tried<std::vector<Term>> Separator::logarithm(const ExprPtr& e, double scale) {
  Tried<Terms> inside = separate(e->args[0]);
  if (!inside) return inside;
  if (inside->size() != 1 || !(*inside)[0].d.empty() || !(*inside)[0].guards.empty() || !(*inside)[0].extra.empty()) {
    return no(e, "log of a sum of element and result does not split");
  }
  const Term& x = (*inside)[0];
  Split s;
  s.y = x.h;
  for (bool below : {false, true}) {
    for (const ExprPtr& f : below ? x.divisors : x.u) {
      ExprPtr part = f->op == Op::kExp ? f->args[0] : a_.apply(Op::kLog, {f});
      if (f->op != Op::kExp && intervals_.sign(f) < 1) return no(e, "log of a product whose factors may be negative");
      s.y.push_back(below ? a_.neg(part) : part);
    }
  }
  std::function<bool(const ExprPtr&, bool)> collect = [&](const ExprPtr& c, bool minus) {
    if (is_number(c, 1)) return true;
    if (c->op == Op::kMul || c->op == Op::kDiv) {
      return collect(c->args[0], minus) && collect(c->args[1], minus != (c->op == Op::kDiv));
    }
    if (c->op == Op::kExp) {
      std::optional<Split> z = additive(c->args[0]);
      for (const ExprPtr& p : z->z) s.z.push_back(minus ? a_.neg(p) : p);
      return true;
    }
    if (intervals_.sign(c) < 1) return false;
    ExprPtr l = a_.apply(Op::kLog, {c});
    s.z.push_back(minus ? a_.neg(l) : l);
    return true;
  };
  if (!collect(x.c, false)) return no(e, "log of a product whose factors may be negative");
  Term t = unit(e);
  t.c = a_.number(scale, e->type);
  t.d.push_back({std::move(s), 1});
  return Terms{t};
}

Tried<std::vector<Term>> Separator::root(const ExprPtr& e, const ExprPtr& base, double q) {
  Tried<Terms> inside = separate(base);
  if (!inside) return inside;
  if (inside->size() != 1 || !(*inside)[0].d.empty() || !(*inside)[0].extra.empty() ||
      (!(*inside)[0].guards.empty() && q < 0)) {
    return no(e,
              std::string(row(*e).text) + "(x, r) does not split into a part of the element and a part of the result");
  }
  Term t = (*inside)[0];
  bool whole = q == std::floor(q);
  auto raise = [&](std::vector<ExprPtr>& all) {
    for (ExprPtr& f : all) {
      if (!whole && intervals_.sign(f) < 1) return false;
      f = f->op == Op::kExp ? a_.exp(a_.mul(a_.number(q, e->type), f->args[0])) : a_.power(f, q);
    }
    return true;
  };
  if (!whole && intervals_.sign(t.c) < 1) return no(e, "a root of a factor that may be negative");
  if (!raise(t.u) || !raise(t.divisors)) return no(e, "a root of a factor that may be negative");
  for (ExprPtr& h : t.h) h = a_.mul(a_.number(q, e->type), h);
  t.c = t.c->op == Op::kExp ? a_.exp(a_.mul(a_.number(q, e->type), t.c->args[0])) : a_.power(t.c, q);
  return Terms{t};
}

Tried<std::vector<Term>> Separator::absolute(const ExprPtr& e) {
  Tried<Terms> inside = separate(e->args[0]);
  if (!inside) return inside;
  if (inside->size() != 1 || !(*inside)[0].d.empty() || !(*inside)[0].extra.empty()) {
    return no(e, std::string("abs(x - r) ") + kBends);
  }
  Term t = (*inside)[0];
  for (ExprPtr& f : t.u) f = intervals_.sign(f) == 1 ? f : a_.apply(Op::kAbs, {f});
  for (ExprPtr& f : t.divisors) f = intervals_.sign(f) == 1 ? f : a_.apply(Op::kAbs, {f});
  t.c = intervals_.sign(t.c) == 1 ? t.c : a_.apply(Op::kAbs, {t.c});
  return Terms{t};
}

Tried<std::vector<Term>> Separator::extremum(const ExprPtr& e) {
  std::string bends = std::string(row(*e).text) + "(x, r) " + kBends;
  Tried<Terms> a = separate(e->args[0]);
  if (!a) return a;
  Tried<Terms> b = separate(e->args[1]);
  if (!b) return b;
  auto plain = [](const Terms& t) {
    return t.size() == 1 && t[0].d.empty() && t[0].guards.empty() && t[0].extra.empty() && t[0].h.empty();
  };
  if (!plain(*a) || !plain(*b)) return no(e, bends);
  auto value = [&](const Term& t) {
    ExprPtr out = a_.number(1, e->type);
    for (const ExprPtr& f : t.u) out = a_.mul(out, f);
    for (const ExprPtr& f : t.divisors) out = a_.div(out, f);
    return out;
  };
  ExprPtr c = (*a)[0].c, u1 = value((*a)[0]), u2 = value((*b)[0]);
  if (is_number((*b)[0].c, 0)) {
    u2 = a_.number(0, e->type);
  } else if (is_number(c, 0)) {
    u1 = a_.number(0, e->type), c = (*b)[0].c;
  } else if (a_.normal(c) != a_.normal((*b)[0].c)) {
    return no(e, bends);
  }
  bool max = e->op == Op::kMaxOf;
  Op other = max ? Op::kMinOf : Op::kMaxOf;
  int sign = intervals_.sign(c);
  Term t = unit(e);
  t.c = c;
  t.u = {a_.apply(sign < 0 ? other : e->op, {u1, u2})};
  if (sign != 0) return Terms{t};
  Term s = unit(e);
  ExprPtr zero = a_.number(0, e->type);
  t.c = a_.apply(Op::kMaxOf, {c, zero});
  s.c = a_.neg(a_.apply(Op::kMaxOf, {a_.neg(c), zero}));
  s.u = {a_.apply(other, {u1, u2})};
  return Terms{t, s};
}

Tried<std::vector<Term>> Separator::trigonometric(const ExprPtr& e) {
  std::optional<Split> s = additive(e->args[0]);
  if (!s) return no(e, std::string(row(*e).text) + " of a product of element and result");
  ExprPtr y = added(s->y, e->type), z = added(s->z, e->type);
  Term first = unit(e), second = unit(e);
  bool sine = e->op == Op::kSin;
  first.u = {a_.apply(e->op, {y})};
  first.c = a_.apply(Op::kCos, {z});
  second.u = {a_.apply(sine ? Op::kCos : Op::kSin, {y})};
  second.c = a_.apply(Op::kSin, {z});
  if (!sine) second.c = a_.neg(second.c);
  return Terms{first, second};
}

Tried<ExprPtr> Separator::condition(const ExprPtr& c) {
  int k = a_.class_of(c);
  if (k == kElement || k == 0) return c;
  if (c->op == Op::kNot) {
    Tried<ExprPtr> x = condition(c->args[0]);
    return x ? Tried<ExprPtr>(a_.negation(*x)) : x;
  }
  if (c->op == Op::kAnd || c->op == Op::kOr) {
    Tried<ExprPtr> x = condition(c->args[0]), y = condition(c->args[1]);
    if (!x) return x;
    if (!y) return y;
    return c->op == Op::kAnd ? a_.both(*x, *y) : a_.apply(c->op, {*x, *y});
  }
  if (row(*c).family != Family::compare) return no(c, kGrowing);
  ExprPtr a = c->args[0], b = c->args[1];
  Op op = c->op;
  if (number_of(a)) {
    std::swap(a, b);
    op = op == Op::kLt ? Op::kGt : op == Op::kGt ? Op::kLt : op == Op::kLe ? Op::kGe : op == Op::kGe ? Op::kLe : op;
  }
  // Is it more than nothing? A product of factors >= 0 is, if all are; exp(h) is, if h > -inf. Results are < inf.
  std::function<Tried<ExprPtr>(const ExprPtr&)> above = [&](const ExprPtr& h) -> Tried<ExprPtr> {
    std::optional<Split> s = additive(h);
    if (!s || s->y.empty()) return no(c, kGrowing);
    return a_.apply(Op::kGt, {added(s->y, h->type), a_.number(-std::numeric_limits<double>::infinity(), h->type)});
  };
  std::function<Tried<ExprPtr>(const ExprPtr&)> positive = [&](const ExprPtr& x) -> Tried<ExprPtr> {
    int kx = a_.class_of(x);
    if (kx == kElement || kx == 0) return a_.apply(Op::kGt, {x, a_.number(0, x->type)});
    if (x->op == Op::kMul || x->op == Op::kDiv) {
      if (intervals_.sign(x->args[0]) < 1 || intervals_.sign(x->args[1]) < 1) return no(c, kGrowing);
      Tried<ExprPtr> p = positive(x->args[0]);
      if (!p || x->op == Op::kDiv) return p;
      Tried<ExprPtr> q = positive(x->args[1]);
      return q ? Tried<ExprPtr>(a_.both(*p, *q)) : q;
    }
    if (x->op == Op::kExp)
      return (kx & kElement) != 0 ? above(x->args[0]) : Tried<ExprPtr>(a_.number(1, ScalarType::boolean));
    return no(c, kGrowing);
  };
  if (is_number(b, 0) && (op == Op::kGt || (op == Op::kNe && intervals_.sign(a) == 1))) return positive(a);
  if (is_minus_infinity(b) && (op == Op::kGt || op == Op::kNe)) return above(a);
  return no(c, kGrowing);
}

Tried<std::vector<Term>> Separator::choice(const ExprPtr& e) {
  Tried<ExprPtr> c = condition(e->args[1]);
  if (!c) return std::unexpected(c.error());
  Terms out;
  for (bool then : {true, false}) {
    Tried<Terms> side = separate(then ? e->args[0] : e->args[2]);
    if (!side) return side;
    std::vector<ExprPtr> guards = then ? conjuncts(*c) : std::vector<ExprPtr>{a_.negation(*c)};
    for (Term& t : *side) {
      if (is_number(t.c, 0)) continue;
      for (const ExprPtr& g : guards) {
        if (std::find(t.guards.begin(), t.guards.end(), g) == t.guards.end()) t.guards.push_back(g);
      }
      out.push_back(std::move(t));
    }
  }
  return out;
}

Tried<std::vector<Term>> Separator::inner(const ExprPtr& e) {
  if (a_.is_answer(e)) return no(e, "waits");
  Tried<Terms> body = separate(e->args[0]);
  if (!body) return body;
  for (Term& t : *body) {
    AxisSet outside = t.c->axes & e->over, within;
    for (const auto* list : {&t.u, &t.divisors, &t.h, &t.guards}) {
      for (const ExprPtr& f : *list) within |= f->axes;
    }
    bool whole = t.h.empty() && t.d.empty();
    for (const Power& p : t.d) {
      for (const auto* list : {&p.of.y, &p.of.z}) {
        for (const ExprPtr& f : *list) within |= f->axes;
      }
    }
    within = within & e->over;
    AxisSet own = within - outside;                   // only the element has them
    if (whole && !own.empty() && t.guards.empty()) {  // sum of u over them
      ExprPtr u = a_.number(1, e->type);
      for (const ExprPtr& f : t.u) u = a_.mul(u, f);
      for (const ExprPtr& f : t.divisors) u = a_.div(u, f);
      t.u = {a_.reduce(Op::kSum, own, u)};
      t.divisors.clear();
      within = within - own;
    }
    AxisSet only = e->over - within - own;  // only the result has them, or nothing
    if (whole && !own.empty() && t.guards.empty()) only = only - own;
    if (!only.empty()) t.c = a_.reduce(Op::kSum, only, t.c);
    t.extra |= e->over - only - (whole && t.guards.empty() ? own : AxisSet());
  }
  return body;
}

}  // namespace quern::fuse::algebra
