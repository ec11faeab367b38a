#include "cuda/runtime/array.h"

#include <algorithm>

#include "cuda/runtime/device_memory.h"

namespace quern::cuda {

size_t element_bytes(const ChannelDesc& c) {
  int bits = c.x;
  if (bits != 8 && bits != 16 && bits != 32) return 0;
  int count = 1;
  for (int other : {c.y, c.z, c.w}) {
    if (other != 0 && other != bits) return 0;
    count += other != 0;
  }
  if ((c.z && !c.y) || (c.w && !c.z)) return 0;
  if (c.kind == ChannelKind::kFloat && bits == 8) return 0;
  return static_cast<size_t>(bits / 8 * (count == 3 ? 4 : count));
}

Error make_array(const ChannelDesc& channels, Extent extent, uint32_t flags, std::shared_ptr<Array>& out) {
  constexpr size_t kLargest = 1 << 20;
  auto array = std::make_shared<Array>();
  array->channels = channels;
  array->extent = extent;
  array->flags = flags;
  array->device = thread_state().device;
  array->element_bytes = element_bytes(channels);
  if (!array->element_bytes || !extent.width) return Error::kInvalidValue;
  if (extent.width > kLargest || extent.height > kLargest || extent.depth > kLargest) return Error::kInvalidValue;
  bool cube = flags & kArrayCubemap;
  if (cube && (extent.width != extent.height || extent.depth % 6)) return Error::kInvalidValue;
  array->pitch = (extent.width * array->element_bytes + 31) / 32 * 32;
  array->rows = std::max<size_t>(1, extent.height);
  array->slices = std::max<size_t>(1, extent.depth);
  void* memory = allocate(static_cast<int64_t>(array->bytes()), vgpu::Holds::kGlobal, kNameArray, array->device, 512);
  if (!memory) return Error::kMemoryAllocation;
  array->address = reinterpret_cast<uint64_t>(memory);
  out = std::move(array);
  return Error::kSuccess;
}

void free_array(Array& array) { release(reinterpret_cast<void*>(array.address)); }

}  // namespace quern::cuda
