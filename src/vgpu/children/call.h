// A warp's call of a function of the device runtime (function.def).
#pragma once

#include "vgpu/grid.h"

namespace quern::vgpu {

struct DeviceCalls {
  // Of all lanes, one after the other. Nonzero ends the warp.
  static int32_t enter(WarpRun& run, int32_t site, uint32_t lanes, CallFrame& frame);
};

}  // namespace quern::vgpu
