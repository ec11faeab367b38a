#include "vgpu/children/transfer.h"

#include <cstring>

namespace quern::vgpu {
namespace {

std::optional<BadTransfer> wrong(const Memory& memory, uint64_t row, int64_t bytes, bool write) {
  auto allocation = memory.find(row);
  if (!memory.contains(row, bytes)) {
    bool freed = allocation && allocation->released;
    return BadTransfer{freed ? FaultKind::kUseAfterFree : FaultKind::kOutOfBounds, write, row, bytes};
  }
  bool constant = allocation->holds == Holds::kConstant || allocation->holds == Holds::kParameter;
  if (write && constant) return BadTransfer{FaultKind::kReadOnly, write, row, bytes};
  return std::nullopt;
}

}  // namespace

std::optional<BadTransfer> do_transfer(Memory& memory, const Transfer& t) {
  if (t.width <= 0) return std::nullopt;
  for (int64_t z = 0; z < t.depth; ++z) {
    for (int64_t y = 0; y < t.height; ++y) {
      // As numbers without sign: whatever a kernel asks for, it only wraps.
      auto row = [&](uint64_t base, int64_t pitch, int64_t rows) {
        return base + (static_cast<uint64_t>(z) * static_cast<uint64_t>(rows) + static_cast<uint64_t>(y)) *
                          static_cast<uint64_t>(pitch);
      };
      uint64_t to = row(t.to, t.to_pitch, t.to_rows), from = row(t.from, t.from_pitch, t.from_rows);
      if (!t.fill) {
        if (auto bad = wrong(memory, from, t.width, false)) return bad;
      }
      if (auto bad = wrong(memory, to, t.width, true)) return bad;
      auto* target = reinterpret_cast<void*>(to);
      if (t.fill) {
        std::memset(target, t.value, static_cast<size_t>(t.width));
        memory.mark_written(to, t.width);
      } else {
        std::memmove(target, reinterpret_cast<const void*>(from), static_cast<size_t>(t.width));
        memory.copy_shadow(to, from, t.width);
      }
    }
  }
  return std::nullopt;
}

}  // namespace quern::vgpu
