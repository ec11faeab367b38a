// Where the library of kernels is: $QUERN_LIBRARY (folders, with a colon between), else the installed one, else the
// source tree's that this program was built from.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace quern::cli {

// Folders to search; empty if there is none.
std::vector<std::string> library_folders();

// All files of the library, sorted by name within each folder; E117 if there is no library.
Result<std::vector<std::string>> library_files();

}  // namespace quern::cli
