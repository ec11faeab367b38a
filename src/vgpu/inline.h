// Calls of the module's own functions are put in place of the call: a warp is one function of the processor, and lanes
// that part in a callee meet again like any others. What can't be put in place is a recursive call and one through a
// pointer.
//
// Afterwards, .param variables that are only written and read whole are registers; those that remain (of calls that
// leave the kernel, such as vprintf) lie in local memory.
#pragma once

#include "base/result.h"
#include "ptx/module.h"

namespace quern::vgpu {

// N920 for a recursive call, or a body that grows past a limit.
Result<ptx::Function> inlined(const ptx::Module& module, const ptx::Function& kernel);

}  // namespace quern::vgpu
