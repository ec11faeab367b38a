// Textures and surfaces of cases.
#pragma once

#include <vector>

#include "case.h"
#include "vgpu/memory.h"
#include "vgpu/texture/texture.h"

namespace quern::test {

// After the format (`f32`, `u8x4`) comes the size, `4`, `4x2` or `4x2x3`, then any of: `layered` (the last size counts
// layers), `cube` (so it does, of faces), `memory` (linear), `linear` (the filter), `normalized`, `real` (integers as
// such), `srgb`, `seamless`, `wrap` `clamp` `mirror` `border` (a word for each direction, the last one for the rest),
// `border=1/2/3/4`, `levels=2`, `mip` (a linear filter between levels), `least=0.5`, `most=1`, `bias=1`, `freed`.
// Elements lie without gaps. False if that isn't understood.
bool make_object(const Array& array, const std::vector<uint8_t>& bytes, vgpu::Memory& memory, vgpu::Texture& out);

}  // namespace quern::test
