// The loops for vectors of V::kLanes numbers; included by a file for each level. Two vectors of rows by V::kColumns.
#pragma once

#include "blas/kernel.h"

namespace quern::blas {
namespace {

template <class V>
void add(int64_t steps, const typename V::Number* a, const typename V::Number* b, typename V::Number* tile,
         int64_t ld) {
  typename V::Vector sums[V::kColumns][2];
  for (int j = 0; j < V::kColumns; ++j) {
    for (int h = 0; h < 2; ++h) sums[j][h] = V::load(tile + j * ld + h * V::kLanes);
  }
  for (int64_t s = 0; s < steps; ++s, a += 2 * V::kLanes, b += V::kColumns) {
    typename V::Vector low = V::load(a), high = V::load(a + V::kLanes);
    for (int j = 0; j < V::kColumns; ++j) {
      typename V::Vector y = V::repeat(b[j]);
      sums[j][0] = V::fused(low, y, sums[j][0]);
      sums[j][1] = V::fused(high, y, sums[j][1]);
    }
  }
  for (int j = 0; j < V::kColumns; ++j) {
    for (int h = 0; h < 2; ++h) V::store(tile + j * ld + h * V::kLanes, sums[j][h]);
  }
}

template <class V>
constexpr Kernel<typename V::Number> kKernel = {2 * V::kLanes, V::kColumns, &add<V>};

}  // namespace
}  // namespace quern::blas
