// The one place where bytes of textures and surfaces are touched: every address is held against the device's range and
// the shadow first, as emitted loads and stores do it.
#pragma once

#include <cstdint>

#include "vgpu/launch.h"
#include "vgpu/memory.h"

namespace quern::vgpu {

class TexelAccess {
 public:
  TexelAccess(const AddressSpace& space, const Checks& checks) : space_(space), checks_(checks) {}

  // `address` is a multiple of `bytes`, which is 1, 2, 4, 8 or 16.
  bool may_read(uint64_t address, int32_t bytes) const {
    if (!inside(address)) return false;
    if (!checks_.memory) return true;
    return all_set(address, bytes, [&](uint32_t s) { return checks_.init ? s : s | s >> 4; });
  }
  // Asked even where checks are off: pages that nobody has can't be written.
  bool may_write(uint64_t address, int32_t bytes) const {
    return inside(address) && all_set(address, bytes, [](uint32_t s) { return s >> 4; });
  }
  void mark_written(uint64_t address, int32_t bytes) const;

 private:
  bool inside(uint64_t address) const { return address - space_.first < space_.bytes; }
  uint8_t* shadow(uint64_t address) const { return reinterpret_cast<uint8_t*>((address >> 2) + space_.shadow_bias); }
  template <class F>
  bool all_set(uint64_t address, int32_t bytes, F nibble) const {
    const uint8_t* s = shadow(address);
    if (bytes < 4) {
      uint32_t need = (1u << bytes) - 1;
      return (nibble(*s) >> (address & 3) & need) == need;
    }
    uint32_t all = 0xf;
    for (int32_t i = 0; i < bytes / 4; ++i) all &= nibble(s[i]);
    return (all & 0xf) == 0xf;
  }

  AddressSpace space_;
  Checks checks_;
};

}  // namespace quern::vgpu
