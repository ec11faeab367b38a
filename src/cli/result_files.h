// Where `run -o` puts its results. Whether it can is found out before anything is computed; then each file is written
// beside its place, and only when all are written are they moved there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "array/array.h"
#include "base/result.h"

namespace quern::cli {

struct ResultFiles {
  struct File {
    std::string path;            // as it is shown
    std::vector<size_t> arrays;  // which of the names go there
    std::string place;           // where symbolic links lead
  };
  std::vector<File> files;
  std::vector<std::string> folders;  // to be made, in this order
  std::vector<std::string> path_of;  // of each name
};

// `path` is a .npy file for a single array, an .npz or .safetensors file, or else a folder that gets a .npy file for
// each name. Names from `bounds_from` on are NAME.bound of earlier ones. E740 if a .npy file would have to hold
// several, E730 if the place can't be written.
Result<ResultFiles> plan_result_files(const std::string& path, const std::vector<std::string>& names,
                                      size_t bounds_from);

// All or nothing, apart from a machine that stops between two renames. E730.
Result<void> write_result_files(const ResultFiles& plan, const std::vector<array::Named>& arrays);

}  // namespace quern::cli
