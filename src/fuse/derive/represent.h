// How raw sums are kept: which gauge an exponent gets, which centre a difference, and which accumulators that makes
// (docs/derivation.md, "representations"). Equal sums are one accumulator.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "fuse/derive/separate.h"

namespace quern::fuse::algebra {

// Elements whose key equals a result.
struct Selection {
  ExprPtr key;
  ExprPtr selected;  // over raw sums
  bool unordered = false;
};

// The same sum with lower powers of its differences.
bool is_lower(const Accumulator& low, const Accumulator& high);

class Representer {
 public:
  Representer(Algebra& a, Intervals& intervals, Separator& separator, Pass& pass, const std::set<const Expr*>& plain)
      : a_(a), intervals_(intervals), separator_(separator), pass_(pass), plain_(plain) {}

  // The results of this pass in terms of raw sums.
  ExprPtr resolve(const ExprPtr& e) { return a_.substitute(a_.substitute(e, answers_, false), assumed); }
  // Conditions on raw sums that are taken to hold, or not, in the branch that is being derived.
  Algebra::Map assumed;
  void answer(const ExprPtr& reduction, const ExprPtr& finish);
  bool answered(const ExprPtr& reduction) const { return answers_.count(reduction.get()) != 0; }

  // c(r) * Σ of the term, over raw sums.
  Tried<ExprPtr> value(const Term& t, const ExprPtr& reduction, const Selection* selection = nullptr);
  // The raw symbol of another reduction, or of a sum of whole elements.
  ExprPtr plain(Op op, const ExprPtr& element, const Selection* selection = nullptr);
  // Takes branches that are -inf off a sum: their conditions, and what is left.
  ExprPtr strip(const ExprPtr& h, std::vector<ExprPtr>& guards);
  // Is the raw sum an index of the streamed range that a selection found, for the key that is this index?
  bool selects(int raw, const ExprPtr& key) const;
  // Its key, and the extremum that this equals.
  std::pair<ExprPtr, ExprPtr> selected_by(int raw) const {
    return {pass_.accumulators[raw].key, pass_.accumulators[raw].selected};
  }
  // The number of elements in range.
  ExprPtr count();
  // Is there an element where the guards hold? Null: always.
  ExprPtr some(const std::vector<ExprPtr>& guards);
  // Is it `a sum if it is over anything else 0`, made here because factors that it was multiplied with may not be
  // finite?
  bool is_unless_nothing(const ExprPtr& e) const { return unless_nothing_.contains(e.get()); }
  // What a derivation that fails must take back.
  struct Snapshot {
    Pass pass;
    Algebra::Map answers;
    std::map<std::string, int> accumulators, centres;
    std::map<int, const Expr*> attempts;
  };
  Snapshot snapshot() const { return {pass_, answers_, accumulators_, centres_, attempts}; }
  void restore(const Snapshot& s);
  // Exponents whose invented gauge is only an attempt: the accumulators' normal forms, by gauge.
  std::map<int, const Expr*> attempts;

 private:
  struct Element {
    std::vector<ExprPtr> guards, weights, divisors, exponentials, h;
    double sign = 1;
  };
  struct Exponent {
    ExprPtr written, clean;
    std::vector<ExprPtr> mask;
    double k = 1;
    int gauge = -1;
    ExprPtr rest;  // free of elements; null: none
  };
  void peel(const ExprPtr& factor, bool below, Element& out);
  Exponent exponent(const Element& e, bool lost);
  void drop_implied(std::vector<ExprPtr>& guards, const Exponent& h);
  bool assumed_some(const std::vector<ExprPtr>& guards);
  struct About {
    ExprPtr rho, running;  // of Centre
  };
  About about(const Poly& moving, ScalarType type);
  ExprPtr take_amplitude(ExprPtr c, Accumulator& acc);
  int centre(const std::vector<ExprPtr>& y, const About& about);
  ExprPtr running_mean(const Monomial& m, ScalarType type);
  int find_or_make(Accumulator acc);
  ExprPtr family(Accumulator acc);
  ExprPtr raw(int index);
  ExprPtr conjunction(const std::vector<ExprPtr>& guards);
  std::string key(const Accumulator& acc);

  Algebra& a_;
  Intervals& intervals_;
  Separator& separator_;
  Pass& pass_;
  const std::set<const Expr*>& plain_;  // exponents that get no invented gauge
  Algebra::Map answers_;
  std::map<std::string, int> accumulators_;
  std::map<std::string, int> centres_;
  std::unordered_set<const Expr*> unless_nothing_;

 public:
  Rules rules;
};

}  // namespace quern::fuse::algebra
