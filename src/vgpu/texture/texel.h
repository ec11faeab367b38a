// Elements of textures and surfaces, of any format, as what registers hold (PTX ISA 9.0, section 5.3; CUDA programming
// guide, texture memory).
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "vgpu/texture/texture.h"

namespace quern::vgpu {

using Texel = std::array<uint32_t, 4>;  // bits of r, g, b, a
using Colour = std::array<double, 4>;   // the same as numbers

// Whether it is read as floats, and not as integers.
inline bool reads_real(const TexelFormat& f, const Sampler& s) {
  return f.kind == ChannelKind::kFloat || (s.as_real && f.bits < 32);
}

// Channels that the format lacks are 0, a is 1.
Texel read_any_texel(const std::byte* from, const TexelFormat& format, const Sampler& sampler);
Colour read_any_colour(const std::byte* from, const TexelFormat& format, const Sampler& sampler);

// The same, at once where they are plain floats.
inline Texel read_texel(const std::byte* from, const TexelFormat& f, const Sampler& s) {
  if (f.kind != ChannelKind::kFloat || f.bits != 32) return read_any_texel(from, f, s);
  Texel out = {0, 0, 0, std::bit_cast<uint32_t>(1.0f)};
  if (f.channels == 1) {
    std::memcpy(&out, from, 4);
  } else {
    std::memcpy(&out, from, f.channels == 2 ? 8 : 16);
  }
  return out;
}
inline Colour read_colour(const std::byte* from, const TexelFormat& f, const Sampler& s) {
  if (f.kind != ChannelKind::kFloat || f.bits != 32) return read_any_colour(from, f, s);
  Texel bits = read_texel(from, f, s);
  Colour out;
  for (size_t c = 0; c < 4; ++c) out[c] = std::bit_cast<float>(bits[c]);
  return out;
}
// A formatted store: integers that don't fit become the nearest that does.
void write_texel(std::byte* to, const TexelFormat& format, const Texel& value);

uint16_t half_of(float value);  // rounded to nearest even

}  // namespace quern::vgpu
