// Which locals lie in memory, and so which kernels a program becomes. A local is a function: computed where it is read
// it costs no memory and no kernel of its own, but it is computed again for every tile of what its reader walks besides
// (the hidden layer of an MLP, for each block of columns behind it), for every reader, and for each subscript at which
// it is read (an image row, for each row of the filter). Where that takes longer than writing it down and reading it
// back, it becomes a *stored* local: a definition of its own, a temporary buffer, loads in its place.
//
// A sum inside of a sum is a local without a name (expr/outline.h).
//
// What is best is tried, not guessed: from the innermost local on, the program is expanded and lowered with one more
// stored, the result is weighed (fuse/cost.h), and the local stays stored if that saves enough; in the end those are
// dropped that others have made needless. The elements of a chain of reductions that streams (fuse/stream.h) are never
// stored: that would be memory by the product of two lengths.
#pragma once

#include "fuse/expand.h"
#include "tile/machine.h"

namespace quern::fuse {

struct Grouped {
  Graph graph;
  Diagnostics remarks;  // what is stored (R23), what would better be but can't (R24)
};

// Before: a checked program and a binding of all its sizes and types. After: a graph as expand() makes it, in which the
// chosen locals are stored. `all`: every one that can be is, whatever it costs. Errors are expand()'s.
Result<Grouped> group(const expr::Program& program, const expr::Binding& binding, const tile::Machine& machine,
                      const ExpandOptions& options = {}, bool all = false);

}  // namespace quern::fuse
