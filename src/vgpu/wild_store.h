// Without checks a kernel's store is held against the range of device addresses only. Where nothing is allocated, or no
// more, the pages can't be written: the processor says so, and the kernel ends with a fault instead of the process.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "vgpu/memory.h"

namespace quern::vgpu {

// Runs the function on this thread. The address of a store into the range that the pages forbade, which ended it where
// it stood: nothing on its stack was destroyed. Other faults of the process are left to whoever handles them.
std::optional<uint64_t> stopped_by_wild_store(const AddressSpace& space, const std::function<void()>& function);

}  // namespace quern::vgpu
