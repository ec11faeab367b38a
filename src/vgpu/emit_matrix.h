// What the instructions of matrices name: types of elements, extents.
#pragma once

#include <optional>

#include "ptx/module.h"
#include "vgpu/matrix/matrix.h"

namespace quern::vgpu {

std::optional<Element> element_of(ptx::Type type);

struct Extents {
  int m = 0, n = 0, k = 0;
};
// "m16n8k16"
Extents extents_of(const ptx::Instruction& in);

}  // namespace quern::vgpu
