// Splitting a summand into parts of the element and parts of the results (docs/derivation.md, "separation").
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "fuse/derive/algebra.h"
#include "fuse/derive/interval.h"

namespace quern::fuse::algebra {

// (y + z)^power: y of the element, z of results; parts are added.
struct Split {
  std::vector<ExprPtr> y, z;
};
struct Power {
  Split of;
  int power = 1;
};

// c(r) * u(x) * exp(h(x)) * Π (y(x) + z(r))^k where the guards hold, summed over the axes `extra` at the finish.
struct Term {
  ExprPtr c;               // of results and of what is known
  std::vector<ExprPtr> u;  // factors, as written
  std::vector<ExprPtr> divisors;
  std::vector<ExprPtr> h;  // parts of an exponent that was split
  bool lost = false;       // the exponent lost a result to c
  std::vector<Power> d;
  std::vector<ExprPtr> guards;
  AxisSet extra;
};

struct NoSplit {
  ExprPtr term;
  std::string why;
};
template <class T>
using Tried = std::expected<T, NoSplit>;

class Separator {
 public:
  Separator(Algebra& a, Intervals& intervals) : a_(a), intervals_(intervals) {}

  Tried<std::vector<Term>> separate(const ExprPtr& e);
  // e as y + z; nothing if it isn't a sum of a part of the element and a part of results.
  std::optional<Split> additive(const ExprPtr& e);
  ExprPtr added(const std::vector<ExprPtr>& parts, ScalarType type);
  // A condition of class element and result that is equal to one of class element, if there is one.
  Tried<ExprPtr> condition(const ExprPtr& c);

 private:
  using Terms = std::vector<Term>;
  Term unit(const ExprPtr& e);
  Tried<Terms> element(const ExprPtr& e);
  Tried<Terms> sum(const ExprPtr& e);
  Tried<Terms> product(const Terms& a, const Terms& b, const ExprPtr& e);
  Tried<Terms> quotient(const ExprPtr& e);
  Tried<Terms> exponential(const ExprPtr& e, const ExprPtr& argument);
  Tried<Terms> logarithm(const ExprPtr& e, double scale);
  Tried<Terms> root(const ExprPtr& e, const ExprPtr& base, double q);
  Tried<Terms> absolute(const ExprPtr& e);
  Tried<Terms> extremum(const ExprPtr& e);
  Tried<Terms> trigonometric(const ExprPtr& e);
  Tried<Terms> choice(const ExprPtr& e);
  Tried<Terms> inner(const ExprPtr& e);
  bool same(const Split& a, const Split& b);

  Algebra& a_;
  Intervals& intervals_;
};

// The parts of a conjunction.
std::vector<ExprPtr> conjuncts(const ExprPtr& c);

}  // namespace quern::fuse::algebra
