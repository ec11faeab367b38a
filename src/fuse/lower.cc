#include "fuse/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "fuse/cluster.h"
#include "fuse/derive.h"
#include "fuse/kernel_writer.h"
#include "fuse/scan.h"
#include "fuse/stream.h"
#include "tile/rebuild.h"
#include "tile/scalar_axes.h"

namespace quern::fuse {

using tile::ExprPtr;

namespace {

class Lowering {
 public:
  Lowering(const Graph& graph, const tile::Machine& machine, const LowerOptions& options)
      : graph_(graph), machine_(machine), options_(options) {}

  LoweredProgram run() {
    out_.program = graph_.program;
    out_.program.stage = tile::Stage::kLowered;
    std::vector<Cluster> all = clusters(graph_, machine_, options_.stream);
    for (const Cluster& cluster : all) {
      std::string name = graph_.program.name.str();
      if (all.size() > 1) name = fmt::format("{}_{}", name, out_.program.kernels.size());
      out_.program.kernels.push_back(kernel(cluster, Symbol(name)));
    }
    return std::move(out_);
  }

 private:
  tile::Kernel kernel(const Cluster& cluster, Symbol name) {
    if (auto scan = options_.stream ? scan_of(graph_, cluster) : std::nullopt) return walked(*scan, cluster, name);
    if (options_.stream) std::ranges::move(plain_scans(graph_, cluster), std::back_inserter(out_.remarks));
    KernelWriter writer(name, graph_);
    std::vector<ExprPtr> values;
    for (const Definition& d : cluster) values.push_back(d.store.value);
    std::optional<Derivation> derivation = streamed(cluster, values);
    tile::Block passes;
    if (derivation) {
      Namer namer(writer.names());
      Lowered lowered = lower_derivation(*derivation, namer);
      passes = block_of(lowered);
      values = lowered.outputs;
    }
    writer.count(passes);
    for (size_t i = 0; i < cluster.size(); ++i) {
      const Definition& d = cluster[i];
      writer.count(values[i]);
      writer.count(d.store.when);
      for (const ExprPtr& s : d.store.subscripts) writer.count(s);
      for (const ExprPtr& c : d.checks) writer.count(c);
    }
    writer.emit(passes);
    std::vector<tile::Store> stores;
    std::set<int32_t> written;
    for (size_t i = 0; i < cluster.size(); ++i) {
      tile::Store s = cluster[i].store;
      for (ExprPtr& e : s.subscripts) e = writer.emit(e);
      if (s.when) s.when = writer.emit(s.when);
      s.value = writer.emit(values[i]);
      if (s.add) s.value = for_each_instance(cluster[i], s);
      s.atomic = s.add;
      // Everything is read before anything is written.
      if (loads_any(s.value, written)) s.value = writer.keep(s.value);
      written.insert(s.parameter);
      stores.push_back(std::move(s));
      for (const ExprPtr& c : cluster[i].checks) writer.define(c);
    }
    for (tile::Store& s : stores) writer.add(std::move(s));
    return writer.finish(axes_of(cluster));
  }

  static bool loads_any(const ExprPtr& e, const std::set<int32_t>& parameters) {
    bool found = false;
    tile::each_part(e, [&](const ExprPtr& part) {
      found = found || (part->op == tile::Op::kLoad && parameters.contains(part->id));
    });
    return found;
  }

  // Walks an index one at a time.
  tile::Kernel walked(const Scan& scan, const Cluster& cluster, Symbol name) {
    KernelWriter writer(name, graph_);
    for (const Definition& d : cluster) {
      for (const ExprPtr& c : d.checks) writer.count(c);
    }
    Namer namer(writer.names());
    tile::Block block = block_of(scan, cluster, namer);
    writer.count(block);
    for (const Definition& d : cluster) {
      for (const ExprPtr& c : d.checks) writer.define(c);
    }
    writer.emit(block);
    tile::Kernel out = writer.finish(axes_of(cluster));
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

  std::optional<Derivation> streamed(const Cluster& cluster, const std::vector<ExprPtr>& values) {
    if (!options_.stream) return std::nullopt;
    tile::Machine machine = machine_;
    if (options_.always) machine.near_bytes = 0;
    std::vector<const Definition*> group;
    for (const Definition& d : cluster) group.push_back(&d);
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
