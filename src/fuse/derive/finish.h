// The source's results from the accumulators: numbers with a separate exponent, which is a symbol, so that what a gauge
// put in cancels exactly (docs/derivation.md, "finish").
#pragma once

#include <set>

#include "fuse/derive/represent.h"

namespace quern::fuse::algebra {

class Finisher {
 public:
  // `exact`: gauges that follow their extremum itself, not in steps.
  Finisher(Algebra& a, Intervals& intervals, Representer& representer, const Pass& pass, const Rules& rules,
           const std::set<int>& exact)
      : a_(a), intervals_(intervals), representer_(representer), pass_(pass), rules_(rules), exact_(exact) {}

  // A value over raw sums, as computed from stored accumulators.
  ExprPtr plain(const ExprPtr& e);
  // Gauges that had to be multiplied back as exp(g), since nothing cancelled them.
  std::set<int> uncancelled;
  // Those of them without a larger exponent taken off: the product may overflow.
  std::set<int> surviving;

 private:
  // m * exp(e). Where `present` is false, 0: so is m, but e may not be finite if it stays.
  struct Scaled {
    ExprPtr m;
    Poly e;
    ExprPtr present = nullptr;
  };
  Scaled scaled(const ExprPtr& e);
  Scaled compute(const ExprPtr& e);
  Scaled accumulator(int index);
  Scaled sum(const Scaled& a, Scaled b, bool minus, ScalarType type);
  Scaled choice(const ExprPtr& e);
  Scaled exponential(const ExprPtr& argument);
  ExprPtr value(const Scaled& s);
  bool stays_finite(const Monomial& m);
  ExprPtr presence(const ExprPtr& m);
  ExprPtr inside(const ExprPtr& m, const std::function<ExprPtr(const ExprPtr&)>& change);
  ExprPtr times(const ExprPtr& m, const ExprPtr& factor);
  ExprPtr condition(const ExprPtr& c);
  ExprPtr extremum_in(const ExprPtr& x);
  void open_exponent(Scaled& s);
  ExprPtr is_finite(const ExprPtr& x);
  Scaled settled(Scaled s);
  Scaled closed(Scaled s);
  bool is_sum(const ExprPtr& e);
  bool is_sum_at_its_gauge(const Scaled& s);
  ExprPtr opened(const ExprPtr& e);
  ExprPtr stored(int index);
  ExprPtr gauge_symbol(int gauge, ScalarType type);
  // What the stored centre is more than the true one, if that is a mean whose first moment is kept, or a sum that was
  // kept as a mean; null: nothing.
  ExprPtr residue(int centre, ScalarType type);
  ExprPtr first_moment(int centre, const ExprPtr& rho, ScalarType type);
  int unit_sum(int extremum);

  Algebra& a_;
  Intervals& intervals_;
  Representer& representer_;
  const Pass& pass_;
  const Rules& rules_;
  const std::set<int>& exact_;
  std::unordered_map<const Expr*, Scaled> memo_;
  std::vector<ExprPtr> kept_;
};

}  // namespace quern::fuse::algebra
