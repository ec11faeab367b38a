// Which definitions share a kernel: what runs over the same indices loads once what several of them read, and a result
// that another definition reads back at its own indices (a sum that is stored and normalised, a scale and what is
// scaled by it) is taken from the registers.
//
// Before: a graph in order of steps. After: clusters in an order in which they can run, one kernel each. In a cluster
// no grid point sees what another one writes: a definition reads what an earlier one of its cluster writes at its own
// indices only, and then as a value and not from memory; and what a later one overwrites is read where it is written.
#pragma once

#include <vector>

#include "fuse/graph.h"
#include "tile/machine.h"

namespace quern::fuse {

// Definitions in order: the values of all are to be computed before the first one is stored.
using Cluster = std::vector<Definition>;

// `stream`: chains of reductions may be derived into one pass (fuse/stream.h), also for several definitions at once.
std::vector<Cluster> clusters(const Graph& graph, const tile::Machine& machine, bool stream);

// Does it load from the parameter, anywhere?
bool reads(const Definition& definition, int32_t parameter);

// The axes of all of them.
const std::vector<tile::AxisId>& axes_of(const Cluster& cluster);

}  // namespace quern::fuse
