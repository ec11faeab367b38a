#include "fuse/expand.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "expr/print.h"
#include "fuse/all_pairs.h"
#include "fuse/expand/expander.h"

namespace quern::fuse {

using expr::NodePtr;
using tile::AxisId;
using tile::AxisSet;
using tile::ExprPtr;

namespace {

constexpr int64_t kLimitOfType = (int64_t{1} << 31) - 2;  // an index that only the type of its end limits

// Which memory everything reads, through locals too: the tensors of the program, and behind them its locals, as far as
// they are stored.
class Reads {
 public:
  Reads(const expr::Program& program, const std::vector<bool>& stored)
      : program_(program), stored_(stored), of_local_(program.locals.size()) {
    for (size_t i = 0; i < program.locals.size(); ++i) {
      std::unordered_map<const expr::Node*, bool> seen;
      const expr::Local& l = program.locals[i];
      of_local_[i].resize(count());
      for (const expr::Binder& b : l.binders) walk(b, seen, of_local_[i]);
      walk(l.value, seen, of_local_[i]);
    }
  }

  size_t count() const { return program_.tensors.size() + program_.locals.size(); }
  size_t memory_of(size_t local) const { return program_.tensors.size() + local; }
  // Of what computes it.
  const std::vector<bool>& of_local(size_t local) const { return of_local_[local]; }

  std::vector<bool> of(const expr::Update& u) const {
    std::vector<bool> out(count());
    std::unordered_map<const expr::Node*, bool> seen;
    for (const expr::Binder& b : u.binders) walk(b, seen, out);
    if (u.filter) walk(u.filter, seen, out);
    for (const NodePtr& s : u.subscripts) walk(s, seen, out);
    walk(u.value, seen, out);
    return out;
  }

 private:
  using Seen = std::unordered_map<const expr::Node*, bool>;

  void walk(const expr::Binder& b, Seen& seen, std::vector<bool>& out) const {
    if (b.lo) walk(b.lo, seen, out);
    walk(b.hi, seen, out);
  }
  void walk(const NodePtr& node, Seen& seen, std::vector<bool>& out) const {
    if (!seen.emplace(node.get(), true).second) return;
    if (node->op == expr::Op::kRead) out[static_cast<size_t>(node->id)] = true;
    if (node->op == expr::Op::kLocal) {
      auto local = static_cast<size_t>(node->id);
      const expr::Local& l = program_.locals[local];
      if (!stored_.empty() && stored_[local]) {
        out[memory_of(local)] = true;
        for (const expr::Binder& b : l.binders) walk(b, seen, out);
      } else {
        for (size_t t = 0; t < out.size(); ++t) out[t] = out[t] || of_local_[local][t];
      }
    }
    for (const expr::Binder& b : node->binders) walk(b, seen, out);
    for (const NodePtr& arg : node->args) walk(arg, seen, out);
  }

  const expr::Program& program_;
  const std::vector<bool>& stored_;
  std::vector<std::vector<bool>> of_local_;
};

// When each stored local is computed and each update runs. A reader of a result comes after all its writers; writers of
// one tensor keep the order of the text; a reader of an inout tensor comes before its writers, unless that makes a
// circle: then the tensor is copied first, and its readers read the copy.
struct Order {
  std::vector<int> local;      // the step of each stored local
  std::vector<int> update;     // … and of each update
  std::vector<bool> snapshot;  // of each tensor
};

Order order_of(const expr::Program& program, const std::vector<bool>& stored) {
  struct Item {
    size_t writes = 0;
    std::vector<bool> reads;
    bool add = false;
  };
  Reads reads(program, stored);
  std::vector<Item> items;
  for (size_t l = 0; l < stored.size(); ++l) {
    if (stored[l]) items.push_back({reads.memory_of(l), reads.of_local(l), false});
  }
  size_t locals = items.size();
  for (const expr::Update& u : program.updates) {
    items.push_back({static_cast<size_t>(u.tensor), reads.of(u), u.add});
  }
  auto role = [&](size_t t) {
    return t < program.tensors.size() ? program.tensors[t].role : expr::Role::kResult;  // a local is one, in this
  };
  size_t n = items.size();
  std::vector<int> step;
  Order out;
  out.snapshot.assign(program.tensors.size(), false);
  for (const Item& i : items) {
    // Instances that add to what they read as it was can't tell their own sum from others'.
    if (i.add && i.reads[i.writes] && role(i.writes) == expr::Role::kInout) out.snapshot[i.writes] = true;
  }
  for (bool again = true; again;) {
    again = false;
    step.assign(n, 0);
    // Longest paths; a circle shows as a path longer than there are updates.
    for (size_t round = 0; round <= n && !again; ++round) {
      bool moved = false;
      for (size_t a = 0; a < n; ++a) {
        for (size_t b = 0; b < n; ++b) {
          if (a == b) continue;
          size_t t = items[a].writes;
          bool after = items[b].writes == t && a < b;  // b after a
          after |= role(t) == expr::Role::kResult && items[b].reads[t];
          // b writes what a reads as it was before.
          size_t w = items[b].writes;
          after |= role(w) == expr::Role::kInout && !out.snapshot[w] && items[a].reads[w];
          if (after && step[b] < step[a] + 1) {
            step[b] = step[a] + 1;
            moved = true;
          }
        }
      }
      if (!moved) break;
      if (round == n) {
        // A circle: copy one more inout tensor that several updates share.
        for (size_t t = 0; t < program.tensors.size() && !again; ++t) {
          if (program.tensors[t].role != expr::Role::kInout || out.snapshot[t]) continue;
          bool shared = false;
          for (size_t a = 0; a < n; ++a) {
            for (size_t b = 0; b < n; ++b) shared |= a != b && items[b].writes == t && items[a].reads[t];
          }
          if (shared) out.snapshot[t] = again = true;
        }
      }
    }
  }
  out.local.assign(stored.size(), 0);
  for (size_t l = 0, i = 0; l < stored.size(); ++l) {
    if (stored[l]) out.local[l] = step[i++];
  }
  out.update.assign(step.begin() + static_cast<std::ptrdiff_t>(locals), step.end());
  return out;
}

}  // namespace

Expander::Expander(const expr::Program& program, const expr::Binding& binding, const ExpandOptions& options)
    : program_(program),
      binding_(binding),
      options_(options),
      ranges_(graph_.program, graph_.axes),
      precisions_(program, binding) {}

void Expander::declare() {
  graph_.program.name = program_.name;
  graph_.sources = program_.sources;
  for (size_t t = 0; t < program_.tensors.size(); ++t) {
    const expr::Tensor& tensor = program_.tensors[t];
    tile::Parameter p;
    p.name = tensor.name;
    p.role = tensor.role == expr::Role::kParameter ? tile::Role::kIn
             : tensor.role == expr::Role::kInout   ? tile::Role::kInout
                                                   : tile::Role::kOut;
    p.type = binding_.type(tensor.type);
    for (int64_t size : binding_.shapes[t]) p.shape.push_back(integer(size));
    p.span = tensor.span;
    graph_.program.parameters.push_back(std::move(p));
  }
}

Result<Graph> Expander::run() {
  expr::Proofs proofs = prove(program_, binding_);
  if (has_error(proofs.errors)) return fail(std::move(proofs.errors));
  if (Diagnostics long_ranges = all_pairs(program_, binding_); !long_ranges.empty())
    return fail(std::move(long_ranges));
  for (const expr::SubscriptProof& p : proofs.subscripts) {
    std::string name = p.span.source ? p.tensor.str() : p.tensor.str() + p.text;
    auto [at, added] = proofs_.try_emplace({p.span.source, p.span.begin, p.span.end, name, p.axis, p.write}, p.proof);
    if (!added) at->second = std::max(at->second, p.proof);
  }
  declare();
  Order order = order_of(program_, options_.stored);
  int first = 0;  // steps taken by copies and first values
  snapshots_.assign(program_.tensors.size(), -1);
  stored_.assign(program_.locals.size(), {});
  for (size_t t = 0; t < program_.tensors.size(); ++t) {
    const expr::Tensor& tensor = program_.tensors[t];
    bool copied = order.snapshot[t];
    bool started = tensor.role == expr::Role::kResult && tensor.value;
    if (!copied && !started) continue;
    first = 1;
    Definition d;
    d.total = true;
    std::vector<ExprPtr> at;
    AxisSet taken;
    for (int64_t size : binding_.shapes[t]) {
      if (size == 1) {
        at.push_back(integer(0));
        continue;
      }
      AxisId a = axis_for(Symbol("i"), nullptr, integer(size), taken);
      taken |= AxisSet::of(a);
      d.axes.push_back(a);
      at.push_back(in(tile::axis(a)));
    }
    auto parameter = static_cast<int32_t>(t);
    ScalarType type = graph_.program.parameters[t].type;
    d.store.subscripts = at;
    d.store.span = tensor.span;
    if (copied) {
      tile::Parameter copy = graph_.program.parameters[t];
      copy.name = Symbol(tensor.name.str() + "_before");
      copy.role = tile::Role::kTmp;
      snapshots_[t] = static_cast<int32_t>(graph_.program.parameters.size());
      graph_.program.parameters.push_back(std::move(copy));
      d.store.parameter = snapshots_[t];
      d.store.value = in(tile::load(parameter, type, at));
    } else {
      d.store.parameter = parameter;
      ExprPtr v = value(tensor.value, {}).e;
      d.store.value =
          quern::kind(type) == Kind::kReal && literal(v) ? to(type == ScalarType::f64 ? type : ScalarType::f32, v) : v;
      d.store.value = in(tile::cast(type, d.store.value));
    }
    graph_.definitions.push_back(std::move(d));
  }
  reads_snapshot_ = true;
  for (size_t l = 0; l < options_.stored.size(); ++l) {
    if (!options_.stored[l]) continue;
    store(l);
    graph_.definitions.back().step = order.local[l] + first;
  }
  for (size_t u = 0; u < program_.updates.size(); ++u) {
    define(program_.updates[u]);
    graph_.definitions.back().step = order.update[u] + first;
  }
  settle_roles();
  settle_roundings();
  if (!lacking_.empty()) return fail(std::move(lacking_));
  if (too_many_axes_) return fail(diagnose(Code::N907, program_.span, {{"kernel", program_.name.str()}}));
  std::erase_if(graph_.definitions, [&](const Definition& d) { return none(d); });
  std::ranges::stable_sort(graph_.definitions, {}, &Definition::step);
  return std::move(graph_);
}

// A result that is written once as a whole and never read is an out; with several writers, or readers, it is memory.
void Expander::settle_roles() {
  std::vector<int> writers(graph_.program.parameters.size());
  for (const Definition& d : graph_.definitions) ++writers[static_cast<size_t>(d.store.parameter)];
  Reads reads(program_, options_.stored);
  std::vector<bool> read(reads.count());
  auto see = [&](const std::vector<bool>& by) {
    for (size_t t = 0; t < by.size(); ++t) read[t] = read[t] || by[t];
  };
  for (const expr::Update& u : program_.updates) see(reads.of(u));
  for (size_t l = 0; l < options_.stored.size(); ++l) {
    if (options_.stored[l]) see(reads.of_local(l));
  }
  for (size_t t = 0; t < program_.tensors.size(); ++t) {
    tile::Parameter& p = graph_.program.parameters[t];
    if (p.role == tile::Role::kOut && (writers[t] != 1 || read[t])) p.role = tile::Role::kInout;
  }
}

// The definition runs over the binder's range, too; its index.
ExprPtr Expander::walk(Definition& d, const expr::Binder& b, const Bound& bound, Path& path, AxisSet& taken) {
  check_ends(b, path, bound);
  Ranged r = enter(b, path, taken, bound);
  taken |= r.index->axes;
  if (r.axis >= 0) d.axes.push_back(r.axis);
  path = with(std::move(path), r.mask);
  return env_[b.id] = r.index;
}

// The local as memory of its own, of the type that it is rounded to or computed in, and what fills it. A range whose
// ends aren't numbers (n <= m) gets the memory of the rectangle around it, and only the elements in it are written.
void Expander::store(size_t local) {
  const expr::Local& l = program_.locals[local];
  Definition d;
  d.store.span = l.span;
  tile::Parameter p;
  p.name = l.name;
  p.role = tile::Role::kTmp;
  p.span = l.span;
  AxisSet taken;
  Path path;
  for (const expr::Binder& b : l.binders) {
    Bound bound;
    bound_of(b.id, l.value, bound);
    ExprPtr index = walk(d, b, bound, path, taken);
    d.store.subscripts.push_back(index);
    int64_t last = ranges_(index).high.value_or(-1);
    p.shape.push_back(integer(last < kLimitOfType ? std::max<int64_t>(0, last + 1) : 0));
  }
  ExprPtr v = value(l.value, path).e, when = condition(path);
  d.total = when->op == tile::Op::kBoolean;
  if (!d.total) d.store.when = when;
  p.type = l.type ? binding_.type(*l.type) : v->type;
  d.store.parameter = static_cast<int32_t>(graph_.program.parameters.size());
  stored_[local] = {d.store.parameter, d.total};
  d.store.value = in(tile::cast(p.type, v));
  graph_.program.parameters.push_back(std::move(p));
  finish(std::move(d), [&] { collect(l.value, path); });
}

// Nothing to do: an axis without indices.
bool Expander::none(const Definition& d) const {
  return std::ranges::any_of(d.axes, [&](AxisId a) {
    const tile::Axis& axis = graph_.axes[static_cast<size_t>(a)];
    bool known = axis.hi->op == tile::Op::kInteger && (!axis.lo || axis.lo->op == tile::Op::kInteger);
    return known && axis.hi->integer <= (axis.lo ? axis.lo->integer : 0);
  });
}

void Expander::define(const expr::Update& u) {
  auto t = static_cast<size_t>(u.tensor);
  const expr::Tensor& tensor = program_.tensors[t];
  Definition d;
  d.total = u.total;
  d.store.parameter = u.tensor;
  d.store.add = u.add;
  d.store.span = u.span;
  AxisSet taken;
  Path path;
  for (const expr::Binder& b : u.binders) {
    Bound bound;
    bool fixed = b.hi->op == expr::Op::kInteger && (!b.lo || b.lo->op == expr::Op::kInteger);
    for (size_t i = 0; i < u.subscripts.size() && !fixed && !u.filter; ++i) {
      int64_t size = binding_.shapes[t][i];
      const expr::Node& s = *u.subscripts[i];
      if (s.op != expr::Op::kIndex || s.id != b.id || (bound.limit >= 0 && size >= bound.limit)) continue;
      bound = {size, tensor.name, true};
    }
    walk(d, b, bound, path, taken);
  }
  if (u.filter) path = with(std::move(path), value(u.filter, path).e);
  ExprPtr when = condition(path);
  for (size_t i = 0; i < u.subscripts.size(); ++i) {
    ExprPtr s = value(u.subscripts[i], path).e;
    d.store.subscripts.push_back(s);
    if (ranges_.inside(s, integer(binding_.shapes[t][i])) || options_.trust) continue;
    if (proof(*u.subscripts[i], tensor.name, static_cast<int>(i), true) == expr::Proof::kProved) continue;
    d.store.checked |= 1u << i;
    d.store.site = site(Code::E803, u.subscripts[i]->span, tensor.name.str(), print(u.subscripts[i]));
  }
  ExprPtr v = value(u.value, path).e;
  ScalarType type = graph_.program.parameters[t].type;
  if (quern::kind(type) == Kind::kReal && quern::kind(v->type) == Kind::kReal && literal(v)) {
    v = to(type == ScalarType::f64 ? type : ScalarType::f32, v);
  }
  d.store.value = in(tile::cast(type, v));
  if (when->op != tile::Op::kBoolean || !when->integer) d.store.when = when;
  finish(std::move(d), [&] {
    if (u.filter) collect(u.filter, path);
    for (const NodePtr& s : u.subscripts) collect(s, path);
    collect(u.value, path);
  });
}

// With the checks of its ranges, which `look` finds.
void Expander::finish(Definition d, const std::function<void()>& look) {
  if (cuts_ && !options_.trust) look();
  d.checks = std::exchange(checks_, {});
  looked_at_.clear();
  collected_.clear();
  graph_.definitions.push_back(std::move(d));
  env_.clear();
}

Result<Graph> expand(const expr::Program& program, const expr::Binding& binding, const ExpandOptions& options) {
  return Expander(program, binding, options).run();
}

}  // namespace quern::fuse
