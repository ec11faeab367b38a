// How long a lowered program will take with the schedule that it would get: what grouping weighs.
//
// Each expression is computed once for every point of its own axes, and again for every tile of a grid or loop axis
// that it lacks: a product of [m, k] inside a kernel over [m, n] is made anew for each piece of n. So what is fused
// costs its operations times these trips, and what is stored costs its bytes, twice. Both are held against the
// machine's rates by the roofline (model/roofline.h). The figures serve to compare two forms of one program; they
// promise no time.
#pragma once

#include "tile/machine.h"
#include "tile/program.h"
#include "tile/schedule.h"

namespace quern::fuse {

// Seconds, with the default schedule.
double cost(const tile::Program& lowered, const tile::Machine& machine);

// Seconds of a kernel by a plan that can be used for it. What is split into parts uses more units, for a launch more
// and for states that are written and read back.
double cost(const tile::Program& lowered, const tile::Kernel& kernel, const tile::KernelPlan& plan,
            const tile::Machine& machine);

// Bytes of a parameter; 1 for every size that is known at launch only.
double bytes_of(const tile::Program& program, const tile::Parameter& parameter);

}  // namespace quern::fuse
