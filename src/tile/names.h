// What dims, parameters, axes and names are called in a program's text: as in the program, made identifiers, and told
// apart where two are called alike (`x`, `x_2`). Dims, axes and names of a kernel stand in one scope.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "tile/program.h"

namespace quern::tile {

struct ProgramNames {
  explicit ProgramNames(const Program& program);
  std::vector<std::string> dims;
  std::vector<std::string> parameters;
  std::unordered_set<std::string> taken;  // by dims
};

struct KernelNames {
  KernelNames(const ProgramNames& program, const Kernel& kernel);
  std::vector<std::string> axes;
  std::vector<std::string> names;
};

}  // namespace quern::tile
