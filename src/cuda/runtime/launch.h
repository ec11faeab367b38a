// Launches of kernels: what CUDA forbids of one, the arguments' bytes, and running it.
#pragma once

#include "cuda/runtime/operation.h"
#include "cuda/runtime/process.h"

namespace quern::cuda {

struct LaunchRequest {
  const void* function = nullptr;  // host function or handle
  Dim3 grid, block;
  std::array<uint32_t, 3> cluster = {1, 1, 1};
  size_t shared_bytes = 0;
  bool cooperative = false;
  void** arguments = nullptr;    // one pointer for each parameter
  const void* packed = nullptr;  // or all of them as one piece of memory
  size_t packed_bytes = 0;
};

// Arguments as the driver's `extra` gives them: pairs of a key and a pointer. kInvalidValue.
Error read_extra(void** extra, LaunchRequest& out);

// The program that a kernel is in, on a device. Where it can't be had, what its image says: the program ends if `must`,
// else kNoKernelImageForDevice or kInvalidPtx.
Error load(Kernel& kernel, int device, bool must, std::shared_ptr<vgpu::Program>& out);

// A call that can be run, now or by a graph, on this device. kInvalidDeviceFunction, kInvalidConfiguration,
// kInvalidValue, kCooperativeLaunchTooLarge, kInvalidClusterSize.
Error prepare(const LaunchRequest& request, int device, KernelCall& out);

// Has the code for it made: a launch waits for the compiler, not a stream.
Error make_ready(const KernelCall& call, int device);

// Prepares and submits.
Error launch(const LaunchRequest& request, Stream* stream);

}  // namespace quern::cuda
