// The driver's formats of array elements, and the runtime's descriptions of channels.
#pragma once

#include <optional>

#include "cuda/abi/driver_types.h"

namespace quern::cuda {

struct DriverFormat {
  int format = 0;
  unsigned channels = 0;
};

// Null: none that arrays have here.
std::optional<ChannelDesc> channels_of(int format, unsigned channels);
DriverFormat format_of(const ChannelDesc& channels);
// What CUDA_TEXTURE_DESC::flags say, into a description that the runtime has.
void set_flags(unsigned flags, TextureDesc& out);

}  // namespace quern::cuda
