// A kernel with everything it needs to be computed: sizes and types bound, an array for each parameter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "array/random.h"
#include "cli/argument_files.h"
#include "expr/bind.h"
#include "expr/draw.h"
#include "expr/program.h"

namespace quern::cli {

// How an array is drawn that suits the subscripts of a kernel.
array::Fill fill_of(const expr::Draw& draw);

struct BoundRun {
  expr::Binding binding;
  std::vector<std::optional<Argument>> arguments;  // one a tensor of the program; none for results
  uint64_t seed = 0;
  bool random = false;  // some array was drawn
};

// Binds, then fills in defaults, and draws what is missing by `seed` (by the clock if there is none). E703 for a scalar
// that has no value, what bind says (E701 where a size is missing), E716 for arrays that memory can't hold.
Result<BoundRun> bind_run(const expr::Program& program, expr::Request request, Arguments arguments,
                          std::optional<uint64_t> seed);

}  // namespace quern::cli
