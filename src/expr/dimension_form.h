// Linear normal form of dimension expressions: sums of rational multiples of products of names, where a floor division
// or a division by a sum is one opaque factor. Two dimensions are equal when their forms are (`K / 2 * 2` is `K`), and
// a dimension is solved for a name in which its form is linear.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "expr/node.h"

namespace quern::expr {

// num / den in lowest terms, den > 0. Arithmetic that overflows 64 bits gives nullopt.
struct Rational {
  int64_t num = 0;
  int64_t den = 1;
  bool operator==(const Rational&) const = default;
};
std::optional<Rational> add(Rational a, Rational b);
std::optional<Rational> multiply(Rational a, Rational b);
std::optional<Rational> divide(Rational a, Rational b);

// Factors by name with their exponents (negative: divided by); opaque ones have their own canonical text as name.
using Monomial = std::map<std::string, int>;

struct DimensionForm {
  std::map<Monomial, Rational> terms;  // no zero coefficients
  bool operator==(const DimensionForm&) const = default;
};

// nullopt if the expression is none (real literals, data, indices) or its coefficients overflow.
std::optional<DimensionForm> dimension_form(const NodePtr& node);

// True only if both have forms and these agree.
bool same_dimension(const NodePtr& a, const NodePtr& b);

// Names that occur, also inside opaque factors.
std::vector<Symbol> dimension_names(const NodePtr& node);

// The form as slope * name + offset, if it is linear in `name` (slope and offset may use other names).
struct LinearIn {
  DimensionForm slope;
  DimensionForm offset;
};
std::optional<LinearIn> linear_in(const DimensionForm& form, Symbol name);

}  // namespace quern::expr
