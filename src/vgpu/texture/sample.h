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

// A lane's operands, out of the call.
struct SampleAt {
  float x[3] = {};
  int32_t index[3] = {};  // the coordinates where the form says that they are integers
  uint32_t layer = 0;
  float level[6] = {};
  int64_t offset[3] = {};
};

Sampled sample(const Texture& texture, const Sampler& sampler, const TextureForm& form, const SampleAt& at,
               const TexelAccess& access);

}  // namespace quern::vgpu
