// Which of NVIDIA's libraries a program gets replacements of, and which it can't be run with: these bring kernels as
// machine code and a runtime of their own.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace quern::cli {

// By the names that programs need them under.
std::span<const std::string_view> replaced_libraries();

// E974 where one of the libraries that the program at `path` needs is NVIDIA's, works on the GPU, and isn't replaced.
Result<void> check_libraries(const std::string& path, const std::vector<std::string>& libraries);

}  // namespace quern::cli
