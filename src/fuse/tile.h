// Chooses what a kernel walks, and in which steps: from `lowered` to `tiled`.
//
// Before: flat Lets, loops over one whole axis with carries, stores; every range whole. After:
//   grid      the axes that the schedule says, in its order. Only axes that are *parallel*: every store has them, none
//             is reduced over or streamed. What depends on a range then runs once a tile.
//   loops     parallel axes may be walked again inside a grid point (`m 512 grid, m 48 loop`), around all statements;
//             streamed axes get their step; an axis that is reduced flat may be walked in pieces
//             (fuse/walk_reductions.h).
//   scalars   axes with step 1 are scalars, in no type.
//   ranges    of streamed axes are cut where masks change (fuse/cut.h), and end where the axis's own bound, now read
//             for the indices in range, says: `for n in 0 .. max[m](load len[m])`.
// Reductions are statements (tile/reductions.h) from here on. No subscript changes: an axis denotes the indices in
// range.
//
// Axes that the schedule does not name, and kernels without a plan, stay whole, but for ranges that data end
// (completed() of fuse/schedule_rule.h). E745 when the schedule does not fit the program (feasible of
// fuse/schedule_rule.h says it beforehand).
#pragma once

#include "base/result.h"
#include "tile/machine.h"
#include "tile/program.h"
#include "tile/schedule.h"

namespace quern::fuse {

Result<tile::Program> tile(const tile::Program& lowered, const tile::Schedule& schedule, const tile::Machine& machine);

// Axes of the kernel that a grid may have.
tile::AxisSet parallel_axes(const tile::Kernel& kernel);
// Axes that a loop of the kernel streams, and those that are reduced outside of such loops.
tile::AxisSet streamed_axes(const tile::Kernel& kernel);
tile::AxisSet reduced_axes(const tile::Kernel& kernel);

}  // namespace quern::fuse
