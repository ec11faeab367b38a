// NVIDIA's device runtime (libcudadevrt.a), which nvcc links into programs whose kernels launch kernels. Its functions
// are the virtual GPU's own (vgpu/children), so a container with it holds nothing that is needed.
#pragma once

#include <span>

#include "fatbin/container.h"

namespace quern::fatbin {

bool is_device_runtime(std::span<const Entry> container);

}  // namespace quern::fatbin
