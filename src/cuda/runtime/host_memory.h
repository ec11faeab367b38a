// Memory of the host that the device can use: pinned memory, which lies in the range of device addresses from the
// start, and memory of the program's own that it registers. The latter's pages are moved into a file in memory which is
// then mapped twice, at the program's addresses and at the device's, so that both see each write of the other.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/abi/error.h"

namespace quern::cuda {

inline constexpr uint32_t kHostPortable = 1, kHostMapped = 2, kHostWriteCombined = 4;

Error register_host(void* pointer, size_t bytes, uint32_t flags);
Error unregister_host(void* pointer);
// The device's address of a registered host address; null: not registered.
void* device_view(void* pointer);
// Flags of pinned or registered memory; false: it is neither.
bool host_flags(void* pointer, uint32_t& flags);
void keep_host_flags(void* pointer, uint32_t flags);
void forget_host_flags(void* pointer);

}  // namespace quern::cuda
