// suld, sust and sured for one lane (PTX ISA 9.0, section 9.7.11): by bytes of a row, or by elements.
#pragma once

#include <cstdint>
#include <optional>

#include "vgpu/texture/access.h"
#include "vgpu/texture/call.h"
#include "vgpu/texture/texture.h"

namespace quern::vgpu {

struct SurfaceAt {
  int64_t x = 0, y = 0, z = 0;  // z: or the layer
};

enum class SurfaceFault : uint8_t { kNone, kOutside, kMisaligned, kMemory };

// Where an access goes: nowhere, if it is outside and .zero.
struct SurfacePlace {
  std::optional<uint64_t> address;
  int32_t bytes = 0;
  SurfaceFault fault = SurfaceFault::kNone;
};
SurfacePlace place_on_surface(const Texture& surface, const TextureForm& form, SurfaceAt at, const TexelAccess& access);

// At a place that has an address. `value` has an element of the access in each of its words.
void load_surface(const TextureForm& form, uint64_t address, uint64_t value[4]);
void store_surface(const Texture& surface, const TextureForm& form, uint64_t address, const uint64_t value[4]);
void reduce_surface(const Texture& surface, const TextureForm& form, uint64_t address, uint64_t value);

// txq and suq; `level` is of txq.level.
uint32_t query_texture(const Texture& texture, const Sampler& sampler, TextureQuery query, int32_t level);

}  // namespace quern::vgpu
