// What `quern exec` tells the runtime that it puts into a program: environment variables.
//
//   QUERN_CHIP      a row of the table of GPUs; h100 by default
//   QUERN_DEVICES   how many of them, 1 by default
//   QUERN_CHECK     a comma-separated list: none (no memory checks), no-init (uninitialised reads are no fault),
//                   shared-init (of shared memory they are, too), continue (a fault becomes an error that CUDA's
//                   functions return, and the program goes on)
//   QUERN_ORDER     seed of the order of blocks and warps; 0, the default, is ascending
//   QUERN_THREADS   of this machine; all by default
//   QUERN_TIMEOUT   seconds that one kernel may take; none by default
//   QUERN_JSON      1: reports are a line of JSON on standard error
//   CUDA_LAUNCH_BLOCKING  1: launches and copies have been done when the call returns
//   QUERN_CACHE     folder of compiled code, as for other commands (artifact/cache.h)
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "chip/chip.h"
#include "vgpu/launch.h"

namespace quern::cuda {

struct Config {
  const chip::Chip* chip = nullptr;
  int devices = 1;
  vgpu::Checks checks;
  bool go_on = false;
  bool blocking = false;  // launches wait: CUDA_LAUNCH_BLOCKING=1
  uint64_t order = 0;
  int threads = 0;
  double timeout_s = 0;
  bool json = false;
  std::string cache_folder;
};

inline constexpr const char* kDefaultChip = "h100";
inline constexpr int kMaxDevices = 64;

// E975 for a chip that has no row, E740 for values that can't be understood.
Result<Config> config_from_environment();

// "none,no-init,continue" into `config`; E740.
Result<void> parse_checks(const std::string& text, Config& config);

using chip::find_gpu;

using vgpu::limits_of;

}  // namespace quern::cuda
