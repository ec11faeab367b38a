// Sums inside of sums as locals: the hidden layer in `sum[j] gelu(sum[k] x[m, k] * w[k, j]) * v[j, n]` gets a name, as
// if it had been written on a line of its own. A local is what a compiler decides about: to compute it where it is read
// or once, into memory.
#pragma once

#include "expr/program.h"

namespace quern::expr {

// The same program in which every sum of products that stands inside of a reduction is a local in front of what reads
// it, if the ranges of its free indices are dimensions. What it computes, and what it reports, is the same.
Program outline(const Program& program);

}  // namespace quern::expr
