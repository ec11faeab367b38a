// One reduction of a pass: which accumulators it needs and what it is in terms of their raw values. Conditions on
// results are taken out first; then a sum is separated, a maximum hoisted through monotone steps, a product split, or a
// selection recognised (docs/derivation.md, "separation").
#pragma once

#include "fuse/derive/represent.h"

namespace quern::fuse::algebra {

class Reducer {
 public:
  Reducer(Algebra& a, Intervals& intervals, Separator& separator, Representer& representer)
      : a_(a), intervals_(intervals), separator_(separator), representer_(representer) {}

  // Over raw sums.
  Tried<ExprPtr> derive(const ExprPtr& reduction);

 private:
  Tried<ExprPtr> split(const ExprPtr& reduction, const ExprPtr& body, int depth);
  Tried<ExprPtr> sum(const ExprPtr& reduction, const ExprPtr& body);
  Tried<ExprPtr> lattice(Op op, const ExprPtr& e, const ExprPtr& guard);
  Tried<ExprPtr> product(const ExprPtr& reduction, const ExprPtr& body);
  std::optional<Tried<ExprPtr>> selection(const ExprPtr& reduction, const ExprPtr& body);
  std::optional<Selection> key_of(const ExprPtr& condition, ExprPtr& result);
  ExprPtr result_condition(const ExprPtr& body);

  Algebra& a_;
  Intervals& intervals_;
  Separator& separator_;
  Representer& representer_;
  int index_of_ = -1;  // the selection that found the index of the last key
};

}  // namespace quern::fuse::algebra
