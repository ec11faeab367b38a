// Finds the libraries that run CUDA code, and opens the one with the virtual GPU, once.
#pragma once

#include <string>

#include "backend/virtual_gpu.h"

namespace quern::backend {

// The folder with libquern_cuda.so, libcudart.so.13 and the others: $QUERN_CUDA, else next to the program as the build
// and the installation lay it out, else where this build put it. N909 where they are not.
Result<std::string> gpu_folder();

// N909 says what is wrong.
Result<const VirtualGpu*> open_gpu();

}  // namespace quern::backend
