#include "fuse/stream.h"

#include <unordered_map>
#include <unordered_set>

#include "fuse/contract.h"
#include "tile/range.h"

namespace quern::fuse {

using tile::AxisSet;
using tile::Expr;
using tile::ExprPtr;
using tile::Family;

namespace {

class Chains {
 public:
  Chains(const Graph& graph, const tile::Machine& machine) : machine_(machine), ranges_(graph.program, graph.axes) {}

  void look(const ExprPtr& e) {
    if (!e || !seen_.insert(e.get()).second) return;
    if (tile::row(*e).family == Family::reduce) {
      const AxisSet inside = reduced_below(e->args[0]);
      // A chain: what is reduced over these axes reads what is reduced over them.
      // Over a few elements each reduction is taken by itself: what is summed may not be scaled anew then.
      bool chain = !found_ && inside.contains(e->over) && chained(e->args[0], e->over);
      if (chain && may_regroup(ranges_, e->over) && dear(e)) found_ = e->over;
    }
    for (const ExprPtr& a : e->args) look(a);
    look(e->guard);
  }
  std::optional<AxisSet> found() const { return found_; }

 private:
  // All axes that reductions below run over.
  AxisSet reduced_below(const ExprPtr& e) {
    if (auto at = below_.find(e.get()); at != below_.end()) return at->second;
    AxisSet out;
    if (tile::row(*e).family == Family::reduce) out |= e->over;
    for (const ExprPtr& a : e->args) out |= reduced_below(a);
    if (e->guard) out |= reduced_below(e->guard);
    return below_[e.get()] = out;
  }

  bool chained(const ExprPtr& e, AxisSet over) {
    if (!reduced_below(e).contains(over)) return false;
    if (tile::row(*e).family == Family::reduce && e->over == over) return true;
    for (const ExprPtr& a : e->args) {
      if (chained(a, over)) return true;
    }
    return e->guard && chained(e->guard, over);
  }

  // An element that holds a reduction of its own (a score) costs much; so do more of them than stay close.
  bool dear(const ExprPtr& reduction) {
    if (varying_reduction(reduction->args[0], reduction->over)) return true;
    double elements = 1;
    for (tile::AxisId a : reduction->over.list()) {
      tile::Bounds b = ranges_.axis(a);
      elements *= b.low && b.high ? static_cast<double>(*b.high - *b.low + 1) : 1e9;
    }
    return elements * 4 > static_cast<double>(machine_.near_bytes);
  }

  // Is something reduced over other axes for every element?
  bool varying_reduction(const ExprPtr& e, AxisSet over) {
    if ((reduced_below(e) - over).empty() || (e->axes & over).empty()) return false;
    if (tile::row(*e).family == Family::reduce && !(e->axes & over).empty()) return true;
    for (const ExprPtr& a : e->args) {
      if (varying_reduction(a, over)) return true;
    }
    return false;
  }

  const tile::Machine& machine_;
  tile::Ranges ranges_;
  std::unordered_map<const Expr*, AxisSet> below_;
  std::unordered_set<const Expr*> seen_;
  std::optional<AxisSet> found_;
};

}  // namespace

std::optional<AxisSet> worth_streaming(const Graph& graph, const std::vector<const Definition*>& definitions,
                                       const tile::Machine& machine) {
  Chains chains(graph, machine);
  for (const Definition* d : definitions) chains.look(d->store.value);
  auto found = chains.found();
  if (!found) return std::nullopt;
  for (const Definition* d : definitions) {
    // What is written for every element of the axis needs all elements once more anyway.
    if (!(d->store.value->axes & *found).empty()) return std::nullopt;
    for (tile::AxisId a : d->axes) {
      if (found->has(a)) return std::nullopt;
    }
  }
  return found;
}

}  // namespace quern::fuse
