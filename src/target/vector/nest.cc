// A nest: loops over blocks of its block axes, and in a block: what has no strip axis, the loops over strips around
// accumulators (phis), what depends on the reductions. Values are asked for position by position when something is
// stored or accumulated, so a chain of elementwise operations is finished in one position before the next begins, and
// what several positions share is found again in `known_`.
//
// A reduction over few positions is split into up to eight chains, because an addition takes four cycles and two can
// begin in each; chains and lanes are joined after the loop, always in the same order.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "target/vector/emitter.h"

namespace quern::target {

using tile::AxisSet;
using tile::ExprPtr;
using tile::Family;
using tile::Let;
using tile::NestAxis;
using tile::Op;
using tile::Store;

namespace {

bool is_strip(const NestAxis& a) { return a.role == tile::AxisRole::kStrip; }

struct Found {
  std::vector<const tile::Expr*> reductions;
  AxisSet axes;  // of all that is read
  std::set<int32_t> names;
  bool reads_written = false;
  bool f64 = false;
};

void look(const ExprPtr& e, const std::vector<bool>& written, std::set<const tile::Expr*>& seen, Found& out) {
  if (!e || !seen.insert(e.get()).second) return;
  Family f = row(*e).family;
  if (f == Family::name) out.names.insert(e->id);
  if (f == Family::load && written[static_cast<size_t>(e->id)]) out.reads_written = true;
  out.f64 |= e->type == ScalarType::f64;
  for (const ExprPtr& a : e->args) look(a, written, seen, out);
  look(e->guard, written, seen, out);
  if (f == Family::reduce || f == Family::dot) out.reductions.push_back(e.get());  // inner ones first
}

Found look(const tile::Statement& s, const std::vector<bool>& written) {
  Found out;
  std::set<const tile::Expr*> seen;
  auto in = [&](const ExprPtr& e) {
    look(e, written, seen, out);
    if (e) out.axes |= e->axes;
  };
  if (auto let = std::get_if<Let>(&s.is)) in(let->value);
  if (auto store = std::get_if<Store>(&s.is)) {
    in(store->value), in(store->when);
    for (const ExprPtr& e : store->subscripts) in(e);
  }
  return out;
}

}  // namespace

int Emitter::lanes_of(const tile::Nest& nest) const {
  bool f64 = false;
  int64_t size = 0;
  for (const NestAxis& a : nest.axes) {
    if (a.lanes) size = a.size;
  }
  for (const tile::Statement& s : nest.body) f64 |= look(s, written_).f64;
  int64_t lanes = has_.vector_bytes / (f64 && !has_.threads() ? 8 : 4);
  while (lanes > 1 && size % lanes != 0) lanes /= 2;
  return size == 0 ? 1 : static_cast<int>(lanes);
}

std::vector<int> Emitter::key(AxisSet axes) const {
  std::vector<int> out;
  for (const NestAxis& a : nest_axes_) {
    if (axes.has(a.axis)) out.push_back(at_[static_cast<size_t>(a.axis)]);
  }
  return out;
}

void Emitter::nest(const tile::Nest& nest) {
  nest_ = &nest;
  nest_axes_ = nest.axes;
  lanes_ = lanes_of(nest);
  lane_axis_ = -1;
  lets_.clear();
  for (const tile::Statement& s : nest.body) {
    if (auto let = std::get_if<Let>(&s.is)) lets_[let->name] = let->value;
    if (!std::holds_alternative<Let>(s.is) && !std::holds_alternative<Store>(s.is)) {
      throw NotLaid{"a nest holds more than values and stores"};
    }
  }
  // An axis on which another one's range depends is walked one index at a time.
  AxisSet single;
  for (const NestAxis& a : nest_axes_) {
    const tile::Axis& axis = kernel_.axes[static_cast<size_t>(a.axis)];
    if (axes_[static_cast<size_t>(a.axis)].low.name.empty()) {
      if (axis.lo) single |= axis.lo->axes;
      single |= axis.hi->axes;
    }
  }
  for (NestAxis& a : nest_axes_) {
    if (single.has(a.axis)) a.size = 1, a.lanes = false;
    if (a.lanes && lanes_ > 1) lane_axis_ = a.axis;
  }
  if (lane_axis_ < 0) lanes_ = 0;
  width_ = has_.threads() && lanes_ > 0 ? kThreads : lanes_;
  std::stable_sort(nest_axes_.begin(), nest_axes_.end(), [](auto& a, auto& b) { return is_strip(a) < is_strip(b); });
  std::vector<AxisNow> saved = axes_;
  for (const NestAxis& a : nest_axes_) {
    AxisNow& now = axes_[static_cast<size_t>(a.axis)];
    if (now.index) throw NotLaid{"a nest walks an axis that is walked already"};
    now.strip = is_strip(a);
    now.lanes = a.axis == lane_axis_;
  }
  known_.assign(1, {});
  if (has_.threads()) {
    shared_nest();
  } else {
    nest_blocks(0);
  }
  axes_ = std::move(saved);
  nest_ = nullptr;
  nest_axes_.clear();
  lane_axis_ = -1;
  lanes_ = width_ = 0;
  lets_.clear();
  known_.clear();
}

// The axis now has the positions of one block.
void Emitter::stand(AxisNow& now, const Cut& c, const std::optional<Writer::Loop>& l) {
  now.in_nest = true;
  now.rel = c.once ? c.begin : l->index;
  now.base = w_.add(now.low, now.rel);
  now.count = c.count, now.align = c.align;
  now.mask.reset();
  if (c.masked) {
    Value left = w_.sub(w_.sub(now.high, now.base), i64(static_cast<int64_t>(c.count - 1) * lanes_));
    now.mask = w_.compare("slt", w_.iota(Base::i32, width_), w_.splat(w_.convert("trunc", left, Base::i32), width_));
  }
}

void Emitter::nest_blocks(size_t next) {
  if (next == nest_axes_.size() || is_strip(nest_axes_[next])) {
    nest_body();
    return;
  }
  const NestAxis& a = nest_axes_[next];
  AxisNow& now = axes_[static_cast<size_t>(a.axis)];
  AxisNow saved = now;
  if (now.low.name.empty()) std::tie(now.low, now.high) = range_of({.axis = a.axis});
  for (const Cut& c : cut(a.axis, a.size, equal_parts_allowed(a.axis))) {
    int64_t step = c.count * (now.lanes ? lanes_ : 1);
    if (a.axis == dealt_axis_) {
      deal(now, c, step, next);
      continue;
    }
    std::optional<Writer::Loop> l;
    if (!c.once) l = w_.open_loop(c.begin, c.end, i64(step), c.certain);
    stand(now, c, l);
    known_.emplace_back();
    nest_blocks(next + 1);
    known_.pop_back();
    if (l) w_.close_loop(*l);
  }
  now = saved;
}

void Emitter::strips(size_t next) {
  if (next == nest_axes_.size()) {
    strip_body();
    return;
  }
  const NestAxis& a = nest_axes_[next];
  AxisNow& now = axes_[static_cast<size_t>(a.axis)];
  AxisNow saved = now;
  if (now.low.name.empty()) std::tie(now.low, now.high) = range_of({.axis = a.axis});
  for (const Cut& c : cut(a.axis, a.size, false)) {
    int64_t step = c.count * (now.lanes ? lanes_ : 1);
    std::optional<Writer::Loop> l;
    if (!c.once) {
      l = w_.open_loop(c.begin, c.end, i64(step), c.certain);
      for (Accumulator& acc : accumulators_) {
        for (Value& v : acc.values) v = w_.carry(*l, v);
      }
    }
    stand(now, c, l);
    known_.emplace_back();
    strips(next + 1);
    known_.pop_back();
    if (l) {
      size_t i = 0;
      for (Accumulator& acc : accumulators_) {
        for (Value& v : acc.values) l->phis[i++].next = v;
      }
      std::vector<Value> after = w_.close_loop(*l);
      i = 0;
      for (Accumulator& acc : accumulators_) {
        for (Value& v : acc.values) v = after[i++];
      }
    }
  }
  now = saved;
}

// Visits all positions of the block axes (or strip axes) among `axes`, the first axis slowest, but the lanes fastest:
// of a product's operands that keeps the few vectors in registers, and needs one broadcast at a time.
void Emitter::each_position(AxisSet axes, bool strip_axes, const std::function<void()>& visit) {
  std::vector<AxisId> walked;
  for (const NestAxis& a : nest_axes_) {
    if (axes.has(a.axis) && is_strip(a) == strip_axes) walked.push_back(a.axis);
  }
  std::stable_partition(walked.begin(), walked.end(), [&](AxisId a) { return a != lane_axis_; });
  auto walk = [&](auto& self, size_t i) -> void {
    if (i == walked.size()) {
      visit();
      return;
    }
    int& at = at_[static_cast<size_t>(walked[i])];
    for (at = 0; at < axes_[static_cast<size_t>(walked[i])].count; ++at) self(self, i + 1);
    at = 0;
  };
  walk(walk, 0);
}

void Emitter::nest_body() {
  AxisSet strip_axes;
  size_t first_strip = nest_axes_.size();
  for (size_t i = nest_axes_.size(); i-- > 0;) {
    if (!is_strip(nest_axes_[i])) continue;
    strip_axes |= AxisSet::of(nest_axes_[i].axis);
    first_strip = i;
  }
  accumulators_.clear();
  reduced_.clear();
  enum class When { kBefore, kStrip, kAfter };
  std::vector<std::pair<const tile::Statement*, When>> statements;
  std::set<int32_t> late, inside;
  std::set<const Expr*> seen;
  for (const tile::Statement& s : nest_->body) {
    Found f = look(s, written_);
    When when = When::kBefore;
    auto reads = [&](const std::set<int32_t>& names) {
      return std::any_of(f.names.begin(), f.names.end(), [&](int32_t n) { return names.contains(n); });
    };
    for (const Expr* r : f.reductions) {
      if ((r->over & strip_axes).empty()) throw NotLaid{"a reduction in a nest is not over its strips"};
      when = When::kAfter;
      if (!seen.insert(r).second) continue;
      Accumulator acc{.reduction = r};
      each_position(r->axes, false, [&] { acc.positions.push_back(at_); });
      accumulators_.push_back(std::move(acc));
    }
    if (reads(late)) when = When::kAfter;
    if (!(f.axes & strip_axes).empty()) {
      if (when == When::kAfter) throw NotLaid{"a strip's value needs a reduction over it"};
      when = When::kStrip;
    }
    auto let = std::get_if<Let>(&s.is);
    if (let && when == When::kAfter) late.insert(let->name);
    statements.emplace_back(&s, when);
  }
  for (auto [s, when] : statements) {
    if (when == When::kBefore) run(*s);
  }
  if (first_strip < nest_axes_.size()) {
    int64_t strip_positions = 1;
    bool lanes_in_strip = strip_axes.has(lane_axis_);
    for (size_t i = first_strip; i < nest_axes_.size(); ++i) {
      int64_t unit = nest_axes_[i].axis == lane_axis_ ? lanes_ : 1;
      strip_positions *= nest_axes_[i].size / unit;
    }
    int64_t chains = 0;
    for (const Accumulator& a : accumulators_) chains += static_cast<int64_t>(a.positions.size());
    for (Accumulator& a : accumulators_) {
      const Expr& r = *a.reduction;
      while (a.parts * 2 <= strip_positions && a.parts * 2 * chains <= 8) a.parts *= 2;
      bool vector = in_lanes(r) || lanes_in_strip;
      Type type{is_real({register_base(r.type)}) || r.type == ScalarType::boolean ? register_base(r.type)
                                                                                  : integer_base(r, vector),
                vector ? width_ : 0};
      a.values.assign(a.positions.size() * static_cast<size_t>(a.parts), identity(r, type));
      if (r.args.size() < 3) continue;
      for (size_t p = 0; p < a.positions.size(); ++p) {
        at_ = a.positions[p];
        Value from = value(r.args[2]);
        if (!is_real(type)) from = as_integer(w_, from, type.base);
        if (!lanes_in_strip) {
          a.values[p * static_cast<size_t>(a.parts)] = w_.splat(from, type.lanes);
        } else {
          a.values[p * static_cast<size_t>(a.parts)] = w_.insert(identity(r, type), from, 0);
        }
      }
    }
    std::fill(at_.begin(), at_.end(), 0);
    strip_statements_.clear();
    for (auto [s, when] : statements) {
      if (when == When::kStrip) strip_statements_.push_back(s);
    }
    bool weighs =
        std::ranges::any_of(accumulators_, [](const Accumulator& a) { return a.reduction->op == Op::kWeigh; });
    weighs ? weighed_strips(first_strip) : strips(first_strip);
    for (Accumulator& a : accumulators_) finish(a);
  }
  std::fill(at_.begin(), at_.end(), 0);
  for (auto [s, when] : statements) {
    if (when == When::kAfter) run(*s);
  }
  std::fill(at_.begin(), at_.end(), 0);
}

void Emitter::run(const tile::Statement& s) {
  if (auto stores = std::get_if<Store>(&s.is)) {
    AxisSet axes = look(s, written_).axes;
    each_position(axes, false, [&] { store(*stores); });
    return;
  }
  const Let& let = std::get<Let>(s.is);
  auto near = near_.find(let.name);
  if (near == near_.end()) {
    // What is read is read here, not where it is first needed: somebody may have stored there by then.
    if (look(s, written_).reads_written) each_position(let.value->axes, false, [&] { value(let.value); });
    return;
  }
  AxisSet axes;
  for (const tile::Digit& d : near->second.digits) axes |= AxisSet::of(d.axis);
  if (!near->second.defined) define(let.name);
  each_position(axes, false, [&] {
    Linear at = near_address(near->second);
    Value v = value(let.value);
    if (!is_real(v.type) && v.type.base != Base::i1 && let.value->type == ScalarType::i64)
      v = as_integer(w_, v, Base::i64);
    if (!at.is_scalar()) v = spread(v);
    store_at(near->second.type, near->second.pointer, at, v, at.is_scalar() ? std::nullopt : lane_mask());
  });
}

}  // namespace quern::target
