// What holds at one place of a program: indices in scope with their ranges, facts from ranges and guards, and integer
// expressions as linear forms over atoms (indices, opaque terms with an interval).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "expr/bind.h"
#include "expr/program.h"
#include "expr/prove/linear.h"

namespace quern::expr {

// A size that is not known is taken to be no larger than this: a launch with a larger one would not fit any memory.
// It keeps arithmetic on such sizes from wrapping; nothing is proved by it.
inline constexpr int64_t kLargestSymbol = int64_t{1} << 40;

struct AtomInfo {
  Interval interval;
  int64_t least = INT64_MIN, most = INT64_MAX;  // what 64-bit arithmetic meets: the interval where it is known
  bool data = false;                            // its value comes from data
  IndexId index = kNoIndex;                     // an index; `node` is null
  Symbol name;                                  // of the index
  int32_t tensor = -1;                          // an element of this parameter
  // e // c: the quotient of `numerator` by `divisor` > 0; e % c: the remainder of `dividend`
  std::optional<Linear> numerator, dividend;
  int64_t divisor = 0;
  std::vector<Linear> facts;  // >= 0 whenever the atom occurs
  // min, max, if: the atom is one of these, and then these facts hold besides.
  struct Alternative {
    Linear value;
    std::vector<Linear> facts;
  };
  std::vector<Alternative> alternatives;
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
  // Integers wrap, forms do not: what a form says holds only where its value has 64 bits, which `fits` asks. The
  // interval of a form that may wrap is unknown.
  bool fits(const Linear& form) const { return form.valid && reach(form).has_value(); }
  Interval interval(const Linear& form) const;
  bool is_data(const Linear& form) const;
  const AtomInfo& info(Atom a) const { return atoms_[a]; }

  // --- goals ---
  // Is form >= 0 everywhere in scope?
  bool prove(const Linear& goal);
  // Is form 0 nowhere in scope: above, below, or never a multiple of what divides all its coefficients?
  bool never_zero(const Linear& form);
  // Values of all indices in scope, each in its range, where the goal is negative; nullopt where there is a guard, or
  // where the goal's own corner can't be shown to be reached.
  using Witness = std::map<Atom, int64_t>;
  std::optional<Witness> witness(const Linear& goal);
  std::optional<int64_t> value_at(const Linear& form, const Witness& at) const;

 private:
  struct Index {
    IndexId id;
    Atom before;  // the atom the id stood for outside
    Atom atom;
    Linear lo, hi;
  };
  struct LocalFacts {  // of a local, by its number; made in order, so that no chain of locals is a deep recursion
    Interval interval;
    bool data = false;
  };
  using Locals = std::vector<LocalFacts>;

  Atom opaque(const std::string& key, const Interval& interval, bool data);
  void narrow(Atom atom, const std::optional<std::pair<int64_t, int64_t>>& reach);
  std::optional<std::pair<int64_t, int64_t>> reach(const Linear& form) const;  // nullopt: may wrap
  Linear quotient(const Linear& numerator, int64_t divisor);
  Linear remainder(const Linear& value, int64_t divisor);
  Linear product(const Linear& a, const Linear& b);
  Linear division(const NodePtr& node);
  Linear opaque_operation(const NodePtr& node);
  Linear opaque_operation(const NodePtr& node, const std::vector<Linear>& forms);
  Linear extremum(const NodePtr& node);
  Linear read(const NodePtr& node);
  bool inside_domain(const NodePtr& node, const std::vector<Linear>& at);
  Interval interval_of(const NodePtr& node, const std::vector<Linear>& forms);
  const LocalFacts& local_facts(int32_t local);
  bool reads_data(const NodePtr& node);
  bool complete(Witness& at, size_t index, int& tries) const;
  bool search(const Linear& goal, int depth);
  bool search_alternatives(const Linear& goal, Atom atom, int depth);
  std::vector<AtomInfo::Alternative> branches(const NodePtr& select, const std::vector<Linear>& forms);
  void gather(const Linear& goal, std::vector<Linear>& facts) const;
  void learn(Linear fact, bool valid);
  std::optional<int64_t> pinned(Atom atom) const;

  const Program& program_;
  const Binding& binding_;
  std::vector<AtomInfo> atoms_;
  std::unordered_map<std::string, Atom> by_key_;
  std::unordered_map<IndexId, Atom> current_;
  std::vector<Index> indices_;
  std::vector<Linear> facts_;
  std::shared_ptr<Locals> locals_ = std::make_shared<Locals>();
  std::unordered_map<const Node*, bool> reads_data_;
  std::unordered_map<const Node*, std::vector<IndexId>> free_;
  size_t guards_ = 0;
  size_t empty_ = 0;
  int steps_ = 0;    // left in the search at hand
  int domains_ = 0;  // of locals whose ranges are being looked at
};

}  // namespace quern::expr
