// Products of f64, rounded to nearest, for vectors of V::kLanes doubles: the scheme of steps.h, where a register of C
// is eight rows of four columns as well. Included by a file for each level.
#pragma once

#include <cstdint>

#include "vgpu/matrix/matrix.h"

namespace quern::vgpu {
namespace {

// C += A * B of eight rows, eight columns and four steps: registers of A and B, two of C as vectors, even columns
// first.
template <class V>
[[gnu::always_inline]] inline void add_doubles(const double* a, const double* b,
                                               typename V::Vector (&sum)[2][32 / V::kLanes]) {
  alignas(64) double steps[4][8];  // a row of B: columns 0 2 4 6, 1 3 5 7
  V::turn(b, steps);
  constexpr int kSome = 4;  // vectors at a time: with even and odd columns, eight sums
  for (int first = 0; first < 32 / V::kLanes; first += kSome) {
    typename V::Vector rows[kSome];
    for (int i = 0; i < kSome; ++i) rows[i] = V::load(a + (first + i) * V::kLanes);
    auto step = [&]<int kStep>() {
      typename V::Vector even = V::repeat(steps[kStep]), odd = V::repeat(steps[kStep] + 4);
      for (int i = 0; i < kSome; ++i) {
        typename V::Vector x = V::template spread<kStep>(rows[i]);
        sum[0][first + i] = V::multiply_add(x, even, sum[0][first + i]);
        sum[1][first + i] = V::multiply_add(x, odd, sum[1][first + i]);
      }
    };
    step.template operator()<0>();
    step.template operator()<1>();
    step.template operator()<2>();
    step.template operator()<3>();
  }
}

template <class V, class Body>
[[gnu::always_inline]] inline void each_sum(typename V::Vector (&sum)[2][32 / V::kLanes], double* even, double* odd,
                                            Body body) {
  for (int i = 0; i < 32 / V::kLanes; ++i) body(sum[0][i], even + i * V::kLanes), body(sum[1][i], odd + i * V::kLanes);
}

template <class V>
void other_doubles(MatrixRegisters& t) {
  auto *a = reinterpret_cast<double*>(t.ra), *b = reinterpret_cast<double*>(t.rb), *c = reinterpret_cast<double*>(t.rc);
  for (int eight = 0; eight < t.m / 8; ++eight) {
    typename V::Vector sum[2][32 / V::kLanes];
    double *even = c + eight * 64, *odd = even + 32;
    each_sum<V>(sum, even, odd, [](auto& v, double* p) { v = V::load(p); });
    for (int four = 0; four < t.k / 4; ++four) add_doubles<V>(a + (eight + t.m / 8 * four) * 32, b + four * 32, sum);
    each_sum<V>(sum, even, odd, [](auto& v, double* p) { V::store(p, v); });
  }
}

template <class V>
void doubles(const MatrixCall* calls, uint8_t* base, int32_t count) {
  const MatrixShape& t = calls->shape;
  if (t.m != 8 || t.k != 4) return gathered<other_doubles<V>>(calls, base, count);
  auto reg = [&](int32_t offset) { return reinterpret_cast<double*>(base + offset); };
  for (const MatrixCall* call = calls; call < calls + count; ++call) {
    typename V::Vector sum[2][32 / V::kLanes];  // all is read before any of D is written, which may lie anywhere
    each_sum<V>(sum, reg(call->c[0]), reg(call->c[1]), [](auto& v, double* p) { v = V::load(p); });
    add_doubles<V>(reg(call->a[0]), reg(call->b[0]), sum);
    each_sum<V>(sum, reg(call->d[0]), reg(call->d[1]), [](auto& v, double* p) { V::store(p, v); });
  }
}

}  // namespace
}  // namespace quern::vgpu
