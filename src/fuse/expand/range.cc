// Ranges of indices as axes. A range whose ends are known before the launch is an axis of just these indices. One whose
// end depends on other indices or on data (n <= m, n < length[i]) becomes a rectangle that holds all of it, and a mask.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "expr/print.h"
#include "fuse/expand/expander.h"
#include "fuse/factor.h"
#include "tile/rebuild.h"

namespace quern::fuse {

using expr::NodePtr;
using tile::AxisId;
using tile::AxisSet;
using tile::ExprPtr;
using Family = expr::Family;

namespace {

tile::Op reduction_of(expr::Op op) {
  switch (op) {
    case expr::Op::kSum: return tile::Op::kSum;
    case expr::Op::kProd: return tile::Op::kProd;
    case expr::Op::kMin:
    case expr::Op::kArgmin: return tile::Op::kMin;
    case expr::Op::kAny: return tile::Op::kAny;
    case expr::Op::kAll: return tile::Op::kAll;
    default: return tile::Op::kMax;
  }
}

// Does its value come from memory?
bool loads(const ExprPtr& e) {
  if (tile::row(*e).family == tile::Family::load) return true;
  for (const ExprPtr& a : e->args) {
    if (loads(a)) return true;
  }
  return false;
}

}  // namespace

AxisSet Expander::axes_below(const NodePtr& node) {
  AxisSet out;
  for (expr::IndexId id : free(node)) out |= env_.at(id)->axes;
  return out;
}

Expander::Value Expander::reduction(const NodePtr& node, const Path& path) {
  AxisSet taken = axes_below(node);
  for (const Condition& c : path) taken |= c.e->axes;
  std::vector<std::pair<expr::IndexId, ExprPtr>> before;
  Value out;
  AxisSet over;
  Path inner = path;
  ExprPtr mask;
  for (const expr::Binder& b : node->binders) {
    bool outside = std::exchange(in_reduction_, true);
    Ranged r = enter(b, inner, taken, bound_of(b, node->args[0]));
    in_reduction_ = outside;
    reduced_ |= r.index->axes;
    out.needs |= r.needs;
    taken |= r.index->axes;
    over |= r.index->axes;
    mask = both(mask, r.mask.e);
    inner = with(std::move(inner), r.mask);
    auto outer = env_.find(b.id);
    before.emplace_back(b.id, outer == env_.end() ? nullptr : outer->second);
    env_[b.id] = r.index;
  }
  Value body = value(node->args[0], inner);
  out.needs |= body.needs;
  if (node->op == expr::Op::kArgmax || node->op == expr::Op::kArgmin) {
    out.e = over.empty() ? env_.at(node->binders[0].id) : position(node, over, body.e, mask).e;
  } else {
    tile::Op op = reduction_of(node->op);
    ExprPtr e = body.e;
    if (quern::kind(e->type) == Kind::kInt && node->kind == Kind::kReal) e = to(ScalarType::f32, e);
    if (mask) e = chosen(mask, e, in(tile::identity(op, e->type)));
    out.e = reduced(op, over, e);
    if (node->op == expr::Op::kSum && out.e->op == tile::Op::kSum) {
      auto contraction = expr::contraction(program_, binding_, node);
      if (contraction) out.e = tile::rebuild(factored(out.e, ranges_), [&](const ExprPtr& part) { return in(part); });
      note_rounding(node, out.e, contraction);
    }
  }
  for (auto it = before.rbegin(); it != before.rend(); ++it) {
    if (it->second) {
      env_[it->first] = it->second;
    } else {
      env_.erase(it->first);
    }
  }
  return out;
}

// A count of indices is a number, and so is what nothing is reduced to.
ExprPtr Expander::reduced(tile::Op op, AxisSet over, const ExprPtr& body) {
  int64_t count = 1;
  bool counted = true;
  for (AxisId id : over.list()) {
    const tile::Axis& a = graph_.axes[static_cast<size_t>(id)];
    bool known = a.hi->op == tile::Op::kInteger && (!a.lo || a.lo->op == tile::Op::kInteger);
    if (!known) {
      counted = false;
      continue;
    }
    int64_t size = std::max<int64_t>(0, a.hi->integer - (a.lo ? a.lo->integer : 0));
    if (size == 0) return in(tile::identity(op, body->type));
    count *= size;
  }
  if (over.empty()) return body;
  if (op == tile::Op::kSum && body->op == tile::Op::kInteger && counted) return integer(body->integer * count);
  return in(tile::reduce(op, over, body));
}

// The first index with the extreme value, the first NaN if there is one, -1 of nothing.
Expander::Value Expander::position(const NodePtr& node, AxisSet over, const ExprPtr& body, const ExprPtr& mask) {
  tile::Op op = reduction_of(node->op);
  ExprPtr masked = mask ? chosen(mask, body, in(tile::identity(op, body->type))) : body;
  ExprPtr best = in(tile::reduce(op, over, masked));
  ExprPtr hit = make(tile::Op::kEq, {body, best});
  if (quern::kind(body->type) == Kind::kReal) {
    ExprPtr is_nan = make(tile::Op::kNe, {body, body});
    hit = make(tile::Op::kOr, {hit, is_nan});
    // With a NaN about, only NaNs are hit: no number equals the extreme then.
  }
  hit = both(mask, hit);
  ExprPtr none = integer(std::numeric_limits<int64_t>::max());
  ExprPtr index = in(tile::axis(over.list().front()));
  ExprPtr first = in(tile::reduce(tile::Op::kMin, over, chosen(hit, index, none)));
  return {chosen(make(tile::Op::kEq, {first, none}), integer(-1), first)};
}

// --- ranges ---

Expander::Bound Expander::bound_of(const expr::Binder& b, const NodePtr& body) const {
  Bound out;
  bool fixed = b.hi->op == expr::Op::kInteger && (!b.lo || b.lo->op == expr::Op::kInteger);
  if (!fixed) bound_of(b.id, body, out);
  return out;
}

// The least dimension in which the index stands bare in a read that happens for every instance.
void Expander::bound_of(expr::IndexId index, const NodePtr& node, Bound& bound) const {
  for (const expr::Binder& b : node->binders) {
    if (b.id == index) return;
  }
  if (node->op == expr::Op::kRead) {
    for (size_t i = 0; i < node->args.size(); ++i) {
      int64_t size = binding_.shapes[static_cast<size_t>(node->id)][i];
      bool bare = node->args[i]->op == expr::Op::kIndex && node->args[i]->id == index;
      if (bare && (bound.limit < 0 || size < bound.limit)) bound = {size, node->name, false};
    }
  }
  if (node->op == expr::Op::kLocal) {
    // Bare in a local is bare in what it reads, so that all loops over one range are cut alike.
    const expr::Local& l = program_.locals[static_cast<size_t>(node->id)];
    for (size_t i = 0; i < node->args.size(); ++i) {
      const expr::Node& at = *node->args[i];
      if (at.op == expr::Op::kIndex && at.id == index) bound_of(l.binders[i].id, l.value, bound);
    }
  }
  Family family = row(*node).family;
  if (family == Family::select) return bound_of(index, node->args[1], bound);
  if (family == Family::logic) return bound_of(index, node->args[0], bound);
  for (const NodePtr& arg : node->args) bound_of(index, arg, bound);
}

// Does data let the range leave the dimension in which its index stands? As checks of its ends.
void Expander::check_ends(const expr::Binder& b, const Path& path, const Bound& bound) {
  if (bound.limit < 0) return;
  ExprPtr lo = b.lo ? value(b.lo, path).e : integer(0), hi = value(b.hi, path).e;
  // An end is the same for all indices that it doesn't mention: enough that there is one.
  Path way = projected(path, lo->axes | hi->axes);
  ExprPtr some = condition(with(way, make(tile::Op::kLt, {lo, hi})));
  auto end = [&](const ExprPtr& e, tile::Op op, int64_t limit, const NodePtr& at) {
    if (!loads(e)) return;
    ExprPtr inside = make(op, {e, integer(limit)});
    if (inside->op == tile::Op::kBoolean && inside->integer) return;
    tile::Site::End which{print(at), at == b.hi, bound.limit};
    int32_t s = site(bound.write ? Code::E803 : Code::E801, at->span, bound.tensor.str(), b.name.str(), which);
    // Where fewer conditions led here before, this place has been looked at.
    std::set<const tile::Expr*> on_the_way;
    for (const Condition& c : way) on_the_way.insert(c.e.get());
    std::vector<std::set<const tile::Expr*>>& known = looked_at_[{inside.get(), s}];
    for (const auto& before : known) {
      if (std::ranges::includes(on_the_way, before)) return;
    }
    known.push_back(std::move(on_the_way));
    checks_.push_back(in(tile::check(inside, e, some, s)));
  };
  end(hi, tile::Op::kLe, bound.limit, b.hi);
  if (b.lo) end(lo, tile::Op::kGe, 0, b.lo);
}

Expander::Ranged Expander::enter(const expr::Binder& b, const Path& path, AxisSet taken, const Bound& bound) {
  Value lo = b.lo ? value(b.lo, path) : Value{integer(0)};
  Value hi = value(b.hi, path);
  Ranged out;
  out.needs = lo.needs || hi.needs;
  bool data = loads(lo.e) || loads(hi.e);
  if (bound.limit >= 0 && data) {
    // Cut to the dimension; check_ends says so.
    hi.e = make(tile::Op::kMinOf, {hi.e, integer(bound.limit)});
    lo.e = make(tile::Op::kMaxOf, {lo.e, integer(0)});
    cuts_ = true;
  }
  // The rectangle.
  auto box = [&](const ExprPtr& e, bool upper) {
    if (e->axes.empty()) return e;
    if (!loads(e)) {
      tile::Bounds bounds = ranges_(e);
      if (upper && bounds.high) return integer(*bounds.high);
      if (!upper && bounds.low) return integer(*bounds.low);
    }
    ending_ |= e->axes;
    return in(tile::reduce(upper ? tile::Op::kMax : tile::Op::kMin, e->axes, e));
  };
  taken |= lo.e->axes | hi.e->axes;
  bool masked = !lo.e->axes.empty() || !hi.e->axes.empty();
  ExprPtr first = box(lo.e, false), last = box(hi.e, true);
  bool known = first->op == tile::Op::kInteger && last->op == tile::Op::kInteger;
  if (known && !masked && last->integer - first->integer == 1) {  // one index is no axis
    out.index = first;
    return out;
  }
  out.axis = axis_for(b.name, first, last, taken);
  ExprPtr n = out.index = in(tile::axis(out.axis));
  if (!masked) return out;
  out.mask.e = both(make(tile::Op::kLe, {lo.e, n}), make(tile::Op::kLt, {n, hi.e}));
  out.mask.axis = out.axis;
  out.mask.lo = lo.e;
  out.mask.hi = hi.e;
  return out;
}

AxisId Expander::axis_for(Symbol name, const ExprPtr& lo, const ExprPtr& hi, AxisSet taken) {
  auto zero = [](const ExprPtr& e) { return !e || (e->op == tile::Op::kInteger && e->integer == 0); };
  AxisId other = -1;
  for (size_t i = 0; i < graph_.axes.size(); ++i) {
    const tile::Axis& a = graph_.axes[i];
    auto id = static_cast<AxisId>(i);
    if (a.hi != hi || taken.has(id) || (a.lo != lo && !(zero(a.lo) && zero(lo)))) continue;
    if (index_names_[i] == name) return id;
    if (other < 0 && may_share(id)) other = id;
  }
  if (other >= 0) return other;
  if (graph_.axes.size() == 64) {
    too_many_axes_ = true;
    return 0;
  }
  std::string text = name.str();
  auto used = [&](const std::string& s) {
    for (const tile::Axis& a : graph_.axes) {
      if (a.name.str() == s) return true;
    }
    return false;
  };
  for (int k = 2; used(text); ++k) text = fmt::format("{}_{}", name.str(), k);
  graph_.axes.push_back({Symbol(text), zero(lo) ? nullptr : lo, hi});
  index_names_.push_back(name);
  return static_cast<AxisId>(graph_.axes.size() - 1);
}

// May an index of another name stand on the axis? One that ends ranges has to be walked outside of them, so it must not
// be reduced by the way.
bool Expander::may_share(AxisId id) const { return in_reduction_ ? !ending_.has(id) : !reduced_.has(id); }

}  // namespace quern::fuse
