// The schedule that a program gets when nobody gives one: plain rules by the class of a kernel, sizes from the machine.
//
//   class    property                                   walks (a CPU's columns of docs/tile.md, section 3)
//   map      no reduction                               grid of pieces of 4 to 64 Ki elements, the innermost axis last
//   row      reductions, no dot                         grid of rows, one or a few short ones at a time, so that what
//                                                       is kept of a row stays close; columns in vectors
//   stream   dots in a loop that carries state          grid of batch axes and row blocks; rows in a loop of 48; the
//                                                       streamed axis whole up to 1024, else in equal steps
//   matvec   dots with fewer rows than pay for a panel  grid of columns
//   dot      the rest with dots                         grid of column panels (192 to 768 wide) and row blocks; k whole
//                                                       up to 2048, else equal steps
// Where that gives fewer grid points than there are units, and the roofline says that it pays, the streamed or reduced
// axis is split into parts: one query over many keys, one row of a long softmax.
//
// Numbers are those measured for GEMM and attention on Zen 4. Every kernel gets a feasible schedule.
#pragma once

#include <optional>

#include "base/diagnostic.h"
#include "tile/machine.h"
#include "tile/program.h"
#include "tile/schedule.h"

namespace quern::fuse {

enum class KernelClass : uint8_t { map, row, stream, matvec, dot };
KernelClass classify(const tile::Program& program, const tile::Kernel& kernel, const tile::Machine& machine);

tile::Schedule default_schedule(const tile::Program& lowered, const tile::Machine& machine);

// Why the schedule can't be used for the program, as a remark (R4); nothing if it can.
std::optional<Diagnostic> feasible(const tile::Program& lowered, const tile::Schedule& schedule,
                                   const tile::Machine& machine);

// The plan with what a kernel can't do without: where data end the range of an axis, the axes that say where come one
// index at a time, or the range is walked.
tile::KernelPlan completed(const tile::Program& program, const tile::Kernel& kernel, const tile::KernelPlan& plan,
                           const tile::Machine& machine);

// Those walks of a plan that can be used for the kernel: what a part of a split kernel takes from the plan for all of
// it.
tile::KernelPlan fitting(const tile::Program& program, const tile::Kernel& kernel, const tile::KernelPlan& plan);

}  // namespace quern::fuse
