#include "expr/dimension_form.h"

#include <algorithm>
#include <numeric>

#include "expr/print.h"

namespace quern::expr {
namespace {

std::optional<int64_t> times(int64_t a, int64_t b) {
  int64_t out;
  if (__builtin_mul_overflow(a, b, &out)) return std::nullopt;
  return out;
}

std::optional<Rational> reduced(int64_t num, int64_t den) {
  if (den == 0 || num == INT64_MIN || den == INT64_MIN) return std::nullopt;
  int64_t g = std::gcd(num, den);
  if (g > 1) {
    num /= g;
    den /= g;
  }
  return den < 0 ? Rational{-num, -den} : Rational{num, den};
}

std::optional<DimensionForm> plus(const DimensionForm& a, const DimensionForm& b, int64_t sign) {
  DimensionForm out = a;
  for (const auto& [monomial, coefficient] : b.terms) {
    auto scaled = multiply(coefficient, {sign, 1});
    auto total = scaled ? add(out.terms[monomial], *scaled) : std::nullopt;
    if (!total) return std::nullopt;
    if (total->num == 0) {
      out.terms.erase(monomial);
    } else {
      out.terms[monomial] = *total;
    }
  }
  return out;
}

Monomial product(const Monomial& a, const Monomial& b, int sign) {
  Monomial out = a;
  for (const auto& [factor, exponent] : b) {
    if ((out[factor] += sign * exponent) == 0) out.erase(factor);
  }
  return out;
}

std::optional<DimensionForm> times(const DimensionForm& a, const DimensionForm& b) {
  DimensionForm out;
  for (const auto& [x, p] : a.terms) {
    for (const auto& [y, q] : b.terms) {
      auto coefficient = multiply(p, q);
      Monomial m = product(x, y, 1);
      auto total = coefficient ? add(out.terms[m], *coefficient) : std::nullopt;
      if (!total) return std::nullopt;
      out.terms[m] = *total;
    }
  }
  std::erase_if(out.terms, [](const auto& t) { return t.second.num == 0; });
  return out;
}

DimensionForm opaque(std::string text) { return {{{Monomial{{std::move(text), 1}}, Rational{1, 1}}}}; }

std::string text(const DimensionForm& form) {
  std::string out;
  for (const auto& [monomial, c] : form.terms) {
    out += "+" + std::to_string(c.num) + "/" + std::to_string(c.den);
    for (const auto& [factor, exponent] : monomial) out += "*" + factor + "^" + std::to_string(exponent);
  }
  return "(" + out + ")";
}

}  // namespace

std::optional<Rational> add(Rational a, Rational b) {
  auto x = times(a.num, b.den), y = times(b.num, a.den), den = times(a.den, b.den);
  int64_t num;
  if (!x || !y || !den || __builtin_add_overflow(*x, *y, &num)) return std::nullopt;
  return reduced(num, *den);
}

std::optional<Rational> multiply(Rational a, Rational b) {
  auto num = times(a.num, b.num), den = times(a.den, b.den);
  if (!num || !den) return std::nullopt;
  return reduced(*num, *den);
}

std::optional<Rational> divide(Rational a, Rational b) {
  if (b.num == 0) return std::nullopt;
  return multiply(a, b.num < 0 ? Rational{-b.den, -b.num} : Rational{b.den, b.num});
}

std::optional<DimensionForm> dimension_form(const NodePtr& node) {
  switch (node->op) {
    case Op::kInteger: {
      DimensionForm out;
      if (node->integer != 0) out.terms[{}] = {node->integer, 1};
      return out;
    }
    case Op::kDimension:
    case Op::kUpper: return opaque(node->name.str());
    case Op::kNeg: {
      auto a = dimension_form(node->args[0]);
      return a ? plus({}, *a, -1) : std::nullopt;
    }
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kDiv:
    case Op::kFloorDiv: break;
    default: return std::nullopt;
  }
  auto a = dimension_form(node->args[0]), b = dimension_form(node->args[1]);
  if (!a || !b) return std::nullopt;
  if (node->op == Op::kAdd) return plus(*a, *b, 1);
  if (node->op == Op::kSub) return plus(*a, *b, -1);
  if (node->op == Op::kMul) return times(*a, *b);
  if (node->op == Op::kDiv && b->terms.size() == 1) {
    const auto& [monomial, coefficient] = *b->terms.begin();
    DimensionForm out;
    for (const auto& [m, c] : a->terms) {
      auto q = divide(c, coefficient);
      if (!q) return std::nullopt;
      out.terms[product(m, monomial, -1)] = *q;
    }
    return out;
  }
  bool floor = node->op == Op::kFloorDiv;
  auto constant = [](const DimensionForm& f) -> std::optional<int64_t> {
    if (f.terms.empty()) return 0;
    if (f.terms.size() == 1 && f.terms.begin()->first.empty() && f.terms.begin()->second.den == 1) {
      return f.terms.begin()->second.num;
    }
    return std::nullopt;
  };
  if (auto x = constant(*a), y = constant(*b); floor && x && y && *y > 0) {
    DimensionForm out;
    int64_t q = *x / *y - (*x % *y < 0);
    if (q) out.terms[{}] = {q, 1};
    return out;
  }
  return opaque((floor ? "floor" : "over") + text(*a) + text(*b));
}

bool same_dimension(const NodePtr& a, const NodePtr& b) {
  if (equal(a, b)) return true;
  if (a->op == Op::kDimension && b->op == Op::kDimension) return a->name == b->name;
  auto x = dimension_form(a), y = dimension_form(b);
  return x && y && *x == *y;
}

std::vector<Symbol> dimension_names(const NodePtr& node) {
  std::vector<Symbol> out;
  auto walk = [&](auto& self, const NodePtr& n) -> void {
    bool name = n->op == Op::kDimension || n->op == Op::kUpper;
    if (name && std::ranges::find(out, n->name) == out.end()) out.push_back(n->name);
    for (const NodePtr& arg : n->args) self(self, arg);
  };
  walk(walk, node);
  return out;
}

std::optional<LinearIn> linear_in(const DimensionForm& form, Symbol name) {
  LinearIn out;
  for (const auto& [monomial, coefficient] : form.terms) {
    Monomial rest = monomial;
    int exponent = 0;
    if (auto it = rest.find(name.str()); it != rest.end()) {
      exponent = it->second;
      rest.erase(it);
    }
    // An opaque factor is text that may hold the name; brackets mark opaque ones.
    for (const auto& [factor, power] : rest) {
      if (factor.find('(') != std::string::npos && factor.find("*" + name.str() + "^") != std::string::npos) {
        return std::nullopt;
      }
    }
    if (exponent == 0) {
      out.offset.terms[rest] = coefficient;
    } else if (exponent == 1) {
      out.slope.terms[rest] = coefficient;
    } else {
      return std::nullopt;
    }
  }
  if (out.slope.terms.empty()) return std::nullopt;
  return out;
}

}  // namespace quern::expr
