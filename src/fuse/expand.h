// A checked kernel with its sizes as tile expressions (fuse/graph.h): locals and functions expanded where they are
// read, laziness made explicit as guards, indices as shared axes, every subscript proved or marked to be checked.
//
// Before: a checked program and a binding of all its sizes and types. After: a Graph in which equal expressions are one
// object, all integer expressions that are constant are numbers, and every access is in range, guarded or checked.
#pragma once

#include "expr/bind.h"
#include "expr/program.h"
#include "fuse/graph.h"
#include "tile/machine.h"

namespace quern::fuse {

struct ExpandOptions {
  bool trust = false;                  // no checks of subscripts through data: the caller has seen to it
  std::string device = "cpu";          // for messages
  std::vector<tile::Lack> lacks = {};  // functions that it can't compute
  // Of each local: is it computed once by a definition of its own, into memory that its readers load from? Empty: none
  // is, each is computed where it is read. One whose range has no limit can't be: its memory has no elements then.
  std::vector<bool> stored = {};
};

// E306 where a subscript is outside for these sizes; N902 where a function is among those that the device lacks, N903
// where all pairs of a long range would be compared (fuse/all_pairs.h), N907 for kernels of more than 64 ranges.
Result<Graph> expand(const expr::Program& program, const expr::Binding& binding, const ExpandOptions& options = {});

}  // namespace quern::fuse
