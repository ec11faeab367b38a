// The PTX of a file: a .ptx file's own text, or what nvcc makes of a .cu file.
#pragma once

#include <string>

#include "base/result.h"

namespace quern::cli {

// E117 for a file that can't be read, N921 where there is no nvcc or it refuses the file (what it says goes to standard
// error as it is). nvcc is $NVCC, else the one on the PATH, else in $CUDA_HOME/bin.
Result<std::string> ptx_of(const std::string& path, const std::string& chip);

}  // namespace quern::cli
