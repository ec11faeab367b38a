// Copies and fills that kernels ask for, checked row by row.
#pragma once

#include "vgpu/children/children.h"
#include "vgpu/memory.h"

namespace quern::vgpu {

// What can't be read or written.
struct BadTransfer {
  FaultKind kind = FaultKind::kOutOfBounds;
  bool write = false;
  uint64_t address = 0;  // where the row starts
  int64_t bytes = 0;     // of the row
};

// Does it, unless one of its rows is not within one living allocation. What has no value in the one has none in the
// other.
std::optional<BadTransfer> do_transfer(Memory& memory, const Transfer& transfer);

}  // namespace quern::vgpu
