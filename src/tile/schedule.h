// How a program is to be run, beside the program: sizes and walks, as plain data that prints and parses, one line a
// kernel:   attention: b 1 grid, h 1 grid, m 48 grid, n 1024 loop; parts 1
// A schedule changes no result beyond its bound. The default rule makes one (fuse/schedule_rule.h); `--schedule` and
// the tuner give others.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/symbol.h"

namespace quern::tile {

enum class WalkKind : uint8_t { kGrid, kLoop, kWhole };

struct AxisPlan {
  Symbol axis;
  int64_t tile = 0;  // 0: the whole range
  WalkKind walk = WalkKind::kWhole;
};

struct KernelPlan {
  Symbol kernel;
  std::vector<AxisPlan> axes;  // in nesting order
  int64_t parts = 1;           // of a split of the streamed axis
};

struct Schedule {
  std::vector<KernelPlan> kernels;
};

std::string print(const Schedule& schedule);
Result<Schedule> parse_schedule(std::string_view text);

}  // namespace quern::tile
