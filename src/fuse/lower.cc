#include "fuse/lower.h"

#include <fmt/format.h>

#include <algorithm>

#include "fuse/derive.h"
#include "fuse/kernel_writer.h"
#include "fuse/scan.h"
#include "fuse/stream.h"
#include "tile/scalar_axes.h"

namespace quern::fuse {

using tile::ExprPtr;

namespace {

bool has_all(const std::vector<tile::AxisId>& all, const std::vector<tile::AxisId>& some) {
  return std::ranges::all_of(some, [&](tile::AxisId a) { return std::ranges::find(all, a) != all.end(); });
}

class Lowering {
 public:
  Lowering(const Graph& graph, const tile::Machine& machine, const LowerOptions& options)
      : graph_(graph), machine_(machine), options_(options) {}

  LoweredProgram run() {
    out_.program = graph_.program;
    out_.program.stage = tile::Stage::kLowered;
    for (size_t i = 0; i < graph_.definitions.size();) {
      std::vector<const Definition*> group{&graph_.definitions[i]};
      size_t next = i + 1;
      while (next < graph_.definitions.size() && join(group, graph_.definitions[next])) ++next;
      std::string name = graph_.program.name.str();
      if (group.size() < graph_.definitions.size()) name = fmt::format("{}_{}", name, out_.program.kernels.size());
      out_.program.kernels.push_back(kernel(group, Symbol(name)));
      i = next;
    }
    return std::move(out_);
  }

 private:
  // Takes the definition into the group if both run over the same axes, or make their results in one pass (attention
  // and its log-sum-exp, which lacks an axis).
  bool join(std::vector<const Definition*>& group, const Definition& d) {
    const Definition& first = *group.front();
    for (const Definition* g : group) {
      if (g->store.parameter == d.store.parameter) return false;
    }
    if (first.step != d.step) return false;
    bool same = first.axes == d.axes;
    group.push_back(&d);
    if (same || ((has_all(first.axes, d.axes) || has_all(d.axes, first.axes)) && options_.stream &&
                 worth_streaming(graph_, {&first}, machine_) && worth_streaming(graph_, {&d}, machine_) &&
                 worth_streaming(graph_, group, machine_))) {
      return true;
    }
    group.pop_back();
    return false;
  }

  tile::Kernel kernel(const std::vector<const Definition*>& group, Symbol name) {
    if (auto scan = options_.stream ? scan_of(graph_, group) : std::nullopt) return walked(*scan, group, name);
    KernelWriter writer(name, graph_);
    std::vector<ExprPtr> values;
    for (const Definition* d : group) values.push_back(d->store.value);
    std::optional<Derivation> derivation = streamed(group, values);
    tile::Block passes;
    if (derivation) {
      Namer namer(writer.names());
      Lowered lowered = lower_derivation(*derivation, namer);
      passes = block_of(lowered);
      values = lowered.outputs;
    }
    writer.count(passes);
    for (size_t i = 0; i < group.size(); ++i) {
      const Definition& d = *group[i];
      writer.count(values[i]);
      writer.count(d.store.when);
      for (const ExprPtr& s : d.store.subscripts) writer.count(s);
      for (const ExprPtr& c : d.checks) writer.count(c);
    }
    writer.emit(passes);
    std::vector<tile::Store> stores;
    for (size_t i = 0; i < group.size(); ++i) {
      tile::Store s = group[i]->store;
      for (ExprPtr& e : s.subscripts) e = writer.emit(e);
      if (s.when) s.when = writer.emit(s.when);
      s.value = writer.emit(values[i]);
      if (s.add) s.value = for_each_instance(*group[i], s);
      s.atomic = s.add;
      stores.push_back(std::move(s));
      for (const ExprPtr& c : group[i]->checks) writer.define(c);
    }
    // Everything is read before anything is written.
    for (tile::Store& s : stores) writer.add(std::move(s));
    return writer.finish(group.front()->axes);
  }

  // Walks an index one at a time.
  tile::Kernel walked(const Scan& scan, const std::vector<const Definition*>& group, Symbol name) {
    KernelWriter writer(name, graph_);
    for (const Definition* d : group) {
      for (const ExprPtr& c : d->checks) writer.count(c);
    }
    Namer namer(writer.names());
    tile::Block block = block_of(scan, group, namer);
    writer.count(block);
    for (const Definition* d : group) {
      for (const ExprPtr& c : d->checks) writer.define(c);
    }
    writer.emit(block);
    tile::Kernel out = writer.finish(group.front()->axes);
    tile::AxisSet one;
    for (const tile::Statement& s : out.body) {
      const auto* loop = std::get_if<tile::Loop>(&s.is);
      if (loop) one |= tile::AxisSet::of(loop->walks[0].axis);
    }
    tile::make_scalar(out, one);
    return out;
  }

  // Every instance adds, also along an axis that neither its value nor its place mentions.
  static ExprPtr for_each_instance(const Definition& d, const tile::Store& s) {
    tile::AxisSet seen = s.value->axes, missing;
    for (const ExprPtr& e : s.subscripts) seen |= e->axes;
    if (s.when) seen |= s.when->axes;
    for (tile::AxisId a : d.axes) {
      if (!seen.has(a)) missing |= tile::AxisSet::of(a);
    }
    return missing.empty() ? s.value : tile::fill(missing, s.value);
  }

  std::optional<Derivation> streamed(const std::vector<const Definition*>& group, const std::vector<ExprPtr>& values) {
    if (!options_.stream) return std::nullopt;
    tile::Machine machine = machine_;
    if (options_.always) machine.near_bytes = 0;
    auto axes = worth_streaming(graph_, group, machine);
    if (!axes) return std::nullopt;
    Facts facts{&graph_.program, &graph_.axes};
    auto derivation = derive(values, *axes, facts);
    if (!derivation) {
      // Why not is a remark: each reduction takes its own pass then.
      for (Diagnostic& d : derivation.error()) out_.remarks.push_back(std::move(d));
      return std::nullopt;
    }
    for (Diagnostic& d : derivation->remarks) out_.remarks.push_back(std::move(d));
    return *std::move(derivation);
  }

  const Graph& graph_;
  const tile::Machine& machine_;
  const LowerOptions& options_;
  LoweredProgram out_;
};

}  // namespace

LoweredProgram lower(const Graph& graph, const tile::Machine& machine, const LowerOptions& options) {
  return Lowering(graph, machine, options).run();
}

}  // namespace quern::fuse
