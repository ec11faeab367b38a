// Decides what is kept in memory between nests.
//
// Before: nests (place/nest.h). After, stage `placed`: a name that is used outside the nest that defines it, or that a
// loop carries, has a Keep in front of that nest or loop, in the same block. Its home is near as long as the kept
// values of a kernel fit the machine's near memory, largest last; what does not fit is far (on a CPU the same arena, no
// longer in L2). N904 when a kept value has an axis without a static limit.
#pragma once

#include "base/result.h"
#include "tile/machine.h"
#include "tile/program.h"

namespace quern::place {

Result<tile::Program> keep(const tile::Program& nested, const tile::Machine& machine);

// The most indices that an axis has in range inside the walks given, outermost first; nothing if there is no limit.
std::optional<int64_t> most_indices(const tile::Program& program, const tile::Kernel& kernel,
                                    const std::vector<tile::Walk>& walks, tile::AxisId axis);

}  // namespace quern::place
