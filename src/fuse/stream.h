// Which reductions of a definition are to be done in one pass over their axis: a chain (a sum that reads a maximum over
// the same axis, and so on) whose elements are dear to make again, or too many to keep close.
#pragma once

#include <optional>

#include "fuse/graph.h"
#include "tile/machine.h"

namespace quern::fuse {

// The axes that all reductions of the chain share; nothing where each reduction may as well have its own pass: a row of
// cheap elements that stays close is read again for less than what carried state costs, and with fewer roundings.
std::optional<tile::AxisSet> worth_streaming(const Graph& graph, const std::vector<const Definition*>& definitions,
                                             const tile::Machine& machine);

}  // namespace quern::fuse
