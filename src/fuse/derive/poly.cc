// The normal form of terms: sums of products of atoms, constants gathered, through sums over other axes. It is a key
// for comparing, and how exponents cancel; elements are never computed from it.
#include <algorithm>
#include <cmath>

#include "fuse/derive/algebra.h"

namespace quern::fuse::algebra {

namespace {

constexpr size_t kMostTerms = 64;  // larger products stay atoms

// The atom whose reciprocal this is, or null.
const Expr* inverse_of(const ExprPtr& e) {
  return e->op == Op::kDiv && is_number(e->args[0], 1) ? e->args[1].get() : nullptr;
}

bool has_infinity(const ExprPtr& e) {
  auto x = number_of(e);
  return x && !std::isfinite(*x);
}

}  // namespace

void Algebra::sort(Poly& p) {
  auto before = [&](const Monomial& a, const Monomial& b) {
    return std::lexicographical_compare(a.factors.begin(), a.factors.end(), b.factors.begin(), b.factors.end(),
                                        [&](const ExprPtr& x, const ExprPtr& y) { return age(x) < age(y); });
  };
  std::sort(p.begin(), p.end(), before);
  Poly out;
  for (Monomial& m : p) {
    if (!out.empty() && out.back().factors == m.factors) {
      out.back().coefficient += m.coefficient;
    } else {
      out.push_back(std::move(m));
    }
  }
  std::erase_if(out, [](const Monomial& m) { return m.coefficient == 0; });
  p = std::move(out);
}

Poly Algebra::scaled(Poly p, double by) {
  for (Monomial& m : p) m.coefficient *= by;
  if (by == 0) p.clear();
  return p;
}

Poly Algebra::sum(const Poly& a, const Poly& b) {
  Poly out = a;
  out.insert(out.end(), b.begin(), b.end());
  sort(out);
  return out;
}

Poly Algebra::product(const Poly& a, const Poly& b) {
  Poly out;
  for (const Monomial& x : a) {
    for (const Monomial& y : b) {
      Monomial m{x.coefficient * y.coefficient, x.factors};
      for (const ExprPtr& f : y.factors) {
        // An atom and its reciprocal cancel.
        auto other = std::find_if(m.factors.begin(), m.factors.end(), [&](const ExprPtr& g) {
          return inverse_of(f) == g.get() || inverse_of(g) == f.get();
        });
        if (other != m.factors.end()) {
          m.factors.erase(other);
        } else {
          m.factors.push_back(f);
        }
      }
      std::sort(m.factors.begin(), m.factors.end(),
                [&](const ExprPtr& p, const ExprPtr& q) { return age(p) < age(q); });
      out.push_back(std::move(m));
    }
  }
  sort(out);
  return out;
}

Poly Algebra::poly(const ExprPtr& e) {
  auto known = poly_.find(e.get());
  if (known != poly_.end()) return known->second;
  Poly p = compute_poly(e);
  poly_[e.get()] = p;
  kept_.push_back(e);
  return p;
}

Poly Algebra::compute_poly(const ExprPtr& e) {
  const Poly atom = {{1, {e}}};
  auto value = number_of(e);
  if (value) {
    if (*value == 0) return {};
    if (!std::isfinite(*value)) return atom;
    return {{*value, {}}};
  }
  if (!is_real(e)) return atom;
  switch (e->op) {
    case Op::kAdd: return sum(poly(e->args[0]), poly(e->args[1]));
    case Op::kSub: return sum(poly(e->args[0]), scaled(poly(e->args[1]), -1));
    case Op::kNeg: return scaled(poly(e->args[0]), -1);
    case Op::kMul: {
      Poly a = poly(e->args[0]), b = poly(e->args[1]);
      return a.size() * b.size() > kMostTerms ? atom : product(a, b);
    }
    case Op::kFma: {
      Poly a = poly(e->args[0]), b = poly(e->args[1]);
      return a.size() * b.size() > kMostTerms ? atom : sum(product(a, b), poly(e->args[2]));
    }
    case Op::kDiv: {
      Poly b = poly(e->args[1]);
      if (b.size() != 1) {
        ExprPtr below = expression(b, e->type);
        return product(poly(e->args[0]), {{1, {apply(Op::kDiv, {number(1, e->type), below})}}});
      }
      Monomial m{1 / b[0].coefficient, {}};
      for (const ExprPtr& f : b[0].factors) {
        m.factors.push_back(inverse_of(f) ? f->args[1] : apply(Op::kDiv, {number(1, e->type), f}));
      }
      std::sort(m.factors.begin(), m.factors.end(),
                [&](const ExprPtr& x, const ExprPtr& y) { return age(x) < age(y); });
      return product(poly(e->args[0]), {m});
    }
    case Op::kLog:
      if (e->args[0]->op == Op::kExp) return poly(e->args[0]->args[0]);
      return atom;
    case Op::kCast:
      // Widening is exact.
      if (e->type == ScalarType::f64 && e->args[0]->type == ScalarType::f32) {
        Poly p = poly(e->args[0]);
        if (p.size() == 1 && p[0].factors.size() == 1 && p[0].factors[0] == e->args[0]) return atom;
        for (Monomial& m : p) {
          for (ExprPtr& f : m.factors) f = cast(e->type, f);
        }
        sort(p);
        return p;
      }
      return atom;
    case Op::kSelect: {
      if (has_infinity(e->args[0]) || has_infinity(e->args[2])) return atom;
      // What both branches share is taken out.
      Poly a = poly(e->args[0]), b = poly(e->args[2]), common;
      for (const Monomial& x : a) {
        for (const Monomial& y : b) {
          if (x.factors == y.factors && x.coefficient == y.coefficient) common.push_back(x);
        }
      }
      if (common.empty()) return atom;
      ExprPtr rest = select(e->args[1], expression(sum(a, scaled(common, -1)), e->type),
                            expression(sum(b, scaled(common, -1)), e->type));
      return is_number(rest, 0) ? common : sum(common, Poly{{1, {rest}}});
    }
    case Op::kSum: {
      if (is_answer(e)) return atom;
      Poly out;
      for (const Monomial& m : poly(e->args[0])) {
        Monomial outer{m.coefficient, {}}, inner{1, {}};
        for (const ExprPtr& f : m.factors) ((f->axes & e->over).empty() ? outer : inner).factors.push_back(f);
        outer.factors.push_back(made(tile::reduce(Op::kSum, e->over, expression({inner}, e->type))));
        std::sort(outer.factors.begin(), outer.factors.end(),
                  [&](const ExprPtr& x, const ExprPtr& y) { return age(x) < age(y); });
        out.push_back(std::move(outer));
      }
      sort(out);
      return out;
    }
    default: return atom;
  }
}

ExprPtr Algebra::expression(const Poly& p, ScalarType type) {
  ExprPtr out = number(0, type);
  // What is added first, so that a sum rarely starts with a sign.
  auto put = [&](const Monomial& m) {
    ExprPtr above = nullptr, below = nullptr;
    for (const ExprPtr& f : m.factors) {
      if (inverse_of(f)) {
        below = below ? mul(below, f->args[1]) : f->args[1];
      } else {
        above = above ? mul(above, f) : f;
      }
    }
    double k = m.coefficient;
    bool minus = k < 0;
    ExprPtr size = number(std::abs(k), type);
    ExprPtr term = above ? mul(size, above) : size;
    if (below) term = div(term, below);
    out = minus ? sub(out, term) : add(out, term);
  };
  for (const Monomial& m : p) {
    if (m.coefficient > 0) put(m);
  }
  for (const Monomial& m : p) {
    if (m.coefficient <= 0) put(m);
  }
  return out;
}

}  // namespace quern::fuse::algebra
