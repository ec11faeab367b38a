// The kernels of the library as test inputs.
#pragma once

#include <string>
#include <vector>

namespace quern::fuzz {

struct File {
  std::string path;
  std::string text;
};

// kernels/*.qn below the current folder, in order of name.
std::vector<File> library();

// All of them in one text, each kernel, function and constant renamed by `suffix`.
std::string renamed_library(const std::string& suffix);

}  // namespace quern::fuzz
