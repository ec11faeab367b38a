// A core is a thread block here, and the lanes of a vector are the threads of a warp. The blocks of one axis of a nest
// are dealt out to the warps, the longest axis's; a nest without one is a single warp's. After each nest all wait, so
// that the next one sees what was kept and stored. What is the same in all lanes is stored by the first of them.
#include <fmt/format.h>

#include <algorithm>

#include "target/vector/emitter.h"

namespace quern::target {

namespace {

constexpr int64_t kUnknown = int64_t{1} << 20;

Value warp() { return {"%warp", {Base::i64}}; }

}  // namespace

Value Emitter::first_thread() { return w_.compare("eq", {"%lane", {Base::i32}}, constant({Base::i32}, 0)); }

// What the first lane stores, others may have to read before.
void Emitter::all_lanes_here() {
  w_.module().declarations.insert("declare void @llvm.nvvm.bar.warp.sync(i32)");
  w_.effect("call void @llvm.nvvm.bar.warp.sync(i32 -1)");
}

// Grid points don't meet in an element that is added to without atomics; do warps of a block?
bool Emitter::of_one_warp(const tile::Store& s) const {
  return dealt_axis_ < 0 ||
         std::ranges::any_of(s.subscripts, [&](const ExprPtr& e) { return e->axes.has(dealt_axis_); });
}

void Emitter::barrier() {
  w_.module().declarations.insert("declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)");
  w_.effect("call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)");
}

void Emitter::shared_nest() {
  dealt_axis_ = -1;
  turns_ = 0;
  int64_t most = 1;
  for (const tile::NestAxis& a : nest_axes_) {
    if (a.role == tile::AxisRole::kStrip) continue;
    const AxisNow& now = axes_[static_cast<size_t>(a.axis)];
    int64_t extent = now.extents.empty() ? kUnknown : std::ranges::max(now.extents);
    int64_t blocks = (extent + a.size - 1) / a.size;
    if (blocks > most) most = blocks, dealt_axis_ = a.axis;
  }
  if (dealt_axis_ >= 0) {
    nest_blocks(0);
  } else {
    Writer::Branch alone = w_.open_if(w_.compare("eq", warp(), i64(0)));
    nest_blocks(0);
    w_.close_if(alone);
  }
  barrier();
  // A reduction that a range reads again is now where it was kept: not every warp has it in registers.
  reduced_.clear();
  for (const tile::Statement& s : nest_->body) {
    auto let = std::get_if<tile::Let>(&s.is);
    if (let && near_.contains(let->name) && let->value->axes.empty()) kept_[let->value.get()] = let->name;
  }
}

// The blocks of one cut of the dealt axis.
void Emitter::deal(AxisNow& now, const Cut& c, int64_t step, size_t next) {
  auto inside = [&](const std::optional<Writer::Loop>& loop) {
    stand(now, c, loop);
    known_.emplace_back();
    nest_blocks(next + 1);
    known_.pop_back();
  };
  if (c.once) {
    Writer::Branch mine = w_.open_if(w_.compare("eq", warp(), i64(turns_++ % has_.warps)));
    inside(std::nullopt);
    w_.close_if(mine);
    return;
  }
  Value begin = w_.add(c.begin, w_.mul(warp(), i64(step)));
  std::optional<Writer::Loop> loop = w_.open_loop(begin, c.end, i64(step * has_.warps), false);
  inside(loop);
  w_.close_loop(*loop);
}

// The lanes' values joined, the same in all of them: each round adds what a thread half as far away has.
Value Emitter::joined_lanes(tile::Op op, bool nan_ignored, Value v) {
  Type word{Base::i32, kThreads};
  w_.module().declarations.insert("declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)");
  auto other_word = [&](const Value& x, int distance) {
    return w_.effect(
        word, fmt::format("call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 {}, i32 {}, i32 31)", x.name, distance));
  };
  auto other = [&](const Value& x, int distance) {
    int size = bits(x.type.base);
    Value whole = w_.bitcast(x, with(x.type, integer_of(size)));
    if (size < 32)
      return w_.convert("trunc", other_word(w_.convert("zext", whole, Base::i32), distance), whole.type.base);
    if (size == 32) return w_.bitcast(other_word(whole, distance), x.type);
    Value half = constant(whole.type, 32);
    Value low = other_word(w_.convert("trunc", whole, Base::i32), distance);
    Value high = other_word(w_.convert("trunc", w_.binary("lshr", whole, half), Base::i32), distance);
    Value both = w_.binary("or", w_.convert("zext", low, Base::i64),
                           w_.binary("shl", w_.convert("zext", high, Base::i64), half));
    return w_.bitcast(both, x.type);
  };
  for (int distance = 16; distance > 0; distance /= 2) v = combine(op, nan_ignored, v, other(v, distance));
  return w_.extract(v, 0);
}

}  // namespace quern::target
