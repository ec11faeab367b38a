// backend/virtual_gpu.h, implemented.
#pragma once

#include "backend/virtual_gpu.h"

namespace quern::cuda {

Result<backend::KernelOutcome> run_kernel(const backend::KernelRun& run, const backend::GpuSettings& settings);

}  // namespace quern::cuda
