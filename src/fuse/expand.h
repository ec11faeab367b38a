// A checked kernel with its sizes as tile expressions (fuse/graph.h): locals and functions expanded where they are
// read, laziness made explicit as guards, indices as shared axes, every subscript proved or marked to be checked.
//
// Before: a checked program and a binding of all its sizes and types. After: a Graph in which equal expressions are one
// object, all integer expressions that are constant are numbers, and every access is in range, guarded or checked.
#pragma once

#include "expr/bind.h"
#include "expr/program.h"
#include "fuse/graph.h"

namespace quern::fuse {

struct ExpandOptions {
  bool trust = false;  // no checks of subscripts through data: the caller has seen to it
};

// E306 where a subscript is outside for these sizes; N907 for kernels of more than 64 ranges.
Result<Graph> expand(const expr::Program& program, const expr::Binding& binding, const ExpandOptions& options = {});

}  // namespace quern::fuse
