#include "vgpu/texture/access.h"

#include <atomic>

namespace quern::vgpu {

void TexelAccess::mark_written(uint64_t address, int32_t bytes) const {
  if (!checks_.memory || !checks_.init) return;
  auto mark = [&](uint64_t at, uint8_t bits) {
    std::atomic_ref<uint8_t> word(*shadow(at));
    // Other blocks may be writing other bytes of the word.
    if ((word.load(std::memory_order_relaxed) & bits) != bits) word.fetch_or(bits, std::memory_order_relaxed);
  };
  if (bytes < 4) return mark(address, static_cast<uint8_t>(((1u << bytes) - 1) << (address & 3)));
  for (int32_t i = 0; i < bytes; i += 4) mark(address + static_cast<uint64_t>(i), kHasValue);
}

}  // namespace quern::vgpu
