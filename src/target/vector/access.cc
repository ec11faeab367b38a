// Addresses, and what stands there. A subscript is linear in the lane number wherever it can be: stride 1 is a vector,
// stride 0 a scalar, anything else a gather. What does not change inside a loop is added to the pointer before it, and
// constants last, so that they end up in the displacement of the instruction.
//
// A guard never becomes a branch around a read: where it does not hold the address is that of a zero.
#include <fmt/format.h>

#include <algorithm>

#include "target/vector/emitter.h"

namespace quern::target {

using tile::Expr;
using tile::ExprPtr;
using tile::Family;
using tile::Op;

namespace {

Linear scaled(Writer& w, Linear l, const Value& by) {
  for (auto& [term, factor] : l.terms) factor = w.mul(factor, by);
  if (by.known) {
    l.constant *= *by.known;
  } else if (l.constant != 0) {
    l.terms.emplace_back(by, i64(l.constant));
    l.constant = 0;
  }
  l.lane = w.mul(l.lane, by);
  if (l.vector) l.vector = w.mul(*l.vector, w.splat(by, l.vector->type.lanes));
  return l;
}

Linear sum(Writer& w, Linear a, const Linear& b) {
  a.terms.insert(a.terms.end(), b.terms.begin(), b.terms.end());
  a.constant += b.constant;
  a.lane = w.add(a.lane, b.lane);
  if (b.vector) a.vector = a.vector ? w.add(*a.vector, *b.vector) : *b.vector;
  return a;
}

// Where a guarded read reads when its guard does not hold.
Value zeros(Writer& w) {
  w.module().globals["zero"] = "@zero = internal constant [64 x i8] zeroinitializer, align 64";
  return {"@zero", {Base::ptr}};
}

Value zero_of(Type type) { return is_real(type) ? real_constant(type, 0) : constant(type, 0); }

}  // namespace

Linear Emitter::linear(const ExprPtr& e) {
  switch (row(*e).family) {
    case Family::literal: return {.constant = e->integer};
    case Family::fill: return linear(e->args[0]);
    case Family::name:
      if (auto let = lets_.find(e->id); let != lets_.end()) return linear(let->second);
      break;
    case Family::axis: {
      if (e->op != Op::kAxis) break;
      const AxisNow& now = axes_[static_cast<size_t>(e->id)];
      if (now.index || !now.in_nest) return {.terms = {{axis_index(e->id), i64(1)}}};
      Linear out{.terms = {{now.low, i64(1)}, {now.rel, i64(1)}}};
      out.constant = at_[static_cast<size_t>(e->id)] * (now.lanes ? lanes_ : 1);
      if (now.lanes) out.lane = i64(1);
      return out;
    }
    case Family::negate: return scaled(w_, linear(e->args[0]), i64(-1));
    case Family::arithmetic: {
      if (e->op == Op::kAdd) return sum(w_, linear(e->args[0]), linear(e->args[1]));
      if (e->op == Op::kSub) return sum(w_, linear(e->args[0]), scaled(w_, linear(e->args[1]), i64(-1)));
      if (e->op != Op::kMul) break;
      Linear a = linear(e->args[0]), b = linear(e->args[1]);
      if (!b.is_scalar()) std::swap(a, b);
      if (!b.is_scalar()) break;
      return scaled(w_, std::move(a), scalar_of(b));
    }
    default: break;
  }
  Value v = as_integer(w_, value(e), Base::i64);
  if (v.known) return {.constant = *v.known};
  if (v.type.lanes > 0) return {.vector = v};
  return {.terms = {{v, i64(1)}}};
}

Value Emitter::scalar_of(const Linear& l) {
  std::vector<Value> parts;
  for (const auto& [term, factor] : l.terms) parts.push_back(w_.mul(term, factor));
  std::stable_sort(parts.begin(), parts.end(), [](const Value& a, const Value& b) { return a.depth < b.depth; });
  Value out = i64(0);
  for (const Value& p : parts) out = w_.add(p, out);
  return w_.add(out, i64(l.constant));
}

Value Emitter::value_of(const Linear& l) {
  Value out = scalar_of(l);
  if (l.is_scalar()) return out;
  out = w_.splat(out, width_);
  if (!l.lane.is(0)) out = w_.add(out, w_.mul(w_.splat(l.lane, width_), w_.iota(Base::i64, width_)));
  return l.vector ? w_.add(out, *l.vector) : out;
}

// The address of lane 0's element, by its linear part; `bytes` an element.
Value Emitter::pointer_to(const Value& base, const Linear& l, int bytes) {
  std::vector<Value> parts;
  int64_t constant_part = l.constant;
  for (const auto& [term, factor] : l.terms) {
    Value p = w_.mul(term, w_.mul(factor, i64(bytes)));
    if (p.known) {
      constant_part += *p.known / bytes;
    } else {
      parts.push_back(p);
    }
  }
  std::stable_sort(parts.begin(), parts.end(), [](const Value& a, const Value& b) { return a.depth < b.depth; });
  Value out = base;
  for (size_t i = 0; i < parts.size();) {
    Value step = parts[i];
    size_t next = i + 1;
    while (next < parts.size() && parts[next].depth == parts[i].depth) step = w_.add(step, parts[next++]);
    out = w_.offset(out, step);
    i = next;
  }
  return w_.offset(out, i64(constant_part * bytes));
}

std::optional<Value> Emitter::lane_mask() const {
  if (lane_axis_ < 0) return std::nullopt;
  const AxisNow& now = axes_[static_cast<size_t>(lane_axis_)];
  if (!now.in_nest || !now.mask || at_[static_cast<size_t>(lane_axis_)] != now.count - 1) return std::nullopt;
  return now.mask;
}

std::optional<Value> Emitter::both_hold(std::optional<Value> a, std::optional<Value> b) {
  if (!a) return b;
  if (!b) return a;
  both(*a, *b);
  return w_.binary("and", *a, *b);
}

Linear Emitter::element(int32_t id, const std::vector<ExprPtr>& subscripts) {
  const std::vector<Value>& by = strides(id);
  Linear out;
  for (size_t d = 0; d < subscripts.size(); ++d)
    out = sum(w_, std::move(out), scaled(w_, linear(subscripts[d]), by[d]));
  return out;
}

// Where an access happens: where its guard holds and the checked subscripts are inside. Others are reported. The mask
// of lanes that are not there is not part of it.
std::optional<Value> Emitter::allowed(const ExprPtr& guard, const std::vector<ExprPtr>& subscripts, uint32_t checked,
                                      int32_t id, int32_t site) {
  std::optional<Value> allowed;
  if (guard) {
    allowed = value(guard);
    if (allowed->is(1)) allowed.reset();
  }
  for (size_t d = 0; d < subscripts.size(); ++d) {
    if ((checked >> d & 1) == 0) continue;
    Value v = value_of(linear(subscripts[d]));
    Value extent = scalar(program_.parameters[static_cast<size_t>(id)].shape[d]);
    Value inside = w_.compare("ult", v, w_.splat(extent, v.type.lanes));
    Value fails = w_.binary("xor", inside, constant(inside.type, 1));
    fails = *both_hold(fails, allowed);
    report(fails, v, extent, site, static_cast<int>(d));
    allowed = both_hold(allowed, inside);
  }
  return allowed;
}

void Emitter::report(const Value& fails_, const Value& value_, const Value& extent, int32_t site, int subscript) {
  Value fails = fails_, v = value_;
  both(fails, v);
  if (fails.known && *fails.known == 0) return;
  if (auto mask = lane_mask(); mask && fails.type.lanes > 0) fails = w_.binary("and", fails, *mask);
  int lanes = is_vector(fails.type) ? fails.type.lanes : 0;
  bool varies = fails.type.lanes == kThreads;
  Writer::Branch cold = w_.open_if(w_.any(fails), true);
  Value axes = w_.stack(64 * 8);
  uint64_t known = 0;
  for (size_t a = 0; a < axes_.size(); ++a) {
    if (!axes_[a].index && !axes_[a].in_nest) continue;
    known |= uint64_t{1} << a;
    Value index = axis_index(static_cast<AxisId>(a));
    if (varies && static_cast<AxisId>(a) == lane_axis_)
      index = w_.add(index, w_.extract(w_.iota(Base::i64, kThreads), 0));
    w_.store(index, w_.offset(axes, i64(static_cast<int64_t>(a) * 8)), 8);
  }
  Value found{"@found", {Base::ptr}};
  if (!has_.threads()) found = w_.effect({Base::ptr}, "load ptr, ptr %report, align 8");
  std::string tail = fmt::format("i64 {}, ptr {}, i64 {})", extent.name, axes.name, static_cast<int64_t>(known));
  std::string head =
      fmt::format("call void {}(ptr %report, {}, i32 {}, i32 {}, ", found.name, point_.typed(), site, subscript);
  if (lanes == 0) w_.effect(head + v.typed() + ", " + tail);
  for (int l = 0; l < lanes; ++l) {
    Writer::Branch here = w_.open_if(w_.extract(fails, l), true);
    if (fails.type.lanes > 0 && lane_axis_ >= 0) {
      Value index = w_.add(axis_index(lane_axis_), i64(l));
      w_.store(index, w_.offset(axes, i64(lane_axis_ * 8)), 8);
    }
    w_.effect(head + w_.extract(v, l).typed() + ", " + tail);
    w_.close_if(here);
  }
  w_.close_if(cold);
}

Value Emitter::load(const Expr& e) {
  if (auto turned = load_across(e)) return *turned;
  std::optional<Value> where = allowed(e.guard, e.args, e.checked, e.id, e.site);
  Linear at = element(e.id, e.args);
  bool movable = !written_[static_cast<size_t>(e.id)];
  if (!at.is_scalar() || (where && where->type.lanes > 0)) where = both_hold(where, lane_mask());
  if (row(e.type).bits < 8) return load_nibbles(parameter(e.id), at, where, movable);
  return load_at(e.type, parameter(e.id), at, where, movable);
}

Value Emitter::load_at(ScalarType type, const Value& base, const Linear& at, std::optional<Value> mask, bool movable) {
  Base memory = memory_base(type);
  int bytes = bits(memory) / 8;
  auto zero = [&] { return zeros(w_); };
  auto in_register = [&](const Value& v) {
    return type == ScalarType::boolean ? w_.compare("ne", v, constant(v.type, 0)) : v;
  };
  if (at.is_scalar()) {
    Value p = pointer_to(base, at, bytes);
    if (!mask) return in_register(w_.load({memory}, p, bytes, movable));
    Value any = w_.any(*mask);
    Value v = in_register(w_.load({memory}, w_.select(any, p, zero()), bytes, movable));
    if (mask->type.lanes == 0) return v;
    return w_.select(*mask, w_.splat(v, width_), zero_of({v.type.base, width_}));
  }
  Type vector{memory, width_};
  if (mask) mask = w_.splat(*mask, width_);
  if (at.lane.is(1) && !at.vector) {
    Value p = pointer_to(base, at, bytes);
    return in_register(mask ? w_.load_masked(vector, p, bytes, *mask, movable) : w_.load(vector, p, bytes, movable));
  }
  Value p = pointer_to(base, {.terms = at.terms, .constant = at.constant}, bytes);
  Linear lanes{.lane = at.lane, .vector = at.vector};
  Value pointers = w_.offset(p, w_.mul(value_of(lanes), constant({Base::i64, width_}, bytes)));
  if (mask) pointers = w_.select(*mask, pointers, w_.splat(zero(), width_));
  return in_register(w_.gather(vector, pointers, bytes, movable));
}

void Emitter::store(const tile::Store& s) {
  std::optional<Value> where = allowed(s.when, s.subscripts, s.checked, s.parameter, s.site);
  Linear at = element(s.parameter, s.subscripts);
  const tile::Parameter& p = program_.parameters[static_cast<size_t>(s.parameter)];
  Value v = value(s.value);
  if (p.type == ScalarType::i64) v = as_integer(w_, v, Base::i64);
  bool vector = !at.is_scalar() || v.type.lanes > 0 || (where && where->type.lanes > 0);
  if (vector) {
    where = both_hold(where, lane_mask());
    v = w_.splat(v, width_);
  }
  Value base = parameter(s.parameter);
  if (s.add) {
    add_at(s, base, at, v, where);
  } else if (row(p.type).bits < 8) {
    store_nibbles(base, at, v, where);
  } else {
    store_at(p.type, base, at, v, where);
  }
}

// All lanes, which LLVM does not know.
Value Emitter::unknown_truth() {
  Value one = w_.pure({Base::i8}, "call i8 asm \"\", \"=r,0\"(i8 1)", {});
  return w_.splat(w_.convert("trunc", one, Base::i1), lanes_);
}

void Emitter::store_at(ScalarType type, const Value& base, const Linear& at, Value v, std::optional<Value> mask) {
  Base memory = memory_base(type);
  int bytes = bits(memory) / 8;
  if (type == ScalarType::boolean) v = w_.convert("zext", v, Base::i8);
  if (v.type.lanes == 0) {
    Value p = pointer_to(base, at, bytes);
    if (has_.threads()) {
      all_lanes_here();
      mask = both_hold(mask, first_thread());
    }
    if (!mask) {
      w_.store(v, p, bytes);
      return;
    }
    Writer::Branch b = w_.open_if(*mask);
    w_.store(v, p, bytes);
    w_.close_if(b);
    return;
  }
  if (at.lane.is(1) && !at.vector) {
    Value p = pointer_to(base, at, bytes);
    if (mask) {
      Value lanes = w_.splat(*mask, width_);
      // LLVM 22 joins a truncation with a masked store on AVX-512, and where it finds the mask to have one lane, stores
      // that lane untruncated: beyond its end. So it must not know the mask.
      if (bytes < 4 && has_.avx512) lanes = w_.binary("and", lanes, unknown_truth());
      w_.store_masked(v, p, bytes, lanes);
    } else {
      w_.store(v, p, bytes);
    }
    return;
  }
  each_lane(at, base, bytes, mask, [&](const Value& p, int lane) { w_.store(w_.extract(v, lane), p, bytes); });
}

// Lane after lane, the first one first: where two meet, the last one stays, as in a sequential run.
void Emitter::each_lane(const Linear& at, const Value& base, int bytes, std::optional<Value> mask,
                        const std::function<void(const Value&, int)>& visit) {
  Value offsets = w_.splat(w_.mul(value_of(at), constant({Base::i64, at.is_scalar() ? 0 : width_}, bytes)), width_);
  for (int lane = 0; lane < (has_.threads() ? 1 : lanes_); ++lane) {
    std::optional<Writer::Branch> b;
    if (mask) b = w_.open_if(mask->type.lanes > 0 ? w_.extract(*mask, lane) : *mask);
    visit(w_.offset(base, w_.extract(offsets, lane)), lane);
    if (b) w_.close_if(*b);
  }
}

}  // namespace quern::target
