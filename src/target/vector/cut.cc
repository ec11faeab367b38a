// How a range is cut into blocks of a nest. Where its extent is known, into near-equal blocks (64 vectors by 3: 20 of
// 3 and 2 of 2, never one of 1: a narrow block is bound by its loads), so that two bodies and perhaps a masked one are
// emitted. Where it isn't, into whole blocks and a rest: halves for an axis of scalars, single vectors for the axis in
// lanes, since bodies for each number of vectors would take longer to compile than they save. Only the very last vector
// is masked.
#include <algorithm>

#include "target/vector/emitter.h"

namespace quern::target {

std::vector<Cut> Emitter::cut(AxisId axis, int64_t size, bool near_equal) {
  const AxisNow& now = axes_[static_cast<size_t>(axis)];
  int64_t unit = axis == lane_axis_ ? lanes_ : 1;
  int64_t most = size / unit;  // positions of a whole block
  std::vector<Cut> out;
  auto fixed = [&](int64_t begin, int64_t blocks, int64_t count, int64_t align, bool masked) {
    if (blocks <= 0) return;
    out.push_back({.begin = i64(begin),
                   .end = i64(begin + blocks * count * unit),
                   .count = static_cast<int>(count),
                   .align = align,
                   .masked = masked,
                   .certain = true,
                   .once = blocks == 1});
  };
  if (now.extents.size() == 1) {
    int64_t extent = now.extents[0];
    if (extent == 0) return out;
    int64_t units = (extent + unit - 1) / unit;
    bool masked = extent % unit != 0;
    int64_t blocks = (units + most - 1) / most;
    int64_t large = near_equal ? (units + blocks - 1) / blocks : most;
    int64_t small = near_equal ? units / blocks : units % most;
    int64_t larges = near_equal ? units - (large == small ? 0 : small * blocks) : units / most;
    if (near_equal && large == small) larges = blocks;
    int64_t smalls = blocks - larges;
    int64_t rest = larges * large * unit;
    // A block of its own for the one with the mask.
    fixed(0, larges - (masked && smalls == 0), large, large * unit, false);
    if (masked && smalls == 0) fixed((larges - 1) * large * unit, 1, large, large * unit, true);
    int64_t small_align = near_equal ? unit : most * unit;
    fixed(rest, smalls - masked, small, small_align, false);
    if (masked && smalls > 0) fixed(rest + (smalls - 1) * small * unit, 1, small, small_align, true);
    return out;
  }
  Value extent = w_.smax(w_.sub(now.high, now.low), i64(0));
  Value whole = w_.sub(extent, w_.binary("urem", extent, i64(size)));
  auto some = [&](auto holds) {
    return now.extents.empty() || std::any_of(now.extents.begin(), now.extents.end(), holds);
  };
  if (some([&](int64_t e) { return e >= size; })) {
    out.push_back({.begin = i64(0), .end = whole, .count = static_cast<int>(most), .align = size});
  }
  if (!some([&](int64_t e) { return e % size != 0; })) return out;
  if (unit == 1) {
    Value from = whole;
    int64_t align = size;
    for (int64_t count = most / 2; count >= 1; count /= 2) {
      Value left = w_.sub(extent, from);
      Value to = count == 1 ? extent : w_.add(from, w_.sub(left, w_.binary("urem", left, i64(count))));
      out.push_back({.begin = from, .end = to, .count = static_cast<int>(count), .align = align});
      from = to;
      align = align % count == 0 ? count : 1;
    }
    return out;
  }
  Value vectors = w_.sub(extent, w_.binary("urem", extent, i64(unit)));
  if (most > 1 && some([&](int64_t e) { return e % size >= unit; })) {
    out.push_back({.begin = whole, .end = vectors, .count = 1, .align = unit});
  }
  if (some([&](int64_t e) { return e % unit != 0; })) {
    out.push_back({.begin = vectors, .end = extent, .count = 1, .align = unit, .masked = true});
  }
  return out;
}

// Near-equal blocks may begin anywhere, and a layout with panels wants them at the panels' edges.
bool Emitter::equal_parts_allowed(AxisId axis) const {
  for (const auto& [name, near] : near_) {
    for (const tile::Digit& d : near.digits) {
      if (d.axis == axis && (d.divide > 1 || d.modulo > 0)) return false;
    }
  }
  return true;
}

}  // namespace quern::target
