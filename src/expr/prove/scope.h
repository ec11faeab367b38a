// What holds at one place of a program: indices in scope with their ranges, facts from ranges and guards, and integer
// expressions as linear forms over atoms (indices, opaque terms with an interval).
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "expr/bind.h"
#include "expr/program.h"
#include "expr/prove/linear.h"

namespace quern::expr {

struct AtomInfo {
  Interval interval;
  bool data = false;       // its value comes from data
  IndexId index = kNoIndex;  // an index; `node` is null
  Symbol name;             // of the index
  int32_t tensor = -1;     // an element of this parameter
  // e // c: the quotient of `numerator` by `divisor` > 0
  std::optional<Linear> numerator;
  int64_t divisor = 0;
  std::vector<Linear> facts;  // >= 0 whenever the atom occurs
};

class ProofScope {
 public:
  ProofScope(const Program& program, const Binding& binding) : program_(program), binding_(binding) {}

  // --- what is in scope ---
  struct Mark {
    size_t facts;
    size_t guards;
    size_t indices;
    size_t empty;
  };
  Mark mark() const { return {facts_.size(), guards_, indices_.size(), empty_}; }
  void restore(const Mark& mark);
  // An index ranges over [lo, hi); what held of an outer index of the same id no longer does.
  void enter(const Binder& binder);
  void assume(const NodePtr& condition, bool holds);

  bool unreachable() const { return empty_ > 0; }  // some range in scope is empty
  bool guarded() const { return guards_ > 0; }

  // --- expressions ---
  Linear linear(const NodePtr& node);
  // The same with some indices standing for forms already made (a local's indices for the subscripts of its reader).
  Linear linear_with(const NodePtr& node, const std::vector<std::pair<IndexId, Linear>>& values);
  Interval interval(const Linear& form) const;
  bool is_data(const Linear& form) const;
  const AtomInfo& info(Atom a) const { return atoms_[a]; }

  // --- goals ---
  // Is form >= 0 everywhere in scope?
  bool prove(const Linear& goal);
  // A corner of the ranges where a form over independent indices is negative; empty if the form is none.
  std::optional<std::vector<std::pair<Atom, int64_t>>> witness(const Linear& goal);

 private:
  struct Index {
    IndexId id;
    Atom before;  // the atom the id stood for outside
    Atom atom;
  };

  Atom opaque(const std::string& key, const Interval& interval, bool data);
  Linear quotient(const Linear& numerator, int64_t divisor);
  Linear remainder(const Linear& value, int64_t divisor);
  Linear opaque_operation(const NodePtr& node);
  Linear extremum(const NodePtr& node);
  Linear read(const NodePtr& node);
  Interval interval_of(const NodePtr& node);
  Interval local_interval(int32_t local);
  bool search(const Linear& goal, int depth);
  void gather(const Linear& goal, std::vector<const Linear*>& facts) const;

  const Program& program_;
  const Binding& binding_;
  std::vector<AtomInfo> atoms_;
  std::unordered_map<std::string, Atom> by_key_;
  std::unordered_map<IndexId, Atom> current_;
  std::vector<Index> indices_;
  std::vector<Linear> facts_;
  std::unordered_map<int32_t, Interval> local_intervals_;
  size_t guards_ = 0;
  size_t empty_ = 0;
  int steps_ = 0;  // left in the search at hand
};

}  // namespace quern::expr
