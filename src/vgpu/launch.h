// Running one kernel: its grid, its arguments, how it is checked; and what came of it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chip/chip.h"
#include "jit/cpu_target.h"
#include "vgpu/fault.h"
#include "vgpu/program.h"
#include "vgpu/texture/texture.h"

namespace quern::vgpu {

class Queries;

using Extent = std::array<uint32_t, 3>;  // x, y, z

struct Checks {
  bool memory = true;  // bounds, alignment, read-only memory, use after free; where off, a kernel still can't leave the
                       // range of device addresses
  bool init = true;    // reads of what nothing wrote; needs `memory`
  bool shared_init =
      false;  // those of shared memory too: widely used sorts and scans read elements there that they drop
  bool operator==(const Checks&) const = default;
};

// Levels of kernels below the one that the host launched (CUDA C++ programming guide, nesting depth).
inline constexpr int kDeepestChild = 24;

// What a chip's row and the caller allow. Zero: as the chip has it.
struct Limits {
  int32_t threads_per_block = 1024;
  Extent block = {1024, 1024, 64};
  Extent grid = {2147483647, 65535, 65535};
  int64_t shared_bytes = 232448;    // a block, static and dynamic
  int64_t local_bytes = 512 << 10;  // a thread
  int64_t stack_bytes = 1024;       // a thread: cudaLimitStackSize
  int64_t printf_bytes = 1 << 20;
  int64_t heap_bytes = 8 << 20;
  int32_t multiprocessors = 108;
  int32_t clock_khz = 1410000;
  int32_t blocks_per_multiprocessor = 32;
  int32_t compute_capability = 80;
  int64_t pending_launches = 2048;  // by kernels: cudaLimitDevRuntimePendingLaunchCount
  int32_t sync_depth = 2;           // of grids that wait for their children: cudaLimitDevRuntimeSyncDepth
};

// As the chip's row has them.
Limits limits_of(const chip::Chip& chip);

struct Launch {
  Extent grid = {1, 1, 1};
  Extent block = {1, 1, 1};
  Extent cluster = {1, 1, 1};
  int64_t shared_bytes = 0;  // dynamic
  std::vector<std::byte>
      arguments;  // the parameter bank: each at the offset that its alignment gives (parameter_layout)
  bool cooperative = false;
};

// The processor that code is made for. Masks of lanes are kept in registers for them where there are such, and else as
// vectors of 32-bit lanes; either form is right on any.
struct Machine {
  jit::CpuTarget cpu;
  bool lane_masks = true;
};
Machine this_machine();

struct Settings {
  Checks checks;
  Limits limits;
  uint64_t order = 0;                             // 0: blocks and warps in order; others: a permutation of them
  int threads = 0;                                // of this machine; 0: all
  double timeout_s = 0;                           // 0: none
  const std::atomic<bool>* stop = nullptr;        // set from outside, as by Ctrl-C
  std::function<void(std::string_view)> printed;  // what vprintf writes; null: standard output
  bool count = false;                             // count warp instructions: Ran::warp_instructions
  std::string cache_folder;                       // of compiled code; empty: none
  std::shared_ptr<const TextureTable> textures;   // what handles lead to; null: there are none
  std::optional<Machine> machine;                 // other than this one; it must run here
  const Queries* queries = nullptr;               // what kernels may ask of the device; null: nothing
  std::function<void()> stands;  // called, again and again, while blocks only wait for what none of them writes
};

struct Ran {
  std::optional<Fault> fault;     // the first of the run; the grid was not finished
  int64_t warp_instructions = 0;  // 0 unless counted; of what the kernel launched too
  double compile_s = 0, run_s = 0;
};

// Where each argument lies in the bank, and the bytes of it, as PTX's parameters are laid out.
struct ParameterLayout {
  std::vector<int64_t> offsets, sizes;
  int64_t bytes = 0;
};
ParameterLayout parameter_layout(const ptx::Function& kernel);

// Static shared memory of a kernel in bytes: of the variables that it names.
int64_t static_shared_bytes(const ptx::Module& module, const ptx::Function& kernel);
// What forbids a launch of a kernel that has so much static shared memory (E960).
std::optional<Diagnostic> beyond_limits(const ptx::Function& kernel, const Launch& launch, const Limits& limits,
                                        int64_t static_shared);

// Has the code that a launch needs made, so that running it won't take that time. Errors as of run().
Result<void> make_ready(Program& program, std::string_view kernel, const Launch& launch, const Settings& settings);

// Blocks until the grid is done, and all that kernels launch because of it. Errors are what forbids a launch at all:
// limits passed (E960), an instruction without an implementation (N920), a wrong size of arguments (E961).
Result<Ran> run(Program& program, std::string_view kernel, const Launch& launch, const Settings& settings);

}  // namespace quern::vgpu
