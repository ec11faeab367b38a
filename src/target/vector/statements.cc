// What stands around nests: loops that carry state, ifs, integers of rank 0.
//
// A carried value lives in near memory. A loop trip that computes the next state in one nest, element for element, may
// write it over the old one (`in_place`); else the next state has memory of its own and is copied at the trip's end,
// after all of it is known.
#include <algorithm>
#include <set>

#include "target/vector/emitter.h"
#include "tile/reductions.h"

namespace quern::target {

using tile::Carry;
using tile::Expr;
using tile::ExprPtr;
using tile::Family;
using tile::Let;
using tile::Nest;

namespace {

bool mentions(const ExprPtr& e, int32_t name, std::set<const Expr*>& seen) {
  if (!e || !seen.insert(e.get()).second) return false;
  if (row(*e).family == Family::name && e->id == name) return true;
  return mentions(e->guard, name, seen) ||
         std::ranges::any_of(e->args, [&](const ExprPtr& a) { return mentions(a, name, seen); });
}

bool mentions(const ExprPtr& e, int32_t name) {
  std::set<const Expr*> seen;
  return mentions(e, name, seen);
}

bool mentions(const tile::Statement& s, int32_t name) {
  auto in = [&](const ExprPtr& e) { return mentions(e, name); };
  auto in_block = [&](const tile::Block& b) {
    return std::ranges::any_of(b, [&](const tile::Statement& x) { return mentions(x, name); });
  };
  if (auto let = std::get_if<Let>(&s.is)) return in(let->value);
  if (auto store = std::get_if<tile::Store>(&s.is)) {
    return in(store->value) || in(store->when) || std::ranges::any_of(store->subscripts, in);
  }
  if (auto loop = std::get_if<tile::Loop>(&s.is)) {
    return in_block(loop->body) ||
           std::ranges::any_of(loop->carries, [&](const Carry& c) { return in(c.init) || in(c.next); }) ||
           std::ranges::any_of(loop->walks, [&](const tile::Walk& w) { return in(w.lo) || in(w.hi); });
  }
  if (auto branch = std::get_if<tile::If>(&s.is)) return in(branch->condition) || in_block(branch->body);
  if (auto nest = std::get_if<Nest>(&s.is)) return in_block(nest->body);
  return false;
}

bool defines(const Nest& nest, int32_t name) {
  return std::ranges::any_of(nest.body, [&](const tile::Statement& s) {
    auto let = std::get_if<Let>(&s.is);
    return let && let->name == name;
  });
}

}  // namespace

void Emitter::block(const tile::Block& block) {
  for (const tile::Statement& s : block) statement(s);
}

void Emitter::statement(const tile::Statement& s) {
  if (auto let = std::get_if<Let>(&s.is)) {
    scalars_[let->name] = value(let->value);
    scalar_values_[let->name] = let->value;
  } else if (auto l = std::get_if<tile::Loop>(&s.is)) {
    loop(*l);
  } else if (auto branch = std::get_if<tile::If>(&s.is)) {
    Value condition = value(branch->condition);
    Writer::Branch b = w_.open_if(condition);
    auto saved = scalars_;
    block(branch->body);
    scalars_ = std::move(saved);
    w_.close_if(b);
  } else if (auto n = std::get_if<Nest>(&s.is)) {
    nest(*n);
  } else if (std::holds_alternative<tile::Store>(s.is)) {
    tile::Nest alone;
    alone.body.push_back(s);
    nest(alone);
  }
}

// May the nest that computes `next` write over the old value? Yes if it reads the old one only at the element that it
// writes, and nothing reads the old one later in the trip.
bool Emitter::in_place(const tile::Loop& loop, const Carry& carry) const {
  if (row(*carry.next).family != Family::name) return false;
  const auto& name = [&](int32_t id) -> const tile::Name& { return kernel_.names[static_cast<size_t>(id)]; };
  if (name(carry.next->id).type != name(carry.name).type || name(carry.next->id).axes != name(carry.name).axes)
    return false;
  for (const Carry& other : loop.carries) {
    if (&other != &carry && (mentions(other.next, carry.name) || mentions(other.next, carry.next->id))) return false;
  }
  bool written = false;
  for (const tile::Statement& s : loop.body) {
    auto nest = std::get_if<Nest>(&s.is);
    bool here = nest && defines(*nest, carry.next->id);
    if (!here) {
      if (written && mentions(s, carry.name)) return false;
      continue;
    }
    tile::AxisSet strips;
    for (const tile::NestAxis& a : nest->axes) {
      if (a.role == tile::AxisRole::kStrip) strips |= tile::AxisSet::of(a.axis);
    }
    tile::AxisSet blocks;
    for (const tile::NestAxis& a : nest->axes) blocks |= tile::AxisSet::of(a.axis);
    // A block over an axis that the value lacks, or a strip that it has, would see it change.
    if (!(strips & name(carry.name).axes).empty() || !(blocks - strips - name(carry.name).axes).empty()) return false;
    written = true;
    bool stored = false;
    // Values of the nest that are made of the old one are computed where they are used, unless they are reductions.
    std::vector<int32_t> old = {carry.name};
    for (const tile::Statement& inner : nest->body) {
      bool reads = std::ranges::any_of(old, [&](int32_t n) { return mentions(inner, n); });
      if (stored && reads) return false;
      auto let = std::get_if<Let>(&inner.is);
      if (let && let->name == carry.next->id) {
        stored = true;
      } else if (let && reads && !tile::is_reduction(*let->value)) {
        old.push_back(let->name);
      }
    }
  }
  return written;
}

// near memory = value, for each element of `axes`: a nest of its own.
void Emitter::store_whole(const Near& to, const ExprPtr& value, tile::AxisSet axes) {
  int32_t name = -1;
  for (const auto& [id, near] : near_) {
    if (&near == &to) name = id;
  }
  tile::Nest whole;
  for (AxisId a : axes.list()) whole.axes.push_back({.axis = a});
  if (!whole.axes.empty()) {
    int64_t lanes = has_.vector_bytes / 4;
    whole.axes.back().size = lanes, whole.axes.back().lanes = true;
  }
  whole.body.push_back({Let{name, value}});
  nest(whole);
}

void Emitter::loop(const tile::Loop& l) {
  for (const Carry& c : l.carries) {
    define(c.name);
    store_whole(near_.at(c.name), c.init, kernel_.names[static_cast<size_t>(c.name)].axes);
  }
  loop_walks(l, 0);
}

void Emitter::loop_walks(const tile::Loop& l, size_t next) {
  if (next < l.walks.size()) {
    const tile::Walk& walk = l.walks[next];
    AxisNow saved = axes_[static_cast<size_t>(walk.axis)];
    auto [low, high] = range_of(walk);
    bool certain = low.known && high.known && *low.known < *high.known;
    if (walk.size == 0) {
      enter(walk, low, low, high);
      loop_walks(l, next + 1);
    } else {
      Writer::Loop trip = w_.open_loop(low, high, i64(walk.size), certain);
      enter(walk, trip.index, low, high);
      loop_walks(l, next + 1);
      w_.close_loop(trip);
    }
    axes_[static_cast<size_t>(walk.axis)] = saved;
    return;
  }
  auto saved = scalars_;
  block(l.body);
  // All take effect at once: first everything that is not in place goes where nobody reads it, then over the old.
  std::vector<const Carry*> moved;
  for (const Carry& c : l.carries) {
    if (in_place(l, c)) continue;
    define(-2 - c.name);
    store_whole(near_.at(-2 - c.name), c.next, kernel_.names[static_cast<size_t>(c.name)].axes);
    moved.push_back(&c);
  }
  for (const Carry* c : moved) {
    tile::AxisSet axes = kernel_.names[static_cast<size_t>(c->name)].axes;
    store_whole(near_.at(c->name), tile::name(-2 - c->name, near_.at(c->name).type, axes), axes);
  }
  scalars_ = std::move(saved);
}

}  // namespace quern::target
