// Compiled functions over their grids, on the threads of this machine.
//
// A kernel's grid is one range of points, cut into chunks that threads take from a counter: points are independent and
// don't see the cut, so the bits are the same with any number of threads. Between kernels all threads wait.
#pragma once

#include <memory>
#include <vector>

#include "device/device.h"
#include "jit/kernel_abi.h"

namespace quern::device::cpu {

// The three functions of a compiled kernel.
struct Functions {
  jit::Kernel run = nullptr;
  jit::KernelSize points = nullptr;
  jit::KernelSize arena = nullptr;
};

// `functions` are those of the artifact's kernels, in order; `code` is what keeps them in memory (may be null).
std::shared_ptr<const Executable> executable(std::shared_ptr<const artifact::Artifact> artifact,
                                             std::vector<Functions> functions, std::shared_ptr<const void> code);

// Links the artifact's objects. B001 if it can't be, or lacks a function.
Result<std::shared_ptr<const Executable>> load(std::shared_ptr<const artifact::Artifact> artifact);

// Threads of a run that asks for 0: the processors that this process may use.
int default_threads();

}  // namespace quern::device::cpu
