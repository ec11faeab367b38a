// What instructions say of matrices: the table of the shapes that there are is the manual's (PTX ISA 9.7.14).
#pragma once

#include <optional>

#include "ptx/module.h"
#include "vgpu/matrix/fragment.h"
#include "vgpu/matrix/matrix.h"

namespace quern::vgpu {

std::optional<Element> element_of(ptx::Type type);

struct Extents {
  int m = 0, n = 0, k = 0;
};
// "m16n8k16"
Extents extents_of(const ptx::Instruction& in);

// What mma and wmma.mma multiply; nothing where there is no such product for chips up to sm_90.
std::optional<MatrixShape> matrix_shape(const ptx::Instruction& in);
// What wmma.load and wmma.store move.
std::optional<FragmentShape> fragment_shape(const ptx::Instruction& in);

}  // namespace quern::vgpu
