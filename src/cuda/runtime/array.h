// CUDA arrays: images in device memory whose layout is the runtime's own business. Here they are rows with a pitch, one
// slice after another; a mipmapped array is a list of arrays.
#pragma once

#include <memory>
#include <vector>

#include "cuda/abi/types.h"

namespace quern::cuda {

inline constexpr uint32_t kArrayLayered = 1, kArraySurface = 2, kArrayCubemap = 4, kArrayGather = 8;

struct Array {
  ChannelDesc channels;
  Extent extent;  // in elements, as given: 0 where the dimension is missing
  uint32_t flags = 0;
  int device = 0;
  uint64_t address = 0;
  size_t element_bytes = 0;
  size_t pitch = 0;  // bytes of a row
  size_t rows = 0, slices = 0;
  bool owned = true;  // false: a level of a mipmapped array, freed with it

  size_t slice_bytes() const { return pitch * rows; }
  size_t bytes() const { return slice_bytes() * slices; }
};

struct MipmappedArray {
  std::vector<std::shared_ptr<Array>> levels;
};

// Bytes of an element; 0 where the description is none that arrays have.
size_t element_bytes(const ChannelDesc& channels);

// kInvalidValue for extents or channels that no array has, kMemoryAllocation.
Error make_array(const ChannelDesc& channels, Extent extent, uint32_t flags, std::shared_ptr<Array>& out);
void free_array(Array& array);

}  // namespace quern::cuda
