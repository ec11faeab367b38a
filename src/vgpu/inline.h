// Calls of the module's own functions are put in place of the call: a warp is one function of the processor, and lanes
// that part in a callee meet again like any others. Functions that call themselves and those that are called through a
// pointer stand once, behind the kernel: see inliner.h.
//
// Afterwards, .param variables that are only written and read whole are registers; those that remain (of calls that
// leave the kernel, such as vprintf) lie in local memory.
#pragma once

#include "base/result.h"
#include "ptx/module.h"

namespace quern::vgpu {

// `stack_bytes`: of a thread, for functions that call themselves. N920 for a body that grows past a limit.
Result<ptx::Function> inlined(const ptx::Module& module, const ptx::Function& kernel, int64_t stack_bytes);

}  // namespace quern::vgpu
