// The kernels of a graph at stage `lowered`: definitions over whole axes, a name for what is used more than once and
// for every reduction, sums of products as `dot`, and loops where a chain of reductions was derived into one pass.
#pragma once

#include "fuse/graph.h"
#include "tile/machine.h"

namespace quern::fuse {

struct LowerOptions {
  bool stream = true;   // derive chains of reductions into one pass where that pays
  bool always = false;  // … and also where it doesn't (tests, `derive`)
};

struct LoweredProgram {
  tile::Program program;
  Diagnostics remarks;  // of the derivation: what waits for what
};

// Before: a graph whose definitions say in which step they run. After: one kernel for each cluster (fuse/cluster.h);
// stage kLowered.
LoweredProgram lower(const Graph& graph, const tile::Machine& machine, const LowerOptions& options = {});

}  // namespace quern::fuse
