// A kernel whose reductions over one axis are done in parts, by several grid points at once: flash decoding, split-K.
//
//     kernel p                       kernel p_part                                kernel p_join
//       for n: carry m, l              grid …, part                                 grid …
//         …                            for n in the part's range: carry m, l        m, l = merge over parts
//       store y = m + log(l)           store m_parts[…, part] = m; …                store y = m + log(l)
//
// Before: a kernel of stage `lowered` and a plan with `parts` > 1. After: kernels of the same stage but for the range
// of n, which follows from the scalar axis `part`, so each of them is tiled by a plan of its own: what of the given one
// applies to it, and `part` in the grid. Parts are equal (the last ones shorter, or empty), states lie in memory with
// an axis for the parts, and are merged in their order: the result is the same whoever computes which part.
//
// What the axis's results are needed for, over the same axis, is one more round of parts: sum[n] exp(x - max[n] x), not
// derived, has p_part, p_part_2 and p_join. Stores along n itself are done in parts as well (p_map).
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "tile/program.h"
#include "tile/schedule.h"

namespace quern::fuse {

struct Split {
  std::vector<tile::Parameter> states;  // of tmp, behind the program's parameters
  std::vector<tile::Kernel> kernels;    // in the order in which they run
  std::vector<tile::KernelPlan> plans;  // one a kernel; walks that don't apply to it are to be left out
};

// Fails with the reason, in words.
std::expected<Split, std::string> split(const tile::Program& program, const tile::Kernel& kernel,
                                        const tile::KernelPlan& plan);

}  // namespace quern::fuse
