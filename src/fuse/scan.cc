#include "fuse/scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <expected>
#include <set>
#include <unordered_map>

#include "fuse/derive/print_term.h"
#include "fuse/product.h"
#include "tile/extent.h"
#include "tile/linear.h"
#include "tile/rebuild.h"
#include "tile/reductions.h"

namespace quern::fuse {

using tile::AxisId;
using tile::AxisSet;
using tile::Expr;
using tile::ExprPtr;
using tile::Family;
using tile::Op;

namespace {

constexpr int64_t kLeastSteps = 16;

void conjuncts(const ExprPtr& e, std::vector<ExprPtr>& out) {
  if (e->op != Op::kAnd) return out.push_back(e);
  conjuncts(e->args[0], out);
  conjuncts(e->args[1], out);
}

class Finder {
 public:
  Finder(const Graph& graph, AxisId walked) : graph_(graph), walked_(walked) {}

  // All reductions below that mention the index; false if one is no scan.
  bool look(const ExprPtr& e) {
    if (!e || !e->axes.has(walked_) || !seen_.insert(e.get()).second) return true;
    if (tile::is_reduction(*e)) {
      auto carried = match(e);
      if (carried) out_.carried.push_back(*carried);
      if (!carried) failed_ = {e, carried.error()};
      return carried.has_value();
    }
    for (const ExprPtr& a : e->args) {
      if (!look(a)) return false;
    }
    return look(e->guard);
  }
  int64_t steps() const { return ends(walked_).second - ends(walked_).first; }
  Scan scan() && {
    out_.axis = walked_;
    return std::move(out_);
  }

  // The first reduction that is no scan along the index, and why.
  struct Failed {
    ExprPtr reduction;
    std::string why;
  };
  const Failed& failed() const { return failed_; }

  // A reduction up to the index that a reader would walk: its elements hold no reduction that changes with the index,
  // as the scores of attention do, but such ones.
  bool like_a_scan(const ExprPtr& e) const {
    if (row_family(e) != Family::reduce || !e->axes.has(walked_)) return false;
    const ExprPtr& body = e->args[0];
    if (body->op != Op::kSelect || !tile::equal(body->args[2], tile::identity(e->op, e->type))) return false;
    std::vector<ExprPtr> all;
    conjuncts(body->args[1], all);
    bool up_to = std::ranges::any_of(all, [&](const ExprPtr& c) {
      return std::ranges::any_of(e->over.list(), [&](AxisId a) { return order(c, a, walked_).has_value(); });
    });
    if (!up_to) return false;
    bool cheap = true;
    tile::each_part(body->args[0], [&](const ExprPtr& part) {
      cheap = cheap && (!tile::is_reduction(*part) || !part->axes.has(walked_) || like_a_scan(part));
    });
    return cheap;
  }

 private:
  // later - earlier + number > 0 as a condition, if `e` is that.
  std::optional<int64_t> order(const ExprPtr& e, AxisId earlier, AxisId later) const {
    bool less = e->op == Op::kLt || e->op == Op::kLe, more = e->op == Op::kGt || e->op == Op::kGe;
    if ((!less && !more) || quern::kind(e->args[0]->type) != Kind::kInt) return std::nullopt;
    auto low = tile::linear(graph_.program, e->args[less ? 0 : 1]), high = tile::linear(graph_.program, e->args[less]);
    if (!low || !high) return std::nullopt;
    tile::Linear difference = tile::added(*high, tile::scaled(-1, *low));
    if (difference.factors != std::map<AxisId, int64_t>{{earlier, -1}, {later, 1}} || !difference.terms.empty()) {
      return std::nullopt;
    }
    return difference.number + (e->op == Op::kLe || e->op == Op::kGe);
  }

  struct Prefix {
    int64_t number = 0;           // walked - reduced + number > 0
    ExprPtr element;              // without the condition
    std::vector<ExprPtr> others;  // conditions besides
  };
  // `body` with one condition on both axes.
  std::optional<Prefix> prefix(const ExprPtr& body, const ExprPtr& none, AxisId reduced, AxisId walked) const {
    if (body->op != Op::kSelect || !tile::equal(body->args[2], none)) return std::nullopt;
    Prefix out{.element = body->args[0]};
    std::vector<ExprPtr> all;
    conjuncts(body->args[1], all);
    bool found = false;
    for (const ExprPtr& c : all) {
      if (!c->axes.has(walked)) {
        out.others.push_back(c);
        continue;
      }
      auto number = order(c, reduced, walked);
      if (!number || found) return std::nullopt;
      out.number = *number, found = true;
    }
    if (!found) return std::nullopt;
    return out;
  }

  static Family row_family(const ExprPtr& e) { return tile::row(*e).family; }
  const std::string& called(AxisId a) const { return graph_.axes[static_cast<size_t>(a)].name.str(); }

  std::expected<Scan::Carried, std::string> match(const ExprPtr& r) const {
    if (tile::row(*r).family != Family::reduce || r->over.size() != 1) {
      return std::unexpected("several indices are reduced at once");
    }
    AxisId reduced = r->over.list().front();
    const std::string &s = called(reduced), &t = called(walked_);
    auto p = prefix(r->args[0], tile::identity(r->op, r->type), reduced, walked_);
    bool like = p || like_a_scan(r);
    if (!like) return std::unexpected(fmt::format("it is no reduction up to {}", t));
    if (!p || (p->number != 0 && p->number != 1)) {
      return std::unexpected(fmt::format("its condition is more than {} <= {} or {} < {}", s, t, s, t));
    }
    auto [s_lo, s_hi] = ends(reduced);
    auto [lo, hi] = ends(walked_);
    if (s_lo > s_hi || lo > hi) return std::unexpected(fmt::format("data end the range of {} or {}", s, t));
    if (s_lo != lo || s_hi < hi - 1 + p->number) {
      return std::unexpected(fmt::format("{} has not the range of {}", s, t));
    }
    Scan::Carried out{.reduction = r, .before = p->number == 0};
    ExprPtr element = p->element;
    if (element->axes.has(walked_) && !take_gate(*r, reduced, p->number, element, out)) {
      return std::unexpected(
          fmt::format("what is reduced changes with {}, by more than a product of gates after {}", t, s));
    }
    if (has_reduction_over(element, reduced)) {
      return std::unexpected(fmt::format("what is reduced holds a reduction for each {}", s));
    }
    if (!p->others.empty()) {
      ExprPtr condition = p->others[0];
      for (size_t i = 1; i < p->others.size(); ++i) condition = tile::apply(Op::kAnd, {condition, p->others[i]});
      element = tile::select(condition, element, tile::identity(r->op, r->type));
    }
    out.element = moved(element, reduced);
    if (s_hi < hi) {
      // Nobody waits for what the last index adds, which may not be there.
      ExprPtr there = tile::apply(Op::kLt, {tile::axis(walked_), tile::integer(s_hi)});
      out.element = tile::select(there, guarded(out.element, there), tile::identity(r->op, r->type));
    }
    return out;
  }

  // Ends of a range that is known; empty, from 1 to 0, if it isn't.
  std::pair<int64_t, int64_t> ends(AxisId a) const {
    const tile::Axis& axis = graph_.axes[static_cast<size_t>(a)];
    if (axis.hi->op != Op::kInteger || (axis.lo && axis.lo->op != Op::kInteger)) return {1, 0};
    return {axis.lo ? axis.lo->integer : 0, axis.hi->integer};
  }

  // Reads only where the condition holds.
  static ExprPtr guarded(const ExprPtr& e, const ExprPtr& condition) {
    return tile::rebuild(e, [&](const ExprPtr& part) {
      if (part->op != Op::kLoad) return part;
      ExprPtr guard = part->guard ? tile::apply(Op::kAnd, {condition, part->guard}) : condition;
      return tile::with_args(*part, part->args, guard);
    });
  }

  // x * prod[j](a[j] if s < j and j <= t else 1): what is left of the element is x.
  bool take_gate(const Expr& r, AxisId reduced, int64_t number, ExprPtr& element, Scan::Carried& out) const {
    if (r.op != Op::kSum || quern::kind(r.type) != Kind::kReal) return false;
    Product all = product_of(element);
    auto is_gate = [&](const Factor& f) { return f.value->axes.has(walked_); };
    auto found = std::ranges::find_if(all.factors, is_gate);
    if (std::ranges::count_if(all.factors, is_gate) != 1 || found->inverse || found->value->op != Op::kProd)
      return false;
    const ExprPtr gate = found->value;
    if (gate->over.size() != 1) return false;
    AxisId between = gate->over.list().front();
    auto [first, j_hi] = ends(between);
    auto [begin, hi] = ends(walked_);
    auto p = prefix(gate->args[0], tile::identity(Op::kProd, gate->type), between, walked_);
    if (!p || p->number != number || p->others.size() != 1) return false;
    auto from = order(p->others[0], reduced, between);
    if (!from || (*from != 0 && *from != 1)) return false;
    if (j_hi < hi) return false;
    if (first > begin + 1 - *from) return false;  // the product leaves gates out
    if (p->element->axes.has(reduced) || p->element->axes.has(walked_)) return false;
    if (has_reduction_over(p->element, between)) return false;
    out.gates_itself = *from == 1;
    out.gate = moved(p->element, between);
    first = std::max(first, begin + 1 - *from);
    if (first > begin) {
      // Nothing is carried to the first index, so its gate, which may not be there, is not read.
      out.gated = tile::apply(Op::kGe, {tile::axis(walked_), tile::integer(first)});
      out.gate = guarded(out.gate, out.gated);
    }
    all.factors.erase(found);
    element = all.factors.empty() ? tile::real(1, r.type) : product(all.factors);
    if (all.negative) element = tile::apply(Op::kNeg, {element});
    return true;
  }

  // Would be computed again for each index, one at a time.
  bool has_reduction_over(const ExprPtr& e, AxisId a) const {
    bool found = false;
    tile::each_part(e, [&](const ExprPtr& part) {
      found =
          found || (tile::is_reduction(*part) && part->axes.has(a)) || part->op == Op::kHigh || part->op == Op::kLow;
    });
    return found;
  }

  ExprPtr moved(const ExprPtr& e, AxisId from) const {
    return tile::rebuild(
        e, [&](const ExprPtr& part) { return part->op == Op::kAxis && part->id == from ? tile::axis(walked_) : part; });
  }

  const Graph& graph_;
  AxisId walked_;
  std::set<const Expr*> seen_;
  Scan out_;
  Failed failed_;
};

bool reads_what_it_writes(const Cluster& definitions) {
  return std::ranges::any_of(definitions, [&](const Definition& writer) {
    return std::ranges::any_of(definitions, [&](const Definition& d) { return reads(d, writer.store.parameter); });
  });
}

// Its instances may come one after the other along the index.
bool walkable(const Definition& d, AxisId a) {
  bool checked = std::ranges::any_of(d.checks, [&](const ExprPtr& c) { return c->axes.has(a); });
  return std::ranges::find(d.axes, a) != d.axes.end() && !d.store.add && !checked;
}

// Is the index known to have too few values for a walk to matter?
bool few(const Graph& graph, AxisId a) {
  const tile::Axis& axis = graph.axes[static_cast<size_t>(a)];
  auto hi = tile::constant(graph.program, axis.hi);
  auto lo = axis.lo ? tile::constant(graph.program, axis.lo) : std::optional<int64_t>(0);
  return hi && lo && *hi - *lo < kLeastSteps;
}

}  // namespace

std::optional<Scan> scan_of(const Graph& graph, const Cluster& definitions) {
  const std::vector<AxisId>& axes = definitions.front().axes;
  for (AxisId a : axes) {
    Finder finder(graph, a);
    if (finder.steps() < kLeastSteps) continue;
    bool all = std::ranges::all_of(definitions, [&](const Definition& d) {
      return walkable(d, a) && finder.look(d.store.value) && finder.look(d.store.when);
    });
    Scan scan = std::move(finder).scan();
    if (all && !scan.carried.empty() && !reads_what_it_writes(definitions)) return scan;
  }
  return std::nullopt;
}

Diagnostics plain_scans(const Graph& graph, const Cluster& definitions) {
  Diagnostics out;
  Facts facts{&graph.program, &graph.axes};
  algebra::Writer writer(facts);
  bool meets = reads_what_it_writes(definitions);
  for (const Definition& d : definitions) {
    for (AxisId a : d.axes) {
      Finder finder(graph, a);
      if (few(graph, a)) continue;
      ExprPtr like;
      tile::each_part(d.store.value, [&](const ExprPtr& e) {
        if (finder.like_a_scan(e)) like = e;
      });
      if (!like) continue;
      std::string why;
      if (!finder.look(d.store.value) || !finder.look(d.store.when)) {
        why = finder.failed().why;
        if (finder.failed().reduction != like) why = writer.brief(finder.failed().reduction) + " isn't one: " + why;
      } else {
        why = meets             ? "the kernel reads what it writes"
              : !walkable(d, a) ? "data decide where it is written, or a test depends on the index"
                                : "other results of the kernel are none";
      }
      out.push_back(diagnose(Code::R25, like->span,
                             {{"what", writer.brief(like)}, {"axis", writer.axis(a)}, {"why", std::move(why)}}));
      break;
    }
  }
  return out;
}

tile::Block block_of(const Scan& scan, const Cluster& definitions, Namer& namer) {
  tile::Loop loop;
  loop.walks.push_back({scan.axis, 1, nullptr, nullptr});
  std::unordered_map<const Expr*, ExprPtr> by;
  for (const Scan::Carried& c : scan.carried) {
    const Expr& r = *c.reduction;
    AxisSet axes = r.axes - AxisSet::of(scan.axis);
    ExprPtr none = tile::identity(r.op, r.type);
    int32_t so_far = namer.add("so_far", r.type, axes);
    ExprPtr old = tile::name(so_far, r.type, axes), fresh = old;
    if (c.gate) {
      ExprPtr element = c.gates_itself ? tile::apply(Op::kAdd, {old, c.element}) : old;
      fresh = tile::apply(Op::kMul, {element, c.gate});
      if (c.gated) fresh = tile::select(c.gated, fresh, element);
      if (!c.gates_itself) fresh = tile::apply(Op::kAdd, {fresh, c.element});
    } else {
      fresh = tile::apply(tile::combining(r.op), {old, c.element});
    }
    int32_t now = namer.add("now", r.type, fresh->axes);
    loop.body.push_back({tile::Let{now, fresh}});
    ExprPtr next = tile::name(now, r.type, fresh->axes);
    loop.carries.push_back({so_far, axes.empty() ? none : tile::fill(axes, none), next});
    by[c.reduction.get()] = c.before ? old : next;
  }
  for (const Definition& d : definitions) {
    tile::Store s = d.store;
    auto known = [&](const ExprPtr& part) {
      auto at = by.find(part.get());
      return at == by.end() ? part : at->second;
    };
    s.value = tile::rebuild(s.value, known);
    if (s.when) s.when = tile::rebuild(s.when, known);
    loop.body.push_back({std::move(s)});
  }
  return {{std::move(loop)}};
}

}  // namespace quern::fuse
