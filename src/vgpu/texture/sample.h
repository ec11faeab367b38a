// tex and tld4 for one lane (PTX ISA 9.0, sections 9.7.10.3 and 9.7.10.4): what the CUDA C++ programming guide's
// appendix on texture fetching defines, with weights of eight fraction bits, summed in double and rounded once.
#pragma once

#include "vgpu/texture/access.h"
#include "vgpu/texture/call.h"
#include "vgpu/texture/texel.h"
#include "vgpu/texture/texture.h"

namespace quern::vgpu {

// A texel that may not be read; no bytes: none.
struct BadTexel {
  uint64_t address = 0;
  int32_t bytes = 0;
};

struct Sampled {
  Texel texel = {};
  BadTexel bad;
};

Sampled sample(const Texture& texture, const Sampler& sampler, const TextureCall& call, size_t lane,
               const TexelAccess& access);

}  // namespace quern::vgpu
