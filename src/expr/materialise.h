// A program in which every local is stored: what somebody gets who computes a kernel step by step, a kernel of a
// library for each line. `quern bench` holds fused code against it, and tests compare the two.
#pragma once

#include "expr/bind.h"
#include "expr/program.h"

namespace quern::expr {

struct Materialised {
  Program program;
  Binding binding;
};

// Locals whose indices are whole dimensions become results behind those of the program, of their annotated type, else
// f32, i64 or bool; they are defined by updates in front of the program's. Other locals (ragged ones) stay. `binding`
// is of `program`.
Materialised materialise(const Program& program, const Binding& binding);

}  // namespace quern::expr
