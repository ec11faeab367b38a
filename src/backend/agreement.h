// Compiled code held against the interpreter: every element within the interpreter's bound, the same findings, the same
// bits on two threads. `quern check` and tests/run/agreement.cc compare with this.
#pragma once

#include <string>
#include <vector>

#include "backend/run.h"
#include "expr/interpret.h"

namespace quern::backend {

// The element of a result or inout tensor that comes closest to its bound, of those whose bound is more than the least
// normal number of f32: below it a step of the type is the whole bound.
struct Closest {
  int32_t tensor = -1;
  double error = 0, bound = 0;     // both 0 where every element is exact
  int64_t elements = 0, free = 0;  // how many were compared; of these, how many may be anything

  double share() const { return bound > 0 ? error / bound : 0; }
};

struct Agreement {
  std::string wrong;             // the first thing that disagrees, with its place; empty: nothing
  std::vector<Closest> closest;  // in the order of truth.outputs; all 0 where something is found in the data:
                                 // what is cut and what is dropped may differ from there on
};

// `arguments` holds memory for each tensor of the program, that of results is ignored; `truth` is what the interpreter
// makes of it, with bounds. What can't be run is said in `wrong`.
Agreement agree(const Compiled& compiled, const expr::Program& program, const expr::Binding& binding,
                const std::vector<expr::View>& arguments, const expr::Interpreted& truth);

}  // namespace quern::backend
