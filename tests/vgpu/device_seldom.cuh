// What functions.def names as instructions that compilers write seldom.
#pragma once

#include "device.cuh"

namespace quern::oracle {

ASM3(mad_lo, s16, s16, s16, s16, "h", "h", "h", "h", "mad.lo.s16")
ASM3(mad_wide, u32, u16, u16, u32, "r", "h", "h", "r", "mad.wide.u16")
ASM2(mul24_hi, u32, u32, u32, "r", "r", "r", "mul24.hi.u32")
ASM3(mad_hi, s64, s64, s64, s64, "l", "l", "l", "l", "mad.hi.s64")
ASM3(sad, u64, s64, s64, u64, "l", "l", "l", "l", "sad.s64")
ASM3(sad, u16, u16, u16, u16, "h", "h", "h", "h", "sad.u16")
ASM1(negated, s16, s16, "h", "h", "neg.s16")
ASM1(cnot, u64, u64, "l", "l", "cnot.b64")
DEVICE u64 madc(u64 a, u64 b, u64 c) {
  u64 l, h;
  asm("mad.lo.cc.u64 %0, %2, %3, %4; madc.hi.u64 %1, %2, %3, %4;" : "=l"(l), "=l"(h) : "l"(a), "l"(b), "l"(c));
  return l ^ h * 3;
}
DEVICE u32 chain(u32 a, u32 b, u32 c) {
  u32 r0, r1, r2, r3;
  asm("sub.cc.s32 %0, %4, %5; subc.cc.s32 %1, %5, %6; subc.s32 %2, %6, %4; mad.hi.cc.u32 %3, %4, %5, %6; addc.u32 %3, "
      "%3, 0;"
      : "=r"(r0), "=r"(r1), "=r"(r2), "=&r"(r3)
      : "r"(a), "r"(b), "r"(c));
  return r0 ^ r1 * 3 ^ r2 * 5 ^ r3 * 7;
}
ASM2(add_u16x2, u32, u32, u32, "r", "r", "r", "add.u16x2")
ASM2(min_s16x2, u32, u32, u32, "r", "r", "r", "min.s16x2")
ASM2(max_relu, s32, s32, s32, "r", "r", "r", "max.relu.s32")
ASM3(dp2a_mixed, s32, u32, s32, s32, "r", "r", "r", "r", "dp2a.hi.u32.s32")
DEVICE u32 vset4(u32 a, u32 b) { return __vcmpgts4(a, b) ^ __vcmpleu2(a, b) * 3; }
ASM3(vavrg2_add, u32, u32, u32, u32, "r", "r", "r", "r", "vavrg2.u32.u32.u32.add")
ASM3(vabsdiff, u32, s32, s32, u32, "r", "r", "r", "r", "vabsdiff.u32.s32.s32.sat.min")
DEVICE u32 vmad_u8(u32 a, u32 b, u32 c) {
  u32 d;
  asm("vmad.u32.u32.u32.sat.shr15 %0, %1.b3, %2.h0, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}
DEVICE u32 compare_and(s32 a, f64 b, u32 c) {
  u32 d;
  asm("{.reg .pred p, q, r; setp.gt.s32 r, %1, 5; setp.geu.and.f64 p|q, %2, 0d3ff8000000000000, r; selp.u32 %0, %3, 9, "
      "p;"
      " @q add.u32 %0, %0, 100;}"
      : "=&r"(d)
      : "r"(a), "d"(b), "r"(c));
  return d;
}
DEVICE u32 compare_xor(f16 a, f16 b, u32 c) {
  u32 d;
  asm("{.reg .pred p, r; setp.lo.u32 r, %3, 77; setp.num.xor.f16 p, %1, %2, r; selp.u32 %0, 1, 2, p;}"
      : "=r"(d)
      : "h"(a.bits), "h"(b.bits), "r"(c));
  return d;
}
ASM2(set_f32, f32, f64, f64, "f", "d", "d", "set.gtu.f32.f64")
ASM2(set_u32, u32, f32, f32, "r", "f", "f", "set.le.ftz.u32.f32")
#define PAIR1(name, T, text)                           \
  DEVICE T name(T a) {                                 \
    T d;                                               \
    asm(text " %0, %1;" : "=r"(d.bits) : "r"(a.bits)); \
    return d;                                          \
  }
#define CODES2(name, T, x, text)                                     \
  DEVICE T name(T a, T b) {                                          \
    T d;                                                             \
    asm(text " %0, %1, %2;" : "=" x(d.bits) : x(a.bits), x(b.bits)); \
    return d;                                                        \
  }
#define CODES3(name, T, x, text)                                                    \
  DEVICE T name(T a, T b, T c) {                                                    \
    T d;                                                                            \
    asm(text " %0, %1, %2, %3;" : "=" x(d.bits) : x(a.bits), x(b.bits), x(c.bits)); \
    return d;                                                                       \
  }
CODES2(set_equal, f16x2, "r", "set.equ.f16x2.f16x2")
CODES2(set_less, bf16x2, "r", "set.lt.bf16x2.bf16x2")
CODES2(subtract_flushed, f16, "h", "sub.ftz.f16")
CODES3(multiply_add_flushed, f16x2, "r", "fma.rn.ftz.f16x2")
CODES2(multiply_saturated, f16x2, "r", "mul.sat.f16x2")
CODES3(multiply_add_relu, bf16x2, "r", "fma.rn.relu.bf16x2")
CODES2(minimum_xorsign, f16, "h", "min.xorsign.abs.f16")
CODES2(minimum_nan, bf16x2, "r", "min.NaN.bf16x2")
PAIR1(negated, f16x2, "neg.f16x2")
PAIR1(absolute, bf16x2, "abs.bf16x2")
ASM3(multiply_add_flushed_up, f32, f32, f32, f32, "f", "f", "f", "f", "fma.rp.ftz.f32")
ASM2(subtract_flushed_saturated_to_zero, f32, f32, f32, "f", "f", "f", "sub.rz.ftz.sat.f32")
ASM2(divide_flushed, f32, f32, f32, "f", "f", "f", "div.rn.ftz.f32")
ASM1(square_root_flushed_down, f32, f32, "f", "f", "sqrt.rm.ftz.f32")
ASM2(maximum_flushed, f32, f32, f32, "f", "f", "f", "max.ftz.f32")
ASM1(to_s32_flushed, s32, f32, "r", "f", "cvt.rpi.ftz.s32.f32")
ASM1(saturated, f32, f32, "f", "f", "cvt.sat.f32.f32")
ASM1(narrow_saturated_flushed, f32, f64, "f", "d", "cvt.rz.ftz.sat.f32.f64")
ASM1(whole_saturated, f64, f64, "d", "d", "cvt.rni.sat.f64.f64")
DEVICE f16 whole_up(f16 a) {
  f16 d;
  asm("cvt.rpi.f16.f16 %0, %1;" : "=h"(d.bits) : "h"(a.bits));
  return d;
}
ASM1(to_u8_saturated, u32, f32, "r", "f", "cvt.rni.sat.u8.f32")
DEVICE f16 to_f16_saturated(f32 a) {
  f16 d;
  asm("cvt.rn.sat.f16.f32 %0, %1;" : "=h"(d.bits) : "f"(a));
  return d;
}
DEVICE f16x2 to_f16x2_relu(f32 a, f32 b) {
  f16x2 d;
  asm("cvt.rn.relu.f16x2.f32 %0, %2, %1;" : "=r"(d.bits) : "f"(a), "f"(b));
  return d;
}
DEVICE bf16x2 to_bf16x2_relu_to_zero(f32 a, f32 b) {
  bf16x2 d;
  asm("cvt.rz.relu.bf16x2.f32 %0, %2, %1;" : "=r"(d.bits) : "f"(a), "f"(b));
  return d;
}
DEVICE u16 to_e4m3x2_relu(f32 a, f32 b) {
  u16 d;
  asm("cvt.rn.satfinite.relu.e4m3x2.f32 %0, %2, %1;" : "=h"(d) : "f"(a), "f"(b));
  return d;
}
DEVICE u16 to_e5m2x2_relu(f16x2 a) {
  u16 d;
  asm("cvt.rn.satfinite.relu.e5m2x2.f16x2 %0, %1;" : "=h"(d) : "r"(a.bits));
  return d;
}
DEVICE bf16 to_bf16(f16 a) {
  bf16 d;
  asm("cvt.rn.bf16.f16 %0, %1;" : "=h"(d.bits) : "h"(a.bits));
  return d;
}
DEVICE u32 class_of(f32 a) {
  u32 r, s;
  asm("{.reg .pred p; testp.subnormal.f32 p, %1; selp.u32 %0, 32, 0, p;}" : "=r"(r) : "f"(a));
  asm("{.reg .pred p; testp.normal.f32 p, %1; selp.u32 %0, 16, 0, p;}" : "=r"(s) : "f"(a));
  return r | s;
}

}  // namespace quern::oracle
