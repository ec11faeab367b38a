// The files that are compiled for more than the least processor give their tables by these.
#pragma once

#include "vgpu/matrix/matrix.h"

namespace quern::vgpu {

const Multiply* multipliers_avx2();
const Multiply* multipliers_avx512();
void multiply_any(MatrixCall* call);   // the plain way
const float* narrow_reals(Element e);  // all numbers of e4m3 or e5m2, by their codes

}  // namespace quern::vgpu
