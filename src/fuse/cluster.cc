#include "fuse/cluster.h"

#include <algorithm>
#include <optional>
#include <set>

#include "fuse/intern.h"
#include "fuse/stream.h"
#include "tile/range.h"
#include "tile/rebuild.h"

namespace quern::fuse {

using tile::AxisId;
using tile::AxisSet;
using tile::ExprPtr;
using tile::Family;

namespace {

constexpr int64_t kRowsPerUnit = 2;  // fewer rows don't keep a unit busy: columns are to be spread then, too

AxisSet set_of(const std::vector<AxisId>& axes) {
  AxisSet out;
  for (AxisId a : axes) out |= AxisSet::of(a);
  return out;
}

void each_root(const Definition& d, const std::function<void(const ExprPtr&)>& see) {
  see(d.store.value);
  if (d.store.when) see(d.store.when);
  for (const ExprPtr& s : d.store.subscripts) see(s);
  for (const ExprPtr& c : d.checks) see(c);
}

std::vector<const tile::Expr*> loads(const Definition& d) {
  std::set<const tile::Expr*> seen;
  std::vector<const tile::Expr*> out;
  each_root(d, [&](const ExprPtr& root) {
    tile::each_part(root, [&](const ExprPtr& e) {
      if (e->op == tile::Op::kLoad && seen.insert(e.get()).second) out.push_back(e.get());
    });
  });
  return out;
}

AxisSet reduced_in(const Definition& d) {
  AxisSet out;
  tile::each_part(d.store.value, [&](const ExprPtr& e) {
    if (tile::row(*e).family == Family::reduce) out |= e->over;
  });
  return out;
}

// Each instance writes the element of its own indices, unconditionally.
bool plain(const Definition& d) { return d.total && !d.store.add && !d.store.when && d.store.checked == 0; }

class Clusterer {
 public:
  Clusterer(const Graph& graph, const tile::Machine& machine, bool stream)
      : graph_(graph), machine_(machine), stream_(stream), ranges_(graph.program, graph.axes) {}

  std::vector<Cluster> run() {
    for (const Definition& d : graph_.definitions) take(interned(d));
    return std::move(out_);
  }

 private:
  void take(Definition d) {
    // Into the last cluster that it can join, unless it needs what a later one does.
    for (size_t c = out_.size(); c-- > 0;) {
      if (auto joined = join(out_[c], d)) {
        out_[c] = *std::move(joined);
        return;
      }
      if (std::ranges::any_of(out_[c], [&](const Definition& g) { return depends(g, d); })) break;
    }
    out_.push_back({std::move(d)});
  }

  static bool depends(const Definition& first, const Definition& then) {
    return first.store.parameter == then.store.parameter || reads(then, first.store.parameter) ||
           reads(first, then.store.parameter);
  }

  std::optional<Cluster> join(const Cluster& cluster, const Definition& d) {
    bool linked = false;
    for (const Definition& g : cluster) {
      if (g.store.parameter == d.store.parameter) return std::nullopt;
      linked = linked || depends(g, d);
    }
    Cluster out = cluster;
    out.push_back(d);
    if (linked && !link(out)) return std::nullopt;
    AxisSet all = set_of(axes_of(cluster)), own = set_of(d.axes);
    if (all == own && !linked) return out;
    if (all == own) return std::ranges::all_of(out, plain) ? std::optional(out) : std::nullopt;
    if (!all.contains(own) && !own.contains(all)) return std::nullopt;
    if (!linked && streams(cluster, d, out)) return out;
    if (!linked && !shares(cluster, d)) return std::nullopt;
    AxisSet rows = all & own;
    Cluster last = {out.back()};
    return rows_enough(rows) && by_rows(cluster, rows) && by_rows(last, rows) ? std::optional(out) : std::nullopt;
  }

  // What one pass can make of both, though one lacks an axis: attention and its log-sum-exp.
  bool streams(const Cluster& cluster, const Definition& d, const Cluster& both) const {
    return stream_ && worth_streaming(graph_, pointers(cluster), machine_) && worth_streaming(graph_, {&d}, machine_) &&
           worth_streaming(graph_, pointers(both), machine_);
  }

  // The last definition among the others: what they write is replaced by its value, what it overwrites must be read by
  // them in the same place.
  bool link(Cluster& cluster) {
    Definition& d = cluster.back();
    std::vector<const tile::Expr*> wanted = loads(d);
    for (size_t i = 0; i + 1 < cluster.size(); ++i) {
      const Definition& g = cluster[i];
      for (const tile::Expr* e : loads(g)) {
        if (e->id == d.store.parameter && (e->args != d.store.subscripts || !owns(d, g.axes))) return false;
      }
      for (const tile::Expr* e : wanted) {
        if (e->id == g.store.parameter && (e->args != g.store.subscripts || e->guard || !plain(g))) return false;
      }
    }
    auto forward = [&](const ExprPtr& e) -> ExprPtr {
      if (e->op == tile::Op::kLoad) {
        for (size_t i = 0; i + 1 < cluster.size(); ++i) {
          if (e->id == cluster[i].store.parameter) return cluster[i].store.value;
        }
      }
      return intern_(e->op == tile::Op::kCast ? tile::cast(e->type, e->args[0]) : e);
    };
    d = changed(d, forward);
    return true;
  }

  // Does each instance over these axes write an element of its own?
  static bool owns(const Definition& d, const std::vector<AxisId>& axes) {
    return plain(d) && set_of(d.axes) == set_of(axes);
  }

  // Is a row of these indices read as a whole anyway, so that its columns can't be spread?
  static bool by_rows(const Cluster& cluster, AxisSet rows) {
    AxisSet all, reduced;
    for (const Definition& d : cluster) {
      all |= set_of(d.axes);
      reduced |= reduced_in(d);
      if (!plain(d)) return false;
    }
    return reduced.contains(all - rows) && (reduced & rows).empty();
  }

  bool rows_enough(AxisSet rows) {
    int64_t count = 1;
    for (AxisId a : rows.list()) {
      tile::Bounds b = ranges_.axis(a);
      if (!b.low || !b.high) return false;
      count = std::min<int64_t>(count * std::max<int64_t>(0, *b.high - *b.low + 1), int64_t{1} << 30);
    }
    return count >= kRowsPerUnit * machine_.units;
  }

  static bool shares(const Cluster& cluster, const Definition& d) {
    std::set<int32_t> read;
    for (const Definition& g : cluster) {
      for (const tile::Expr* e : loads(g)) {
        if (!e->axes.empty()) read.insert(e->id);
      }
    }
    return std::ranges::any_of(loads(d), [&](const tile::Expr* e) { return read.contains(e->id); });
  }

  Definition interned(const Definition& d) { return changed(d, intern_); }

  static Definition changed(Definition d, const std::function<ExprPtr(const ExprPtr&)>& change) {
    d.store.value = tile::rebuild(d.store.value, change);
    if (d.store.when) d.store.when = tile::rebuild(d.store.when, change);
    for (ExprPtr& s : d.store.subscripts) s = tile::rebuild(s, change);
    for (ExprPtr& c : d.checks) c = tile::rebuild(c, change);
    return d;
  }

  static std::vector<const Definition*> pointers(const Cluster& cluster) {
    std::vector<const Definition*> out;
    for (const Definition& d : cluster) out.push_back(&d);
    return out;
  }

  const Graph& graph_;
  const tile::Machine& machine_;
  bool stream_;
  tile::Ranges ranges_;
  Interner intern_;
  std::vector<Cluster> out_;
};

}  // namespace

bool reads(const Definition& d, int32_t parameter) {
  return std::ranges::any_of(loads(d), [&](const tile::Expr* e) { return e->id == parameter; });
}

const std::vector<AxisId>& axes_of(const Cluster& cluster) {
  return std::ranges::max_element(cluster, {}, [](const Definition& d) { return d.axes.size(); })->axes;
}

std::vector<Cluster> clusters(const Graph& graph, const tile::Machine& machine, bool stream) {
  return Clusterer(graph, machine, stream).run();
}

}  // namespace quern::fuse
