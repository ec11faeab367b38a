// The files that are compiled for more than the least processor give their tables by these.
#pragma once

#include "vgpu/matrix/matrix.h"

namespace quern::vgpu {

// Brings the registers together, multiplies, and puts the result where it belongs.
template <void (*Product)(MatrixRegisters&)>
void gathered_one(const MatrixCall* call, uint8_t* base) {
  MatrixRegisters t;
  static_cast<MatrixShape&>(t) = call->shape;
  int times = t.quads ? 4 : 1;
  auto all = [&](const int32_t* offsets, int elements, Element e, uint32_t* registers, bool back) {
    auto words = static_cast<unsigned long>(bits_of(e) > 32 ? 64 : 32);
    for (int r = 0; r < registers_of(times * elements, e); ++r) {
      uint32_t* here = registers + static_cast<unsigned long>(r) * words;
      uint8_t* there = base + offsets[r];
      back ? __builtin_memcpy(there, here, words * 4) : __builtin_memcpy(here, there, words * 4);
    }
  };
  all(call->a, t.m * t.k, t.a, t.ra, false);
  all(call->b, t.k * t.n, t.b, t.rb, false);
  all(call->c, t.m * t.n, t.c, t.rc, false);
  Product(t);
  all(call->d, t.m * t.n, t.d, t.rc, true);
}

template <void (*Product)(MatrixRegisters&)>
void gathered(const MatrixCall* calls, uint8_t* base, int32_t count) {
  for (const MatrixCall* call = calls; call < calls + count; ++call) gathered_one<Product>(call, base);
}

const Multiply* multipliers_avx2();
const Multiply* multipliers_avx512();
void multiply_any(const MatrixCall* calls, uint8_t* base, int32_t count);  // the plain way
const float* narrow_reals(Element e);  // all numbers of e4m3 or e5m2, by their codes

}  // namespace quern::vgpu
