// The GPU that code is made for: what target/nvptx asks before it emits, and what jit/ hands to LLVM. Sizes are those
// of the chip's row (chip/).
#pragma once

#include <cstdint>
#include <string>

namespace quern::jit {

struct GpuTarget {
  std::string cpu = "sm_80";  // LLVM's name
  std::string features = "+ptx80";
  int64_t shared_block_bytes = 163 << 10;  // of a block that asks for it
  int64_t multiprocessors = 108;
  double clock = 1.41e9;      // Hz
  double bandwidth = 1.5e12;  // bytes a second, of the device's memory
};

// All that code depends on, for keys of caches.
std::string key(const GpuTarget& target);

}  // namespace quern::jit
