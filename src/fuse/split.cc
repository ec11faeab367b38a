#include "fuse/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "fuse/merge_step.h"
#include "fuse/rename_axes.h"
#include "fuse/tile.h"
#include "tile/extent.h"
#include "tile/range.h"
#include "tile/rebuild.h"
#include "tile/reductions.h"

namespace quern::fuse {

using namespace tile;

namespace {

constexpr int64_t kMostParts = 65536;
constexpr int64_t kLong = 256, kWhole = 16;
constexpr int64_t kMostIndices = int64_t{1} << 31;  // of an axis that a state has

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

AxisSet axes_of(const Loop& loop) {
  AxisSet out;
  for (const Walk& w : loop.walks) out |= AxisSet::of(w.axis);
  return out;
}

// The axes that a statement reduces over, in loops that it holds too.
AxisSet reduced_by(const Statement& s) {
  AxisSet out;
  each_expression({s}, [&](const ExprPtr& e) {
    each_part(e, [&](const ExprPtr& part) {
      if (is_reduction(*part)) out |= part->over;
    });
  });
  return out;
}

AxisSet mentioned_by(const Statement& s) {
  AxisSet out;
  each_expression({s}, [&](const ExprPtr& e) { out |= axes_mentioned(e); });
  return out;
}

// Does it ask where the range of the axis ends?
bool asks_ends(const Statement& s, AxisId axis) {
  bool found = false;
  each_expression({s}, [&](const ExprPtr& e) {
    each_part(e, [&](const ExprPtr& part) {
      found = found || ((part->op == Op::kHigh || part->op == Op::kLow) && part->id == axis);
    });
  });
  return found;
}

bool is_check(const Statement& s) {
  const auto* let = std::get_if<Let>(&s.is);
  return let && row(*let->value).family == Family::check;
}

class Splitter {
 public:
  Splitter(const Program& program, const Kernel& kernel, const KernelPlan& plan)
      : program_(program), kernel_(kernel), plan_(plan) {
    name_reductions(kernel_);
  }

  std::expected<Split, std::string> run() {
    choose_axis();
    if (!why_.empty()) return std::unexpected(why_);
    part_ = add_axis("part");
    parts_ = add_axis("parts");
    find_rounds();
    for (int round = 1; round <= rounds_ && why_.empty(); ++round) part_kernel(round);
    if (why_.empty()) last_kernels();
    if (!why_.empty()) return std::unexpected(why_);
    return std::move(out_);
  }

 private:
  AxisId find(Symbol name) const {
    for (size_t a = 0; a < kernel_.axes.size(); ++a) {
      if (kernel_.axes[a].name == name) return static_cast<AxisId>(a);
    }
    return -1;
  }
  const std::string& axis_name(AxisId a) const { return kernel_.axes[static_cast<size_t>(a)].name.str(); }
  int64_t length(AxisId a) const { return extent(program_, kernel_, a).value_or(int64_t{1} << 40); }

  int64_t reductions(AxisId a) const {
    return std::ranges::count_if(kernel_.body, [&](const Statement& s) { return reduced_by(s).has(a); });
  }

  // The axis of the loops that carry state; without one, the reduced axis that the plan walks, or the longest.
  void choose_axis() {
    AxisSet streamed, flat;
    for (const Statement& s : kernel_.body) {
      const auto* loop = std::get_if<Loop>(&s.is);
      if (!loop) {
        flat |= reduced_by(s);
        continue;
      }
      if (loop->carries.empty()) continue;
      if (loop->walks[0].size == 1) {
        why_ = fmt::format("{} is walked one at a time, in order", axis_name(loop->walks[0].axis));
        return;
      }
      streamed |= AxisSet::of(loop->walks[0].axis);
    }
    AxisSet candidates = streamed.empty() ? flat : streamed, planned;
    for (const AxisPlan& p : plan_.axes) {
      AxisId a = find(p.axis);
      if (p.walk == WalkKind::kLoop && candidates.has(a)) planned |= AxisSet::of(a);
    }
    if (!planned.empty()) candidates = planned;
    for (AxisId a : candidates.list()) {
      if (n_ < 0 || std::pair(length(a), reductions(a)) > std::pair(length(n_), reductions(n_))) n_ = a;
    }
    if (n_ < 0) why_ = "nothing is reduced, so there is nothing to split into parts";
  }

  AxisId add_axis(std::string_view like) {
    std::string text(like);
    auto taken = [&](const std::string& name) {
      auto same = [&](const auto& x) { return x.name.str() == name; };
      return std::ranges::any_of(kernel_.axes, same) || std::ranges::any_of(kernel_.names, same);
    };
    for (int i = 2; taken(text); ++i) text = fmt::format("{}_{}", like, i);
    kernel_.axes.push_back({Symbol(text), nullptr, integer(plan_.parts)});
    return static_cast<AxisId>(kernel_.axes.size()) - 1;
  }

  bool is_split(const Statement& s) const {
    if (const auto* loop = std::get_if<Loop>(&s.is)) return !loop->carries.empty() && axes_of(*loop).has(n_);
    const auto* let = std::get_if<Let>(&s.is);
    return let && is_reduction(*let->value) && let->value->over.has(n_);
  }

  // Round r reduces over n what needs results of r - 1 earlier rounds.
  void find_rounds() {
    std::map<int32_t, int> known;
    for (const Statement& s : kernel_.body) {
      int round = 0;
      for (int32_t name : names_in(Block{s})) {
        if (auto at = known.find(name); at != known.end()) round = std::max(round, at->second);
      }
      if (is_split(s)) {
        ++round;
      } else if (reduced_by(s).has(n_)) {
        why_ = fmt::format("{} is reduced inside of a loop over another axis", axis_name(n_));
      } else if (asks_ends(s, n_)) {
        why_ = fmt::format("the ends of {} are asked for", axis_name(n_));
      }
      for (int32_t name : names_defined({s})) known[name] = round;
      round_of_.push_back(round);
      rounds_ = std::max(rounds_, round);
    }
  }

  Kernel copy(std::string_view suffix) const {
    Kernel out = kernel_;
    out.name = Symbol(fmt::format("{}_{}", kernel_.name.str(), suffix));
    out.body.clear();
    return out;
  }

  // Statements up to what the round reduces, and stores of its results.
  void part_kernel(int round) {
    Kernel k = copy(round == 1 ? "part" : fmt::format("part_{}", round));
    std::vector<Store> stores;
    for (size_t i = 0; i < kernel_.body.size(); ++i) {
      const Statement& s = kernel_.body[i];
      if (std::holds_alternative<Store>(s.is) || is_check(s) || round_of_[i] > round) continue;
      if (!is_split(s)) {
        if (round_of_[i] < round) k.body.push_back(s);
      } else if (round_of_[i] < round) {
        merge(k, i);
      } else {
        k.body.push_back(s);
        if (auto* let = std::get_if<Let>(&k.body.back().is); let && let->value->args.size() == 3) {
          const Expr& e = *let->value;
          let->value = dot(e.type, e.over, e.args[0], e.args[1], nullptr, e.op);
        }
        for (int32_t name : results_of(s)) stores.push_back(state_store(k, name));
      }
    }
    for (Store& s : stores) k.body.push_back({std::move(s)});
    finish(std::move(k), true);
  }

  static std::vector<int32_t> results_of(const Statement& s) {
    if (const auto* let = std::get_if<Let>(&s.is)) return {let->name};
    std::vector<int32_t> out;
    for (const Carry& c : std::get<Loop>(s.is).carries) out.push_back(c.name);
    return out;
  }

  // What is stored in the end; apart where it is stored for each n, which is done in parts too.
  void last_kernels() {
    bool along = false, across = false;
    std::set<int32_t> written, read;
    for (const Statement& s : kernel_.body) {
      each_expression({s}, [&](const ExprPtr& e) {
        each_part(e, [&](const ExprPtr& part) {
          if (part->op == Op::kLoad) read.insert(part->id);
        });
      });
      const auto* store = std::get_if<Store>(&s.is);
      if (!store) continue;
      (is_along(*store) ? along : across) = true;
      written.insert(store->parameter);
    }
    bool meet = std::ranges::any_of(written, [&](int32_t p) { return read.contains(p); });
    if (along && across && meet) {
      why_ = "it reads what it writes, for each " + axis_name(n_) + " and for all of them";
      return;
    }
    if (across) last_kernel("join", false);
    if (along && why_.empty()) last_kernel(across ? "map" : "join", true);
  }

  bool is_along(const Store& s) const {
    AxisSet subscripts;
    for (const ExprPtr& e : s.subscripts) subscripts |= e->axes;
    return subscripts.has(n_);
  }

  void last_kernel(std::string_view suffix, bool along) {
    Kernel k = copy(suffix);
    bool checks = !checked_;
    for (size_t i = 0; i < kernel_.body.size(); ++i) {
      const Statement& s = kernel_.body[i];
      const auto* store = std::get_if<Store>(&s.is);
      if (store && is_along(*store) != along) continue;
      if (is_check(s)) {
        // Once, and over the whole range.
        bool whole = !along || !mentioned_by(s).has(n_);
        if (!whole && checks) why_ = "a range that is tested depends on " + axis_name(n_);
        if (!checks) continue;
        checked_ = true;
      }
      if (is_split(s)) {
        merge(k, i);
      } else {
        k.body.push_back(s);
      }
    }
    finish(std::move(k), false);
  }

  // --- states ---
  // Where a state lies: the plan's grid first, then the part, then what a grid point has itself.
  std::vector<AxisId> place(AxisSet axes) const {
    std::vector<AxisId> out;
    for (const AxisPlan& p : plan_.axes) {
      AxisId a = find(p.axis);
      bool known = std::ranges::find(out, a) != out.end();
      if (p.walk == WalkKind::kGrid && axes.has(a) && !known) out.push_back(a);
    }
    out.push_back(part_);
    for (AxisId a : axes.list()) {
      if (std::ranges::find(out, a) == out.end()) out.push_back(a);
    }
    return out;
  }

  // First index and number of indices that a state has room for; no number where nothing limits them.
  std::pair<int64_t, std::optional<int64_t>> room(AxisId a) {
    Bounds b = Ranges(program_, kernel_.axes).axis(a);
    std::optional<int64_t> end = index_limit(program_, kernel_, a);
    if (b.high) end = std::min(end.value_or(*b.high + 1), *b.high + 1);
    if (!b.low || !end || *end - *b.low > kMostIndices) return {0, std::nullopt};
    return {*b.low, std::max<int64_t>(0, *end - *b.low)};
  }

  std::vector<ExprPtr> subscripts(AxisSet axes, AxisId part) {
    std::vector<ExprPtr> out;
    for (AxisId a : place(axes)) out.push_back(minus(axis(a == part_ ? part : a), integer(room(a).first)));
    return out;
  }

  Store state_store(const Kernel& k, int32_t name) {
    const Name& n = kernel_.names[name];
    Parameter p;
    p.name = Symbol(n.name.str() + "_parts");
    p.role = Role::kTmp;
    p.type = n.type;
    for (AxisId a : place(n.axes)) {
      auto size = room(a).second;
      if (!size) {
        why_ =
            fmt::format("a part's {} has an entry for each {}, and nothing limits these", n.name.str(), axis_name(a));
      }
      p.shape.push_back(integer(size.value_or(0)));
    }
    state_of_[name] = static_cast<int32_t>(program_.parameters.size() + out_.states.size());
    out_.states.push_back(std::move(p));
    Store s;
    s.parameter = state_of_[name];
    s.subscripts = subscripts(n.axes, part_);
    s.value = use(k, name);
    return s;
  }

  ExprPtr state(int32_t name) {
    const Name& n = kernel_.names[name];
    return load(state_of_.at(name), n.type, subscripts(n.axes, parts_));
  }

  // The results of a statement that an earlier round has computed in parts.
  void merge(Kernel& k, size_t at) {
    const Statement& s = kernel_.body[at];
    if (const auto* let = std::get_if<Let>(&s.is)) {
      const Expr& e = *let->value;
      ExprPtr value = reduce(gathering(e), AxisSet::of(parts_), state(let->name));
      if (e.args.size() == 3) value = apply(Op::kAdd, {value, e.args[2]});
      k.body.push_back({Let{let->name, value}});
      return;
    }
    const auto& loop = std::get<Loop>(s.is);
    std::vector<ExprPtr> states;
    for (const Carry& c : loop.carries) states.push_back(state(c.name));
    auto merged = merge_step(k, loop, states, parts_);
    if (!merged) {
      why_ = fmt::format("{}: {}", axis_name(n_), merged.error());
      return;
    }
    for (Statement& one : *merged) k.body.push_back(std::move(one));
  }

  // --- kernels ---
  // Without what nobody needs, with the axes that are left.
  void finish(Kernel k, bool narrowed) {
    if (!why_.empty()) return;
    prune(k);
    std::vector<Axis> axes = std::move(k.axes);
    k.axes.clear();
    std::vector<AxisId> first;
    KernelPlan plan = plan_;
    plan.kernel = k.name;
    plan.parts = 1;
    if (narrowed) {
      narrow(axes);
      first.push_back(part_);
      limit_step(k, plan);
      plan.axes.push_back({axes[static_cast<size_t>(part_)].name, 1, WalkKind::kGrid});
    } else if (auto size = share()) {
      // Where n is left, each of its indices is for itself: these come in as many pieces.
      plan.axes.push_back({axes[static_cast<size_t>(n_)].name, *size, WalkKind::kGrid});
    }
    out_.plans.push_back(std::move(plan));
    out_.kernels.push_back(with_own_axes(std::move(k), axes, first));
  }

  static void prune(Kernel& k) {
    std::set<int32_t> used;
    Block kept;
    for (auto s = k.body.rbegin(); s != k.body.rend(); ++s) {
      std::set<int32_t> defined = names_defined({*s});
      bool wanted = std::holds_alternative<Store>(s->is) || is_check(*s) ||
                    std::ranges::any_of(defined, [&](int32_t name) { return used.contains(name); });
      if (!wanted) continue;
      used.merge(names_in(Block{*s}));
      kept.push_back(std::move(*s));
    }
    std::ranges::reverse(kept);
    k.body = std::move(kept);
    std::set<int32_t> left = names_defined(k.body);
    for (size_t n = 0; n < k.names.size(); ++n) {
      if (!left.contains(static_cast<int32_t>(n))) k.names[n].axes = {};
    }
  }

  // What a loop keeps of its range needs room for a part of it only.
  void limit_step(const Kernel& k, KernelPlan& plan) const {
    auto size = share();
    bool loops = std::ranges::any_of(k.body, [&](const Statement& s) {
      const auto* loop = std::get_if<Loop>(&s.is);
      return loop && axes_of(*loop).has(n_);
    });
    const Symbol& n = kernel_.axes[static_cast<size_t>(n_)].name;
    bool given = std::ranges::any_of(plan.axes, [&](const AxisPlan& p) { return p.axis == n && p.tile > 0; });
    if (size && *size > 1 && loops && !given) plan.axes.push_back({n, *size, WalkKind::kLoop});
  }

  // Indices of a part, where it is known how many there are: whole vectors, of long ones.
  std::optional<int64_t> share() const {
    const Axis& n = kernel_.axes[static_cast<size_t>(n_)];
    auto lo = n.lo ? constant(program_, n.lo) : std::optional<int64_t>(0), hi = constant(program_, n.hi);
    if (!lo || !hi) return std::nullopt;
    int64_t size = std::max<int64_t>(1, ceil_div(std::max<int64_t>(0, *hi - *lo), plan_.parts));
    return size < kLong ? size : ceil_div(size, kWhole) * kWhole;
  }

  // The range of n for a part; where data end it, these are equal parts of what there is.
  void narrow(std::vector<Axis>& axes) const {
    Axis& n = axes[static_cast<size_t>(n_)];
    ExprPtr lo = n.lo ? n.lo : integer(0), hi = n.hi, begin, one;
    auto begins_at = [&](const ExprPtr& size) {
      return plus(lo, equal(size, integer(1)) ? axis(part_) : apply(Op::kMul, {axis(part_), size}));
    };
    if (auto size = share()) {
      int64_t first = *constant(program_, lo), end = *constant(program_, hi);
      if (end < first) hi = lo;
      one = integer(*size);
      begin = begins_at(one);
      // Parts that are all full need no limit.
      if (end - first == *size * plan_.parts) hi = plus(begin, one);
      n.lo = hi->axes.empty() ? smaller(hi, begin) : begin;
    } else {
      ExprPtr count = larger(minus(hi, lo), integer(0));
      one = apply(Op::kFloorDiv, {plus(count, integer(plan_.parts - 1)), integer(plan_.parts)});
      begin = begins_at(one);
      n.lo = larger(lo, smaller(hi, begin));
    }
    n.lo = reduce(Op::kMin, AxisSet::of(part_), n.lo);
    n.hi = reduce(Op::kMax, AxisSet::of(part_), smaller(hi, plus(begin, one)));
  }

  const Program& program_;
  Kernel kernel_;
  const KernelPlan& plan_;
  AxisId n_ = -1, part_ = -1, parts_ = -1;
  std::vector<int> round_of_;  // by statement
  int rounds_ = 0;
  bool checked_ = false;
  std::map<int32_t, int32_t> state_of_;  // name -> parameter
  Split out_;
  std::string why_;
};

}  // namespace

std::expected<Split, std::string> split(const Program& program, const Kernel& kernel, const KernelPlan& plan) {
  if (plan.parts < 1 || plan.parts > kMostParts) {
    return std::unexpected(
        fmt::format("{} is split into {} parts: 1 to {}", kernel.name.str(), plan.parts, kMostParts));
  }
  return Splitter(program, kernel, plan).run();
}

}  // namespace quern::fuse
