// One kernel of a .ptx or .cu file on arrays and numbers.
#pragma once

#include "cli/gpu_settings.h"
#include "cli/report.h"

namespace quern::cli {

// line.arguments: the kernel, then its arguments in order. `file.npy` (or an archive's member) is an array whose
// address the kernel gets; with `inout:` before it what the kernel leaves there is written back to the file; anything
// else is a number. A fault of the kernel goes to the report, with exit code 1.
Result<void> exec_kernel(const CommandLine& line, const GpuOptions& options, Report& report);

}  // namespace quern::cli
