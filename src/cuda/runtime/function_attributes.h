// What cudaFuncGetAttributes says of a kernel, to the host or to another kernel.
#pragma once

#include "cuda/abi/types.h"
#include "cuda/runtime/image.h"

namespace quern::cuda {

// `kernel` has been loaded: its function is in `program`.
FuncAttributes attributes_of(const vgpu::Program& program, const Kernel& kernel, int device);

}  // namespace quern::cuda
