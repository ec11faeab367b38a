#include "blas/kernel.h"

#include "blas/work.h"

namespace quern::blas {
namespace {

constexpr int64_t kRows = 8, kColumns = 4;

template <class W>
void add(int64_t steps, const W* a, const W* b, W* tile, int64_t ld) {
  for (int64_t s = 0; s < steps; ++s, a += kRows, b += kColumns) {
    for (int64_t j = 0; j < kColumns; ++j) {
      for (int64_t i = 0; i < kRows; ++i) tile[i + j * ld] = fused(a[i], b[j], tile[i + j * ld]);
    }
  }
}

constexpr Kernels kPlain = {
    {kRows, kColumns, &add<float>}, {kRows, kColumns, &add<double>}, {kRows, kColumns, &add<uint32_t>}};

}  // namespace

const Kernels& kernels([[maybe_unused]] jit::VectorLevel level) {
#ifdef __x86_64__
  if (level == jit::VectorLevel::kAvx512) return kernels_avx512();
  if (level == jit::VectorLevel::kAvx2) return kernels_avx2();
#endif
  return kPlain;
}

}  // namespace quern::blas
