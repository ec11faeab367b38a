// What runs CUDA code on this machine offers to the front half: one kernel on arrays. Like the compiler it lives in a
// shared library of its own (backend/open_gpu.h); whole programs are run by starting them with that library in place of
// NVIDIA's, so nothing of them is here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace quern::backend {

struct GpuSettings {
  std::string chip;    // a row of the table of GPUs; empty: the default one
  std::string checks;  // as --check has it
  uint64_t order = 0;
  int threads = 0;
  double timeout_s = 0;
};

struct KernelArgument {
  std::string text;           // a number, as it was written; else:
  std::byte* data = nullptr;  // an array's bytes, which the kernel gets the address of
  int64_t bytes = 0;
  bool written = false;  // what the kernel leaves there comes back to `data`
  std::string name;      // for messages, and of the allocation in reports
};

struct KernelRun {
  std::string_view ptx;
  std::string file;    // what messages call the text
  std::string kernel;  // as PTX names it, or as C++ does without its parameters
  uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  int64_t shared_bytes = 0;
  std::vector<KernelArgument> arguments;
};

struct KernelOutcome {
  std::string fault;  // as text, rendered; empty: none
  std::string fault_json;
  double compile_s = 0, run_s = 0;
};

struct VirtualGpu {
  const char* version;  // of the library; must be that of who opens it
  // Errors: of the PTX, of the launch, E962 for a kernel that isn't there, E976 for arguments that aren't the kernel's.
  Result<KernelOutcome> (*run)(const KernelRun& run, const GpuSettings& settings);
};

// What the library exports, as "quern_virtual_gpu".
using GpuEntry = const VirtualGpu* (*)();

}  // namespace quern::backend
