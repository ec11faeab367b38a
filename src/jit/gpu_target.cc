#include "jit/gpu_target.h"

#include <fmt/format.h>

namespace quern::jit {

std::string key(const GpuTarget& t) {
  return fmt::format("{} {} {} {} {} {}", t.cpu, t.features, t.shared_block_bytes, t.multiprocessors, t.clock,
                     t.bandwidth);
}

}  // namespace quern::jit
