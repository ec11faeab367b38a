// A compiled kernel on the tensors of its program: parameters in the order that the code wants, memory that is not
// aligned to its elements copied in and out, faults as diagnostics.
#pragma once

#include <functional>
#include <vector>

#include "backend/backend.h"

namespace quern::backend {

// Memory of one tensor of the program: row-major, without gaps, of the bound type and shape.
struct Tensor {
  const void* input = nullptr;  // parameters and inout
  void* output = nullptr;       // results and inout; for inout perhaps the memory of `input`
};

struct RunOptions {
  int threads = 0;
  bool deterministic = false;
  std::function<bool(int64_t done, int64_t total)> progress;
};

struct Done {
  Diagnostics findings;
  bool stopped = false;
};

// `tensors` holds one for each tensor of the program.
Result<Done> run(const Compiled& compiled, const expr::Program& program, const expr::Binding& binding,
                 const std::vector<Tensor>& tensors, const RunOptions& options = {});

}  // namespace quern::backend
