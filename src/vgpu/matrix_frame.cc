#include "vgpu/matrix_frame.h"

#include <algorithm>
#include <queue>

#include "vgpu/matrix/matrix.h"
#include "vgpu/traits.h"

namespace quern::vgpu {
namespace {

using ptx::Op;
using ptx::Operand;
using ptx::OperandKind;

struct Range {
  int32_t first = INT32_MAX, last = -1;  // instructions
  int32_t heir_of = ptx::kNone;          // the register of C whose place this one of D may take over
  void extend(int32_t i) { first = std::min(first, i), last = std::max(last, i); }
};

bool product(const ptx::Instruction& in) { return in.op == Op::k_mma || in.op == Op::k_wmma_mma; }

bool holds_matrices(const ptx::Instruction& in) {
  return product(in) || in.op == Op::k_wmma_load || in.op == Op::k_wmma_store;
}

template <class Body>
void each_register(const Bits& bits, Body body) {
  for (size_t w = 0; w < bits.size(); ++w) {
    for (uint64_t left = bits[w]; left; left &= left - 1) body(static_cast<int32_t>(w * 64) + __builtin_ctzll(left));
  }
}

void extend_by_blocks(const Flow& flow, std::map<int32_t, Range>& ranges) {
  auto extend = [&](const Bits& live, std::initializer_list<int32_t> at) {
    each_register(live, [&](int32_t reg) {
      auto range = ranges.find(reg);
      if (range == ranges.end()) return;
      for (int32_t i : at) range->second.extend(i);
    });
  };
  auto live_in = [&](int32_t b) -> const Bits& { return flow.live_in[static_cast<size_t>(b)]; };
  for (int32_t b = 0; b < flow.exit(); ++b) {
    const Block& block = flow.blocks[static_cast<size_t>(b)];
    extend(live_in(b), {block.begin});
    for (int32_t next : block.next) {
      if (next < flow.exit()) extend(live_in(next), {block.end - 1});
    }
    // Lanes that wait elsewhere keep what they will need there.
    for (int32_t other : block.waiting) {
      if (other < flow.exit()) extend(live_in(other), {block.begin, block.end - 1});
    }
  }
}

}  // namespace

MatrixFrame place_matrices(const ptx::Function& function, const Flow& flow, const Shapes& shapes) {
  MatrixFrame out;
  auto bits = [&](int32_t reg) { return ptx::row(function.registers[static_cast<size_t>(reg)].type).size(); };
  std::map<int32_t, Range> ranges;
  bool any = false;
  for (const ptx::Instruction& in : function.instructions) {
    if (!holds_matrices(in)) continue;
    any = true;
    for (const Operand& o : in.operands) {
      if (o.kind == OperandKind::kAddress || o.kind == OperandKind::kInteger) continue;
      for (const Operand& part : parts_of(o)) {
        if (part.kind != OperandKind::kRegister || bits(part.reg) < 32) continue;
        if (shapes.of[static_cast<size_t>(part.reg)].kind == Shape::kVarying) ranges.try_emplace(part.reg);
      }
    }
  }
  if (!any) return out;
  for (size_t i = 0; i < function.instructions.size(); ++i) {
    const ptx::Instruction& in = function.instructions[i];
    Uses u = uses(in);
    for (const auto* list : {&u.reads, &u.writes}) {
      for (int32_t reg : *list) {
        if (auto range = ranges.find(reg); range != ranges.end()) range->second.extend(static_cast<int32_t>(i));
      }
    }
    if (!product(in) || in.operands.size() != 4) continue;
    std::vector<Operand> d = parts_of(in.operands[0]), c = parts_of(in.operands[3]);
    for (size_t r = 0; r < std::min(d.size(), c.size()); ++r) {
      auto range = ranges.find(d[r].reg);
      if (range != ranges.end()) range->second.heir_of = c[r].reg;
    }
  }
  extend_by_blocks(flow, ranges);

  std::vector<int32_t> order;
  for (const auto& [reg, range] : ranges) order.push_back(reg);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return ranges[a].first < ranges[b].first; });
  struct Taken {
    int32_t last, reg;
    bool operator>(const Taken& o) const { return std::pair(last, reg) > std::pair(o.last, o.reg); }
  };
  std::priority_queue<Taken, std::vector<Taken>, std::greater<>> taken;  // the first to end on top
  std::map<int64_t, std::vector<int64_t>> free;                          // by size
  std::map<int64_t, int32_t> owner;                                      // the last register of each place
  for (int32_t reg : order) {
    const Range& range = ranges[reg];
    int64_t size = bits(reg) * 4;
    while (!taken.empty() && taken.top().last < range.first) {
      int64_t at = out.place[taken.top().reg];
      if (owner[at] == taken.top().reg) free[bits(taken.top().reg) * 4].push_back(at);
      taken.pop();
    }
    auto from = ranges.find(range.heir_of);
    int64_t at;
    if (from != ranges.end() && from->second.last == range.first && bits(range.heir_of) == bits(reg) &&
        out.place.count(range.heir_of) && owner[out.place[range.heir_of]] == range.heir_of) {
      at = out.place[range.heir_of];
    } else if (auto& spare = free[size]; !spare.empty()) {
      at = spare.back();
      spare.pop_back();
    } else {
      at = (out.bytes + size - 1) / size * size;
      out.bytes = at + size;
    }
    out.place[reg] = at;
    owner[at] = reg;
    taken.push({range.last, reg});
  }
  out.spare = (out.bytes + 255) / 256 * 256;
  // As many as a product has, of 64 bits each.
  out.bytes = out.spare + 4 * kMostRegisters * 256;
  return out;
}

}  // namespace quern::vgpu
