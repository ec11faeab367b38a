// A worked program with its arguments, and what plain loops in f64 make of the same arguments.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tile/interpret.h"

namespace quern::tile {

// A tensor as numbers, row-major.
struct Numbers {
  std::vector<int64_t> shape;
  std::vector<double> at;
  double& operator()(std::initializer_list<int64_t> index);
};
using Arguments = std::map<std::string, Numbers>;

struct Case {
  std::string name;
  Program program;
  Arguments arguments;  // of in, const and inout
  // Result by name of the out.
  std::function<Arguments(const std::map<std::string, int64_t>& dims, Arguments&)> reference;
};

// All worked programs. `larger` takes other, odd sizes.
std::vector<Case> worked_cases(bool larger);

// The sizes of a parameter, and every dim by name.
std::map<std::string, int64_t> dims_of(const Program& program);
std::vector<int64_t> shape_of(const Program& program, const Parameter& parameter);

// The run's outputs by name; a fault is a failure of the test.
struct Ran {
  std::map<std::string, Output> outputs;
  Diagnostics findings;
  std::string fault;  // rendered, empty if there is none
};
Ran run(const Program& program, const Arguments& arguments, Mode mode);

}  // namespace quern::tile
