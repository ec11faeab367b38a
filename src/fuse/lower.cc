#include "fuse/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "fuse/contract.h"
#include "fuse/intern.h"

namespace quern::fuse {

using tile::AxisId;
using tile::AxisSet;
using tile::Expr;
using tile::ExprPtr;
using tile::Family;
using tile::Op;

namespace {

// Writes one kernel.
class KernelWriter {
 public:
  explicit KernelWriter(const Graph& graph) : graph_(graph) {}

  tile::Kernel write(const std::vector<const Definition*>& definitions, Symbol name) {
    kernel_.name = name;
    for (const Definition* d : definitions) {
      for (AxisId a : d->axes) renamed(a);
    }
    for (const Definition* d : definitions) {
      count(d->store.value);
      if (d->store.when) count(d->store.when);
      for (const ExprPtr& s : d->store.subscripts) count(s);
      for (const ExprPtr& c : d->checks) count(c);
    }
    std::vector<tile::Store> stores;
    for (const Definition* d : definitions) {
      tile::Store s = d->store;
      for (ExprPtr& e : s.subscripts) e = emit(e);
      if (s.when) s.when = emit(s.when);
      s.value = emit(s.value);
      s.atomic = s.add;
      stores.push_back(std::move(s));
    }
    for (const Definition* d : definitions) {
      for (const ExprPtr& c : d->checks) named(emit(c));
    }
    // Everything is read before anything is written.
    for (tile::Store& s : stores) kernel_.body.push_back({std::move(s)});
    return std::move(kernel_);
  }

 private:
  void count(const ExprPtr& e) {
    if (++uses_[e.get()] > 1) return;
    for (const ExprPtr& a : e->args) count(a);
    if (e->guard) count(e->guard);
  }

  // Is there anything to save by a name? Reading again, and integers of subscripts and masks, cost next to nothing.
  bool worth_a_name(const Expr& e) const {
    if (quern::kind(e.type) != Kind::kReal || e.axes.empty()) return false;
    switch (tile::row(e).family) {
      case Family::literal:
      case Family::name:
      case Family::load:
      case Family::fill:
      case Family::negate: return false;
      case Family::cast: return tile::row(*e.args[0]).family != Family::load;
      default: return true;
    }
  }

  ExprPtr emit(const ExprPtr& e) {
    if (auto at = done_.find(e.get()); at != done_.end()) return at->second;
    ExprPtr out = compute(e);
    Family family = tile::row(*out).family;
    bool reduction = family == Family::reduce || family == Family::dot;
    if (reduction || (uses_[e.get()] > 1 && family != Family::name && worth_a_name(*out))) out = named(out);
    done_[e.get()] = out;
    kept_.push_back(e);
    return out;
  }

  ExprPtr compute(const ExprPtr& e) {
    if (e->op == Op::kAxis) return tile::axis(renamed(e->id));
    if (e->op == Op::kSum) {
      if (ExprPtr product = contract(e)) return dots(product);
    }
    std::vector<ExprPtr> args;
    for (const ExprPtr& a : e->args) args.push_back(emit(a));
    ExprPtr guard = e->guard ? emit(e->guard) : nullptr;
    Expr copy = *e;
    copy.over = renamed(e->over);
    return tile::with_args(copy, std::move(args), std::move(guard));
  }

  // A contraction with what was taken out of it around it.
  ExprPtr dots(const ExprPtr& e) {
    std::vector<ExprPtr> args;
    if (e->op == Op::kDot) {
      for (const ExprPtr& a : e->args) args.push_back(emit(a));
      return named(tile::dot(e->type, renamed(e->over), args[0], args[1]));
    }
    // Operators on the way to the dot are new; the other arguments are the graph's.
    args.push_back(dots(e->args[0]));
    for (size_t i = 1; i < e->args.size(); ++i) args.push_back(emit(e->args[i]));
    return tile::with_args(*e, std::move(args), nullptr);
  }

  ExprPtr named(const ExprPtr& value) {
    auto id = static_cast<int32_t>(kernel_.names.size());
    std::string_view word = tile::row(*value).text;
    bool reduction = tile::row(*value).family == Family::reduce || tile::row(*value).family == Family::dot;
    std::string name = fmt::format("{}{}", reduction ? word : std::string_view("t"), id);
    kernel_.names.push_back({Symbol(name), value->type, value->axes});
    kernel_.body.push_back({tile::Let{id, value}});
    return tile::name(id, value->type, value->axes);
  }

  AxisId renamed(AxisId old) {
    auto [at, added] = axes_.try_emplace(old, 0);
    if (!added) return at->second;
    const tile::Axis& a = graph_.axes[static_cast<size_t>(old)];
    // A range may use other axes: they come first.
    tile::Axis copy = a;
    if (a.lo) copy.lo = whole(a.lo);
    copy.hi = whole(a.hi);
    auto id = static_cast<AxisId>(kernel_.axes.size());
    kernel_.axes.push_back(std::move(copy));
    return axes_[old] = id;
  }
  AxisSet renamed(AxisSet old) {
    AxisSet out;
    for (AxisId a : old.list()) out |= AxisSet::of(renamed(a));
    return out;
  }
  // A bound of a range: written out, without names, since it stands outside of the body.
  ExprPtr whole(const ExprPtr& e) {
    if (e->op == Op::kAxis) return tile::axis(renamed(e->id));
    std::vector<ExprPtr> args;
    for (const ExprPtr& a : e->args) args.push_back(whole(a));
    ExprPtr guard = e->guard ? whole(e->guard) : nullptr;
    Expr copy = *e;
    copy.over = renamed(e->over);
    return tile::with_args(copy, std::move(args), std::move(guard));
  }

  const Graph& graph_;
  tile::Kernel kernel_;
  std::unordered_map<const Expr*, int> uses_;
  std::unordered_map<const Expr*, ExprPtr> done_;
  std::unordered_map<AxisId, AxisId> axes_;
  std::vector<ExprPtr> kept_;
};

bool together(const Definition& a, const Definition& b) {
  return a.step == b.step && a.axes == b.axes && a.store.parameter != b.store.parameter;
}

}  // namespace

tile::Program lower(const Graph& graph) {
  tile::Program out = graph.program;
  out.stage = tile::Stage::kLowered;
  for (size_t i = 0; i < graph.definitions.size();) {
    std::vector<const Definition*> group{&graph.definitions[i]};
    size_t next = i + 1;
    while (next < graph.definitions.size() && together(graph.definitions[i], graph.definitions[next])) {
      group.push_back(&graph.definitions[next++]);
    }
    std::string name = graph.program.name.str();
    if (group.size() < graph.definitions.size()) name = fmt::format("{}_{}", name, out.kernels.size());
    out.kernels.push_back(KernelWriter(graph).write(group, Symbol(name)));
    i = next;
  }
  return out;
}

}  // namespace quern::fuse
