#include "place/lanes.h"

#include <algorithm>
#include <map>

#include "place/keep.h"
#include "place/strides.h"
#include "tile/extent.h"
#include "tile/rebuild.h"
#include "tile/reductions.h"
#include "tile/scalar_axes.h"

namespace quern::place {

using namespace tile;

namespace {

constexpr double kWorthIt = 0.5;
constexpr int64_t kUnknown = 1024;
constexpr int64_t kContraction = 16;  // so many terms make a sum a contraction, whose products may be flushed
constexpr double kStripShare = 8;     // of a strip's indices: a vector of them

int64_t up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }
int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// A nest, and the walks around it.
struct Site {
  Nest* nest = nullptr;
  std::vector<Walk> walks;
  const Expr* dot = nullptr;
};

// The parts that are computed for each element: not what is inside of subscripts.
void each_value(const ExprPtr& e, const std::function<void(const ExprPtr&)>& see) {
  if (e->op != Op::kLoad) {
    for (const ExprPtr& a : e->args) each_value(a, see);
  }
  if (e->guard) each_value(e->guard, see);
  see(e);
}

class Laner {
 public:
  Laner(const Program& program, Kernel& kernel, const Machine& machine)
      : program_(program), kernel_(kernel), machine_(machine) {}

  void run() {
    make_scalar(kernel_, {});
    std::vector<Walk> walks = kernel_.grid;
    collect(kernel_.body, walks);
    for (Site& s : sites_) {
      if (s.dot) choose(s);
    }
    for (Site& s : sites_) {
      if (!s.dot) choose(s);
    }
    lay_out(kernel_.body);
  }

 private:
  void collect(Block& block, std::vector<Walk>& walks) {
    for (Statement& s : block) {
      if (auto* nest = std::get_if<Nest>(&s.is)) {
        Site site{nest, walks};
        for (const Statement& inner : nest->body) {
          const auto* let = std::get_if<Let>(&inner.is);
          if (let && row(*let->value).family == Family::dot) site.dot = let->value.get();
        }
        for (const Statement& inner : nest->body) {
          const auto* let = std::get_if<Let>(&inner.is);
          if (!let) continue;
          definer_[let->name] = nest;
          if (let->value->op == Op::kLoad) loads_[let->name] = let->value;
        }
        sites_.push_back(site);
      } else if (auto* loop = std::get_if<Loop>(&s.is)) {
        for (const Carry& c : loop->carries) {
          // What is carried lies as what it becomes.
          if (c.next->op == Op::kName) same_.emplace_back(c.name, c.next->id);
          if (c.init->op == Op::kName) same_.emplace_back(c.name, c.init->id);
        }
        size_t outer = walks.size();
        walks.insert(walks.end(), loop->walks.begin(), loop->walks.end());
        collect(loop->body, walks);
        walks.resize(outer);
      } else if (auto* branch = std::get_if<If>(&s.is)) {
        collect(branch->body, walks);
      } else if (auto* let = std::get_if<Let>(&s.is)) {
        values_[let->name] = let->value;
      } else if (auto* keep = std::get_if<Keep>(&s.is)) {
        keeps_[keep->name] = keep;
        kept_walks_[keep->name] = walks;
      }
    }
  }

  int64_t most(const Site& site, AxisId a) const {
    // A range that is always empty still has steps.
    return std::max<int64_t>(1, most_indices(program_, kernel_, site.walks, a).value_or(kUnknown));
  }

  int64_t vector_lanes(const Nest& nest) const {
    bool wide = false;
    each_expression(nest.body, [&](const ExprPtr& e) {
      each_part(e, [&](const ExprPtr& part) { wide = wide || part->type == ScalarType::f64; });
    });
    return std::max<int64_t>(1, machine_.lanes(wide ? ScalarType::f64 : ScalarType::f32));
  }

  static AxisSet axes_of(const Nest& nest, AxisRole role) {
    AxisSet out;
    for (const NestAxis& a : nest.axes) {
      if (a.role == role) out |= AxisSet::of(a.axis);
    }
    return out;
  }

  void choose(Site& site) {
    Nest& nest = *site.nest;
    AxisId best = -1;
    double best_score = kWorthIt;
    // In a product of matrices lanes are columns, unless there is no way to read them.
    bool columns = site.dot && is_matrix_product(*site.dot);
    for (bool strips : {false, true}) {
      if (strips && columns && best >= 0) break;
      for (const NestAxis& a : nest.axes) {
        if (columns && (a.role == AxisRole::kStrip) != strips) continue;
        if (most(site, a.axis) < 4) continue;
        double s = score(site, a.axis);
        if (s > best_score || (s == best_score && best >= 0)) best = a.axis, best_score = s;
      }
    }
    int64_t w = vector_lanes(nest);
    if (w < 2) best = -1;
    for (NestAxis& a : nest.axes) a.lanes = a.axis == best;
    if (best >= 0) {
      set_sizes(site, best, w);
      // The lanes axis is the innermost of its kind, but for one along which memory is read.
      AxisId turned = turned_in(site, best);
      std::stable_sort(nest.axes.begin(), nest.axes.end(), [&](const NestAxis& a, const NestAxis& b) {
        auto rank = [&](const NestAxis& n) {
          return (n.role == AxisRole::kStrip ? 3 : 0) + (n.axis == turned ? 2 : n.lanes ? 1 : 0);
        };
        return rank(a) < rank(b);
      });
      for (int32_t name : names_defined(nest.body)) settle(name, best);
      for (int32_t name : names_in(nest.body)) settle(name, best);
    }
  }

  // Decides the innermost axis of a kept value, the first time that a nest wants it.
  void settle(int32_t name, AxisId axis) {
    if (!keeps_.contains(name) || !kernel_.names[name].axes.has(axis)) return;
    if (!inner_.emplace(name, axis).second) return;
    for (const auto& [a, b] : same_) {
      if (a == name) settle(b, axis);
      if (b == name) settle(a, axis);
    }
  }

  double score(const Site& site, AxisId axis) const {
    const Nest& nest = *site.nest;
    AxisSet strip = axes_of(nest, AxisRole::kStrip);
    // What is inside of strips runs so much more often; a short one counts too, for what is joined after it.
    double often = 1;
    for (AxisId a : strip.list()) often *= static_cast<double>(most(site, a));
    often = std::clamp(often / kStripShare, 4.0, 64.0);
    double total = 0;
    bool possible = true;
    for (const Statement& s : nest.body) {
      AxisSet all;
      each_expression({s}, [&](const ExprPtr& e) { all |= axes_mentioned(e); });
      double weight = (all & strip).empty() ? 1 : often;
      each_expression({s}, [&](const ExprPtr& e) {
        each_value(e, [&](const ExprPtr& part) {
          if (part->op == Op::kLoad) {
            bool turned = turned_along(site, *part, axis) >= 0;
            total += weight * (turned ? 0.5 : worth(along(program_, part->id, part->args, axis)));
          }
          if (part->op == Op::kName) total += weight * kept_worth(part->id, nest, axis);
          // Arithmetic in lanes pays for some loads that are not side by side.
          bool leaf = row(*part).arity == 0 || part->op == Op::kLoad || is_reduction(*part);
          if (!leaf && part->axes.has(axis)) total += weight * 0.25;
        });
      });
      if (const auto* let = std::get_if<Let>(&s.is)) {
        if (keeps_.contains(let->name)) total += kept_worth(let->name, nest, axis);
        // A reduction across lanes ends in a few shuffles.
        if (is_reduction(*let->value) && let->value->over.has(axis)) total -= 0.25;
      }
      if (const auto* store = std::get_if<Store>(&s.is)) {
        Along how = along(program_, store->parameter, store->subscripts, axis);
        total += worth(how);
        // Lanes that store into one element: whatever they hold, one after the other.
        bool meets = how == Along::absent || (store->add && how == Along::scattered);
        if (all.has(axis) && meets) possible = false;
        // Lanes that share a byte would need to be written one after the other.
        if (row(program_.parameters[store->parameter].type).bits < 8 && how != Along::unit) possible = false;
      }
    }
    if (!possible) return -1e9;
    double filled = static_cast<double>(most(site, axis)) / static_cast<double>(vector_lanes(nest));
    return total > 0 ? total * std::min(1.0, filled) : total;
  }

  // The block axis along which elements lie side by side that are strided along `axis`: squares of them are turned in
  // registers then. -1: there is none.
  AxisId turned_along(const Site& site, const Expr& load, AxisId axis) const {
    bool plain = !load.guard && load.checked == 0 && row(load.type).bits >= 8 && load.type != ScalarType::boolean;
    int64_t w = vector_lanes(*site.nest);
    if (machine_.warp > 0) return -1;
    // A sum over strips is better off with the side by side axis in lanes.
    if (!axes_of(*site.nest, AxisRole::kStrip).empty() || !plain || w < 4 || most(site, axis) < w) return -1;
    if (along(program_, load.id, load.args, axis) != Along::strided) return -1;
    for (const NestAxis& a : site.nest->axes) {
      if (a.axis == axis || a.role != AxisRole::kBlock || most(site, a.axis) < w) continue;
      if (along(program_, load.id, load.args, a.axis) == Along::unit) return a.axis;
    }
    return -1;
  }

  // Each operand has an axis of its own, so each is used several times.
  static bool is_matrix_product(const Expr& e) {
    if (row(e).family != Family::dot) return false;
    AxisSet a = e.args[0]->axes - e.over, b = e.args[1]->axes - e.over;
    return !(a - b).empty() && !(b - a).empty();
  }

  static double worth(Along how) {
    switch (how) {
      case Along::unit: return 1;
      case Along::absent: return 0;
      case Along::strided:
      case Along::scattered: return -2;
    }
    return 0;
  }

  double kept_worth(int32_t name, const Nest& nest, AxisId axis) const {
    auto it = keeps_.find(name);
    if (it == keeps_.end() || !kernel_.names[name].axes.has(axis)) return 0;
    auto definer = definer_.find(name);
    bool here = definer != definer_.end() && definer->second == &nest;
    auto settled = inner_.find(name);
    if (settled != inner_.end()) return settled->second == axis ? 1 : -2;
    if (here) return 0.75;
    // As it is wanted; best as it lies already where it is copied from.
    auto load = loads_.find(name);
    if (load == loads_.end()) return 0.5;
    return along(program_, load->second->id, load->second->args, axis) == Along::unit ? 0.75 : 0.5;
  }

  AxisId turned_in(const Site& site, AxisId axis) const {
    AxisId out = -1;
    for (const Statement& s : site.nest->body) {
      each_expression({s}, [&](const ExprPtr& e) {
        each_value(e, [&](const ExprPtr& part) {
          if (part->op == Op::kLoad && out < 0) out = turned_along(site, *part, axis);
        });
      });
    }
    return out;
  }

  // --- sizes ---

  void set_sizes(const Site& site, AxisId lane_axis, int64_t w) {
    Nest& nest = *site.nest;
    AxisSet strip = axes_of(nest, AxisRole::kStrip);
    int64_t extent = most(site, lane_axis);
    NestAxis* lane = nullptr;
    for (NestAxis& a : nest.axes) {
      if (a.axis == lane_axis) lane = &a;
    }
    if (site.dot && !strip.has(lane_axis)) {
      dot_sizes(site, *lane, w);
      return;
    }
    if (AxisId turned = turned_in(site, lane_axis); turned >= 0) {
      for (NestAxis& a : nest.axes) {
        if (a.axis == turned || a.axis == lane_axis) a.size = w;
      }
      return;
    }
    int64_t vectors = nest.body.size() > 8 ? 2 : 4;
    if (strip.has(lane_axis)) {
      // Sums along the lanes: several accumulators for one row, or one for each of several rows.
      AxisId rows = largest(site, AxisRole::kBlock, lane_axis);
      int64_t count = rows < 0 ? 1 : most(site, rows);
      if (site.dot && count >= 4) {
        // Few rows of the other operand share what is loaded.
        int64_t left = 8;
        for (NestAxis& a : nest.axes) {
          if (a.role != AxisRole::kBlock || a.axis == rows || most(site, a.axis) > 4) continue;
          a.size = most(site, a.axis);
          left = std::max<int64_t>(1, left / a.size);
        }
        for (NestAxis& a : nest.axes) {
          if (a.axis == rows) a.size = even(count, left);
        }
        vectors = 1;
      }
    }
    lane->size = std::min(vectors * w, up(std::max<int64_t>(extent, 1), w));
  }

  AxisId largest(const Site& site, AxisRole role, AxisId but) const {
    AxisId best = -1;
    for (const NestAxis& a : site.nest->axes) {
      if (a.role != role || a.axis == but) continue;
      if (best < 0 || most(site, a.axis) > most(site, best)) best = a.axis;
    }
    return best;
  }

  // Blocks of at most `limit`, as even as they can be.
  static int64_t even(int64_t count, int64_t limit) {
    return ceil_div(count, std::max<int64_t>(1, ceil_div(count, limit)));
  }

  void dot_sizes(const Site& site, NestAxis& lane, int64_t w) {
    int64_t columns = ceil_div(most(site, lane.axis), w);  // vectors
    // As many accumulators as the rule has; other shapes of 24 are as fast, so that columns divide.
    const DotRule* rule = machine_.dot(site.dot->args[1]->type, site.dot->type);
    bool alike = row(site.dot->args[0]->type).bits == row(site.dot->args[1]->type).bits;
    if (rule && rule->k > 1 && alike) take_together(site, rule->k);
    if (!rule) rule = machine_.dot(ScalarType::f32, ScalarType::f32);
    int64_t wide = rule ? ceil_div(rule->n, w) : 2;
    int64_t registers = rule ? rule->m * wide : 8;
    int64_t vectors = std::min(columns, wide == 3 && columns % 4 == 0 ? 4 : wide);
    if (wide == 3 && columns == 5) vectors = 5;
    vectors = std::max<int64_t>(1, vectors);
    lane.size = vectors * w;
    AxisId rows = largest(site, AxisRole::kBlock, lane.axis);
    if (rows < 0) return;
    int64_t most_rows = std::min<int64_t>(registers / vectors, 12);
    for (NestAxis& a : site.nest->axes) {
      if (a.axis == rows) a.size = even(most(site, rows), most_rows);
    }
  }

  // The innermost strip goes in steps of what one instruction takes.
  void take_together(const Site& site, int64_t k) const {
    for (auto a = site.nest->axes.rbegin(); a != site.nest->axes.rend(); ++a) {
      if (a->role != AxisRole::kStrip) continue;
      if (most(site, a->axis) >= std::max(k, kContraction)) a->size = k;
      return;
    }
  }

  // --- layouts ---

  void lay_out(Block& block) {
    for (Statement& s : block) {
      if (auto* keep = std::get_if<Keep>(&s.is)) keep->layout = layout(keep->name);
      if (auto* loop = std::get_if<Loop>(&s.is)) lay_out(loop->body);
      if (auto* branch = std::get_if<If>(&s.is)) lay_out(branch->body);
    }
  }

  std::vector<Digit> layout(int32_t name) const {
    std::vector<AxisId> axes = kernel_.names[name].axes.list();
    auto it = inner_.find(name);
    if (it == inner_.end() || axes.size() < 2) return {};
    AxisId inner = it->second;
    if (int64_t width = panel_width(name, inner); width > 0) {
      std::vector<Digit> out = {{inner, 1, width}};
      for (auto a = axes.rbegin(); a != axes.rend(); ++a) {
        if (*a != inner) out.push_back({*a, 1, 0});
      }
      out.push_back({inner, width, 0});
      return out;
    }
    if (axes.back() == inner) return {};
    std::vector<Digit> out = {{inner, 1, 0}};
    for (auto a = axes.rbegin(); a != axes.rend(); ++a) {
      if (*a != inner) out.push_back({*a, 1, 0});
    }
    return out;
  }

  // The width of the panels of a dot's operand: the block of its lanes axis; 0 if it is no such operand, or if the
  // tiles of a loop inside would not begin at a panel.
  int64_t panel_width(int32_t name, AxisId inner) const {
    int64_t width = 0;
    for (const Site& site : sites_) {
      if (!names_in(site.nest->body).contains(name)) continue;
      const NestAxis* lane = nullptr;
      for (const NestAxis& a : site.nest->axes) {
        if (a.lanes) lane = &a;
      }
      auto definer = definer_.find(name);
      if (definer != definer_.end() && definer->second == site.nest) continue;
      if (!site.dot || !lane || lane->axis != inner) return 0;
      bool operand = false;
      for (int i = 0; i < 2; ++i) {
        const ExprPtr& a = site.dot->args[i];
        operand = operand || (a->op == Op::kName && a->id == name && a->axes.has(inner) && !site.dot->over.has(inner));
      }
      if (!operand || (width != 0 && width != lane->size)) return 0;
      width = lane->size;
      const std::vector<Walk>& outer = kept_walks_.at(name);
      for (size_t i = outer.size(); i < site.walks.size(); ++i) {
        const Walk& w = site.walks[i];
        if (w.axis == inner && (w.size % width != 0 || !begins_at_panel(w, width))) return 0;
      }
    }
    return width;
  }

  // Does the range begin at a multiple of `width`? Borders of cut ranges do (fuse/cut.h), or the range is empty: they
  // are clipped by the end of it.
  bool begins_at_panel(const Walk& w, int64_t width) const {
    if (!w.lo) return true;
    if (kernel_.axes[w.axis].lo || w.size == 0)
      return w.lo->op == Op::kInteger && w.lo->integer == 0 && !kernel_.axes[w.axis].lo;
    return is_multiple(w.lo, width);
  }
  bool is_multiple(const ExprPtr& e, int64_t width) const {
    switch (row(*e).family) {
      case Family::literal: return e->op == Op::kInteger && e->integer % width == 0;
      case Family::name: return values_.contains(e->id) && is_multiple(values_.at(e->id), width);
      case Family::arithmetic:
        if (e->op == Op::kMul) return is_multiple(e->args[0], width) || is_multiple(e->args[1], width);
        return (e->op == Op::kAdd || e->op == Op::kSub) && is_multiple(e->args[0], width) &&
               is_multiple(e->args[1], width);
      case Family::extremum:
        if (e->op == Op::kMinOf) return is_multiple(e->args[0], width) || is_multiple(e->args[1], width);
        return is_multiple(e->args[0], width) && is_multiple(e->args[1], width);
      default: return false;
    }
  }

  const Program& program_;
  Kernel& kernel_;
  const Machine& machine_;
  std::map<int32_t, ExprPtr> values_;  // of the integers outside of nests
  std::vector<Site> sites_;
  std::map<int32_t, const Nest*> definer_;
  std::map<int32_t, ExprPtr> loads_;  // names of what is only read
  std::map<int32_t, const Keep*> keeps_;
  std::map<int32_t, std::vector<Walk>> kept_walks_;
  std::map<int32_t, AxisId> inner_;
  std::vector<std::pair<int32_t, int32_t>> same_;
};

}  // namespace

Result<Program> lanes(const Program& placed, const Machine& machine) {
  Program out = placed;
  for (Kernel& kernel : out.kernels) Laner(placed, kernel, machine).run();
  out.stage = Stage::kLaid;
  return out;
}

}  // namespace quern::place
