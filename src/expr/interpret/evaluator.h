// Evaluates the steps of a plan, one instance at a time; one object a thread.
#pragma once

#include <cstring>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/running_error.h"
#include "expr/interpret/plan.h"

namespace quern::expr {

// A result while it is made: values in f64 or i64 with bounds; reads of a finished one see it rounded.
struct Store {
  std::vector<double> real;
  std::vector<double> bound;
  std::vector<double> magnitude;  // of '+=': sum of absolute terms
  std::vector<int32_t> count;     // of '+=': number of terms
  std::vector<int64_t> integer;   // integers and bools
};

// What all threads read.
struct Memory {
  std::vector<const void*> arguments;  // of each tensor, or null
  std::vector<Store> stores;           // of each tensor; empty for parameters
  bool bounds = true;
};

// Something the data did; `order` is the update and the instance, so that the first one is the same on every run.
struct Finding {
  std::pair<int64_t, int64_t> order;
  Diagnostic diagnostic;
};

class Evaluator {
 public:
  Evaluator(const Plan& plan, const Memory& memory);

  int64_t& slot(int index) { return slots_[index]; }
  void at(int64_t update, int64_t instance) { order_ = {update, instance}; }

  Real real(const Step& s);
  // Most subscripts are plain indices.
  Int integer(const Step& s) {
    if (s.op == Op::kIndex) return {slots_[static_cast<size_t>(s.target)], 0};
    return other_integer(s);
  }
  Bool boolean(const Step& s);
  Real number(const Step& s);  // integers converted

  // The ends of a range with the outer indices set; cut to its limit.
  struct Ends {
    int64_t lo, hi;
    bool sure;
  };
  Ends ends(const Range& r);
  void quietly(bool on) { quiet_ += on ? 1 : -1; }  // evaluating for a bound only: nothing is reported

  // "i = 3, n = 7": the indices that `node` depends on, as they are now.
  std::string where(const Node& node) const;
  void report(Code code, const Node& node, int axis, std::initializer_list<Argument> arguments);
  std::map<std::pair<const Node*, int>, Finding>& findings() { return findings_; }

 private:
  union Slot {  // a value of the step's kind
    Real real;
    Int integer;
    Bool boolean;
    Slot() : real{} {}
  };
  struct Remembered {
    bool valid = false;
    std::vector<int64_t> key;
    Slot value;
  };
  // Direct-mapped, by the subscripts; grows while elements push each other out.
  struct Cache {
    size_t rank = 0;
    size_t capacity = 0;
    size_t pushed_out = 0;
    std::vector<int64_t> keys;
    std::vector<uint8_t> valid;
    std::vector<Slot> values;
  };

  Int other_integer(const Step& s);
  void fill(const Step& s, Slot& into);
  const Slot& remembered(const Step& s);
  Slot evaluate(const Step& s);
  Slot read(const Step& s);
  Slot local(const Step& s);
  size_t place(const Cache& cache, const int64_t* key) const;
  void grow(Cache& cache);
  Slot element(const Step& s, int64_t linear);
  Slot outside_read(const Step& s);
  void outside_range(const Node& node, std::string name, size_t axis, int64_t at, int64_t lo, int64_t hi);
  Slot select(const Step& s);
  Slot cast(const Step& s);
  Real real_arithmetic(const Step& s);
  Int whole_arithmetic(const Step& s);
  Slot extremum(const Step& s);
  Slot within(const Step& s);
  static void doubt(const Step& s, Slot& value);  // reached through a subscript that may be off
  Bool compare(const Step& s);
  int64_t whole_divide(const Step& s, int64_t a, int64_t b);

  // reduce.cc
  void cut(const Range& r, const Node& place, std::string_view which, int64_t bound, int64_t index);
  Slot reduce(const Step& s);
  template <class Body>
  bool loop(const Step& s, size_t depth, Body&& body);
  Slot sum(const Step& s);
  Slot product(const Step& s);
  Slot extreme(const Step& s, bool max);
  Slot position(const Step& s, bool max);
  Slot quantifier(const Step& s, bool all);
  Real contracted(const SumParts& parts, double& largest);
  bool takes_out_infinity(const SumParts& parts);
  template <class Visit>
  void each_inside(const SumParts::Factor& factor, Visit&& visit);
  void gate(const GatedSum& sum, Real& term, double& largest);
  double peak(const Step& s);
  static bool exact_operand(const SumParts& parts, std::span<const Real> factors, int k);

  const Plan& plan_;
  const Memory& memory_;
  std::vector<int64_t> slots_;
  std::vector<Remembered> memos_;
  std::vector<Cache> caches_;
  std::pair<int64_t, int64_t> order_{0, 0};
  std::map<std::pair<const Node*, int>, Finding> findings_;
  std::vector<Real> factors_, terms_;  // of the terms of contractions at hand
  int quiet_ = 0;                      // evaluating a branch that is not taken, for its bound only
  bool failed_ = false;                // something was outside while quiet
};

}  // namespace quern::expr
