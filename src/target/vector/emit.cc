// A kernel's functions: its grid around its body, and those that tell its sizes.
#include <fmt/format.h>

#include "target/vector/emitter.h"

namespace quern::target {

using tile::Walk;

namespace {

void mark_written(const tile::Block& block, std::vector<bool>& written) {
  for (const tile::Statement& s : block) {
    if (auto store = std::get_if<tile::Store>(&s.is)) written[static_cast<size_t>(store->parameter)] = true;
    if (auto loop = std::get_if<tile::Loop>(&s.is)) mark_written(loop->body, written);
    if (auto branch = std::get_if<tile::If>(&s.is)) mark_written(branch->body, written);
    if (auto nest = std::get_if<tile::Nest>(&s.is)) mark_written(nest->body, written);
  }
}

}  // namespace

Emitter::Emitter(const tile::Program& program, const tile::Kernel& kernel, const Features& has, Writer& writer)
    : program_(program),
      kernel_(kernel),
      has_(has),
      w_(writer),
      ranges_(program, kernel.axes),
      axes_(kernel.axes.size()),
      written_(program.parameters.size()),
      at_(kernel.axes.size()) {
  mark_written(kernel.body, written_);
  if (has.bf16_dot) find_multiplied();
}

Value Emitter::dim(int32_t id) {
  const tile::Dim& d = program_.dims[static_cast<size_t>(id)];
  if (d.value) return i64(*d.value);
  if (in_kernel_ && has_.threads()) return {fmt::format("%dim{}", id), {Base::i64}};
  Value p = w_.pure({Base::ptr}, fmt::format("getelementptr i64, ptr %dims, i64 {}", id), {});
  return w_.pure({Base::i64}, fmt::format("load i64, ptr {}, align 8", p.name), {p});
}

Value Emitter::parameter(int32_t id) {
  if (in_kernel_ && has_.threads()) return {fmt::format("%param{}", id), {Base::ptr}};
  Value p = w_.pure({Base::ptr}, fmt::format("getelementptr ptr, ptr %params, i64 {}", id), {});
  return w_.pure({Base::ptr}, fmt::format("load ptr, ptr {}, align 8", p.name), {p});
}

const std::vector<Value>& Emitter::strides(int32_t id) {
  auto [at, is_new] = strides_.try_emplace(id);
  if (is_new) {
    const auto& shape = program_.parameters[static_cast<size_t>(id)].shape;
    at->second.assign(shape.size(), i64(1));
    for (size_t d = shape.size(); d-- > 1;) at->second[d - 1] = w_.mul(at->second[d], scalar(shape[d]));
  }
  return at->second;
}

// Axes whose ranges are known at entry begin with those; others are set when they are walked.
void Emitter::start() {
  for (size_t a = 0; a < axes_.size(); ++a) {
    const tile::Axis& axis = kernel_.axes[a];
    auto known = [&](const ExprPtr& e) { return !e || ranges_.constant(e); };
    AxisNow& now = axes_[a];
    if (known(axis.lo) && known(axis.hi)) {
      now.low = i64(axis.lo ? *ranges_.constant(axis.lo) : 0);
      now.high = i64(*ranges_.constant(axis.hi));
      now.extents = {std::max<int64_t>(0, *now.high.known - *now.low.known)};
    } else {
      now.low.name.clear();  // evaluated where it is used: it may depend on axes that are walked
    }
  }
}

std::pair<Value, Value> Emitter::range_of(const Walk& walk) {
  AxisNow& now = axes_[static_cast<size_t>(walk.axis)];
  const tile::Axis& axis = kernel_.axes[static_cast<size_t>(walk.axis)];
  Value low = walk.lo ? scalar(walk.lo) : !now.low.name.empty() ? now.low : axis.lo ? scalar(axis.lo) : i64(0);
  Value high = walk.hi ? scalar(walk.hi) : !now.low.name.empty() ? now.high : scalar(axis.hi);
  return {low, high};
}

// The axis now has the indices of one step of its walk, which begins at `at`.
void Emitter::enter(const Walk& walk, const Value& at, const Value& low, const Value& high) {
  AxisNow& now = axes_[static_cast<size_t>(walk.axis)];
  std::vector<int64_t> wholes;
  if (low.known && high.known) {
    wholes = {std::max<int64_t>(0, *high.known - *low.known)};
  } else if (!walk.lo && !walk.hi) {
    wholes = now.extents;
  }
  now.index.reset();
  if (walk.size > 0 && !at.known) steps_[at.name] = {low.name, walk.size};
  if (walk.lo && !low.known) {
    if (int64_t multiple = multiple_of(walk.lo, walk.hi); multiple > 1) steps_[low.name] = {"0", multiple};
  }
  if (walk.size == 1) {
    now.low = at, now.high = w_.add(at, i64(1)), now.index = at, now.extents = {1};
    return;
  }
  now.low = at, now.high = high, now.extents = wholes;
  if (walk.size == 0) return;
  now.high = w_.smin(w_.add(at, i64(walk.size)), high);
  if (wholes.empty()) return;
  std::vector<int64_t> steps;
  for (int64_t whole : wholes) {
    if (whole >= walk.size) steps.push_back(walk.size);
    if (whole % walk.size) steps.push_back(whole % walk.size);
  }
  now.extents = steps;
  if (steps.size() == 1) now.high = w_.add(at, i64(steps[0]));
}

std::vector<Emitter::GridAxis> Emitter::flat_grid(std::vector<const Walk*>& rest) {
  tile::AxisSet dependent;
  std::vector<GridAxis> out;
  for (const Walk& walk : kernel_.grid) {
    const tile::Axis& axis = kernel_.axes[static_cast<size_t>(walk.axis)];
    tile::AxisSet used;
    bool loads = false;
    auto look = [&](auto& self, const ExprPtr& e) -> void {
      if (!e) return;
      if (row(*e).family == tile::Family::axis) used |= tile::AxisSet::of(e->id);
      loads |= row(*e).family == tile::Family::load;
      for (const ExprPtr& a : e->args) self(self, a);
    };
    for (const ExprPtr& e : {walk.lo ? walk.lo : axis.lo, walk.hi ? walk.hi : axis.hi}) look(look, e);
    // What launches a grid of threads has no data at hand.
    if (!used.empty() || (loads && has_.threads())) {
      rest.push_back(&walk);
      continue;
    }
    auto [low, high] = range_of(walk);
    Value extent = w_.smax(w_.sub(high, low), i64(0));
    Value trips = walk.size == 0 ? i64(1) : w_.binary("sdiv", w_.add(extent, i64(walk.size - 1)), i64(walk.size));
    out.push_back({&walk, low, high, trips});
  }
  return out;
}

void Emitter::walk_rest(const std::vector<const Walk*>& rest, size_t next) {
  if (next == rest.size()) {
    block(kernel_.body);
    return;
  }
  const Walk& walk = *rest[next];
  AxisNow saved = axes_[static_cast<size_t>(walk.axis)];
  auto [low, high] = range_of(walk);
  if (walk.size == 0) {
    enter(walk, low, low, high);
    walk_rest(rest, next + 1);
  } else {
    Writer::Loop l = w_.open_loop(low, high, i64(walk.size), false);
    enter(walk, l.index, low, high);
    walk_rest(rest, next + 1);
    w_.close_loop(l);
  }
  axes_[static_cast<size_t>(walk.axis)] = saved;
}

void Emitter::emit_points() {
  start();
  std::vector<const Walk*> rest;
  Value points = i64(1);
  for (const GridAxis& g : flat_grid(rest)) points = w_.mul(points, g.trips);
  w_.finish("ret i64 " + points.name);
}

std::optional<int64_t> Emitter::emit_arena() {
  start();
  Value bytes = plan_near();
  w_.finish("ret i64 " + bytes.name);
  return bytes.known;
}

void Emitter::emit_kernel() {
  in_kernel_ = true;
  start();
  arena_ = "%arena";
  plan_near();
  std::vector<const Walk*> rest;
  std::vector<GridAxis> grid = flat_grid(rest);
  Value step = has_.threads() ? Value{"%blocks", {Base::i64}} : i64(1);
  Writer::Loop points = w_.open_loop({"%begin", {Base::i64}}, {"%end", {Base::i64}}, step, false);
  point_ = points.index;
  Value left = point_;
  for (size_t i = grid.size(); i-- > 0;) {
    const GridAxis& g = grid[i];
    Value trip = left;
    if (i > 0) {
      trip = w_.binary("urem", left, g.trips);
      left = w_.binary("udiv", left, g.trips);
    }
    Value at = w_.add(g.low, w_.mul(trip, i64(g.walk->size == 0 ? 0 : g.walk->size)));
    enter(*g.walk, at, g.low, g.high);
  }
  walk_rest(rest, 0);
  w_.close_loop(points);
  w_.finish();
}

Diagnostic not_laid(const tile::Kernel& kernel, const NotLaid& fault) {
  return diagnose(Code::B001, {}, {{"what", fmt::format("kernel {} is not laid: {}", kernel.name.str(), fault.what)}});
}

std::optional<int64_t> emit_sizes(const tile::Program& program, const tile::Kernel& kernel, const Features& has,
                                  const std::string& entry, Module& module) {
  auto writer = [&](std::string_view name) {
    return Writer(module, fmt::format("define i64 @{}_{}(ptr %params, ptr %dims)", entry, name));
  };
  Writer points = writer("points"), arena = writer("arena");
  Emitter(program, kernel, has, points).emit_points();
  return Emitter(program, kernel, has, arena).emit_arena();
}

}  // namespace quern::target
