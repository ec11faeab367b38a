// The innermost loops: a tile of C that stays in registers. `a` has for each step `rows` numbers, `b` has `columns` of
// them; their products are added to the tile, step by step.
#pragma once

#include <cstdint>

#include "jit/cpu_target.h"

namespace quern::blas {

template <class W>
struct Kernel {
  int64_t rows = 0, columns = 0;
  void (*add)(int64_t steps, const W* a, const W* b, W* tile, int64_t ld) = nullptr;
};

struct Kernels {
  Kernel<float> f32;
  Kernel<double> f64;
  Kernel<uint32_t> u32;
};

// For a level of this processor.
const Kernels& kernels(jit::VectorLevel level);
const Kernels& kernels_avx2();
const Kernels& kernels_avx512();

}  // namespace quern::blas
