// Code that a program hands over by its address alone: PTX, a fatbin, a wrapper around one, or machine code.
#pragma once

#include <string>

#include "base/result.h"

namespace quern::cuda {

// A copy of it: text up to its end, a container as long as it says it is. Only what this process may read is read; E970
// for what isn't there.
Result<std::string> copy_code(const void* address, const std::string& what);

}  // namespace quern::cuda
