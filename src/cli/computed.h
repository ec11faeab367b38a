// Computing a kernel that has everything it needs, with the interpreter or with compiled code.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/bound_run.h"
#include "cli/compile_options.h"

namespace quern::cli {

struct Computed {
  struct Tensor {
    size_t tensor = 0;  // of the program
    array::Array array;
    std::vector<double> bound;  // of the interpreter; else empty
  };
  std::vector<Tensor> results;  // results and inout tensors, in the order of the program
  Diagnostics findings;
  Diagnostics remarks;                    // of the compiler
  std::optional<bool> cached;             // compiled code: did it come from the cache?
  std::optional<double> compile_seconds;  // until it could run
  double seconds = 0;                     // of the computation
};

struct ComputeOptions {
  int threads = 0;
  bool bounds = true;  // of the interpreter
  backend::Options compile;
};

// `device`: "interpreter", or what options.compile.on names.
Result<Computed> compute(const std::string& device, const expr::Program& program, const BoundRun& run,
                         const ComputeOptions& options);

}  // namespace quern::cli
