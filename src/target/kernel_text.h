// What a target makes of one kernel: LLVM IR as text.
#pragma once

#include <cstdint>
#include <string>

namespace quern::target {

struct KernelText {
  std::string entry;  // "k0"
  std::string ir;
  // Of kernels for GPUs: the functions of sizes, for the processor that launches it, and the bytes of shared memory
  // that a block gets at launch (0: near memory is elsewhere).
  std::string host;
  int64_t shared_bytes = 0;
};

}  // namespace quern::target
