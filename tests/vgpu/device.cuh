// What functions.def names, as instructions of the GPU: NVIDIA's intrinsics, or the instruction itself.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "types.h"

#define DEVICE static __device__ __forceinline__

namespace quern::oracle {

// Integers.
DEVICE u32 mul_hi(u32 a, u32 b) { return __umulhi(a, b); }
DEVICE s32 mul_hi(s32 a, s32 b) { return __mulhi(a, b); }
DEVICE u64 mul_hi(u64 a, u64 b) { return __umul64hi(a, b); }
DEVICE s64 mul_hi(s64 a, s64 b) { return __mul64hi(a, b); }
DEVICE s16 mul_hi(s16 a, s16 b) {
  s16 r;
  asm("mul.hi.s16 %0, %1, %2;" : "=h"(r) : "h"(a), "h"(b));
  return r;
}
DEVICE u32 mul24(u32 a, u32 b) { return __umul24(a, b); }
DEVICE s32 mul24(s32 a, s32 b) { return __mul24(a, b); }
DEVICE u32 clz(u32 a) { return __clz(static_cast<int>(a)); }
DEVICE u32 clz(u64 a) { return __clzll(static_cast<long long>(a)); }
DEVICE u32 popc(u32 a) { return __popc(a); }
DEVICE u32 popc(u64 a) { return __popcll(a); }
DEVICE u32 brev(u32 a) { return __brev(a); }
DEVICE u64 brev(u64 a) { return __brevll(a); }
DEVICE u32 ffs(u64 a) { return __ffsll(static_cast<long long>(a)); }
DEVICE u32 fns(u32 a, u32 b, s32 c) {
  u32 r;
  asm("fns.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  return r;
}
DEVICE u32 funnel_left(u32 a, u32 b, u32 c) { return __funnelshift_l(a, b, c); }
DEVICE u32 funnel_right(u32 a, u32 b, u32 c) { return __funnelshift_r(a, b, c); }
DEVICE u32 funnel_left_clamp(u32 a, u32 b, u32 c) { return __funnelshift_lc(a, b, c); }
DEVICE u32 funnel_right_clamp(u32 a, u32 b, u32 c) { return __funnelshift_rc(a, b, c); }
DEVICE u32 prmt(u32 a, u32 b, u32 c) { return __byte_perm(a, b, c); }
DEVICE s32 dp4a(s32 a, s32 b, s32 c) { return __dp4a(a, b, c); }
DEVICE u32 dp4a(u32 a, u32 b, u32 c) { return __dp4a(a, b, c); }
DEVICE s32 dp2a_lo(s32 a, s32 b, s32 c) { return __dp2a_lo(a, b, c); }
DEVICE u32 dp2a_hi(u32 a, u32 b, u32 c) { return __dp2a_hi(a, b, c); }
DEVICE u32 sad(s32 a, s32 b, u32 c) { return __sad(a, b, c); }
DEVICE u32 sad(u32 a, u32 b, u32 c) { return __usad(a, b, c); }
DEVICE s32 hadd(s32 a, s32 b) { return __hadd(a, b); }
DEVICE u32 rhadd(u32 a, u32 b) { return __urhadd(a, b); }

#define ASM1(name, R, A, r, x, text)        \
  DEVICE R name(A a) {                      \
    R d;                                    \
    asm(text " %0, %1;" : "=" r(d) : x(a)); \
    return d;                               \
  }
#define ASM2(name, R, A, B, r, x, y, text)            \
  DEVICE R name(A a, B b) {                           \
    R d;                                              \
    asm(text " %0, %1, %2;" : "=" r(d) : x(a), y(b)); \
    return d;                                         \
  }
#define ASM3(name, R, A, B, C, r, x, y, z, text)                \
  DEVICE R name(A a, B b, C c) {                                \
    R d;                                                        \
    asm(text " %0, %1, %2, %3;" : "=" r(d) : x(a), y(b), z(c)); \
    return d;                                                   \
  }
ASM3(mad_hi_sat, s32, s32, s32, s32, "r", "r", "r", "r", "mad.hi.sat.s32")
ASM3(mad24_hi, s32, s32, s32, s32, "r", "r", "r", "r", "mad24.hi.s32")
ASM2(add_sat, s32, s32, s32, "r", "r", "r", "add.sat.s32")
ASM2(sub_sat, s32, s32, s32, "r", "r", "r", "sub.sat.s32")
ASM1(absolute, u32, s32, "r", "r", "abs.s32")
ASM1(absolute, u64, s64, "l", "l", "abs.s64")
ASM1(bfind, u32, s32, "r", "r", "bfind.s32")
ASM1(bfind, u32, u64, "r", "l", "bfind.u64")
ASM1(bfind_shift, u32, s64, "r", "l", "bfind.shiftamt.s64")
ASM2(shl_any, u32, u32, u32, "r", "r", "r", "shl.b32")
ASM2(shr_any, s32, s32, u32, "r", "r", "r", "shr.s32")
ASM2(shl_any, u64, u64, u32, "l", "l", "r", "shl.b64")
ASM2(shr_any, s64, s64, u32, "l", "l", "r", "shr.s64")
ASM2(shr_any, s16, s16, u32, "h", "h", "r", "shr.s16")
ASM3(bfe, u32, u32, u32, u32, "r", "r", "r", "r", "bfe.u32")
ASM3(bfe, s32, s32, u32, u32, "r", "r", "r", "r", "bfe.s32")
ASM3(bfe, u64, u64, u32, u32, "l", "l", "r", "r", "bfe.u64")
ASM3(bfe, s64, s64, u32, u32, "l", "l", "r", "r", "bfe.s64")
ASM2(szext_wrap, s32, s32, u32, "r", "r", "r", "szext.wrap.s32")
ASM2(szext_clamp, u32, u32, u32, "r", "r", "r", "szext.clamp.u32")
ASM2(bmsk_clamp, u32, u32, u32, "r", "r", "r", "bmsk.clamp.b32")
ASM2(bmsk_wrap, u32, u32, u32, "r", "r", "r", "bmsk.wrap.b32")
ASM3(dp4a, s32, s32, u32, s32, "r", "r", "r", "r", "dp4a.s32.u32")
ASM1(cnot, u32, u32, "r", "r", "cnot.b32")
ASM3(slct, u32, u32, u32, s32, "r", "r", "r", "r", "slct.u32.s32")
ASM3(slct, u64, u64, u64, f32, "l", "l", "l", "f", "slct.u64.f32")
ASM3(vshl_clamp, u32, u32, u32, u32, "r", "r", "r", "r", "vshl.u32.u32.u32.clamp.add")
ASM3(vshl_wrap, u32, u32, u32, u32, "r", "r", "r", "r", "vshl.u32.u32.u32.wrap.max")
ASM3(vshr_clamp, u32, s32, u32, u32, "r", "r", "r", "r", "vshr.u32.s32.u32.clamp.min")
ASM3(vmad_shr7, s32, s32, s32, s32, "r", "r", "r", "r", "vmad.s32.s32.s32.shr7")
ASM3(pack_u8, u32, s32, s32, u32, "r", "r", "r", "r", "cvt.pack.sat.u8.s32.b32")
ASM2(pack_s16, u32, s32, s32, "r", "r", "r", "cvt.pack.sat.s16.s32")
DEVICE s32 vadd_halves(s32 a, u32 b, s32 c) {
  s32 d;
  asm("vadd.s32.s32.u32.sat.max %0, %1.h1, %2.b2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}
DEVICE u32 vadd4_sat(u32 a, u32 b) { return __vaddss4(a, b); }
DEVICE u32 vmax2(u32 a, u32 b) { return __vmaxs2(a, b); }
DEVICE u32 vabsdiff4_add(u32 a, u32 b, u32 c) {
  u32 d;
  asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}
DEVICE u32 bfi(u32 a, u32 b, u32 c, u32 e) {
  u32 d;
  asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(d) : "r"(a), "r"(b), "r"(c), "r"(e));
  return d;
}
DEVICE u64 bfi(u64 a, u64 b, u32 c, u32 e) {
  u64 d;
  asm("bfi.b64 %0, %1, %2, %3, %4;" : "=l"(d) : "l"(a), "l"(b), "r"(c), "r"(e));
  return d;
}
template <int kTable>
DEVICE u32 lop3(u32 a, u32 b, u32 c) {
  u32 d;
  asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(d) : "r"(a), "r"(b), "r"(c), "n"(kTable));
  return d;
}
DEVICE u32 prmt_mode(u32 a, u32 b, u32 c, u32 mode) {
  u32 d = 0;
  switch (mode % 6) {
    case 0: asm("prmt.b32.f4e %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c)); break;
    case 1: asm("prmt.b32.b4e %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c)); break;
    case 2: asm("prmt.b32.rc8 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c)); break;
    case 3: asm("prmt.b32.ecl %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c)); break;
    case 4: asm("prmt.b32.ecr %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c)); break;
    case 5: asm("prmt.b32.rc16 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c)); break;
  }
  return d;
}
DEVICE u64 add128_high(u64 al, u64 ah, u64 bl, u64 bh) {
  u64 l, h;
  asm("add.cc.u64 %0, %2, %4; addc.u64 %1, %3, %5;" : "=l"(l), "=l"(h) : "l"(al), "l"(ah), "l"(bl), "l"(bh));
  return h ^ l * 3;
}
DEVICE u64 sub128_high(u64 al, u64 ah, u64 bl, u64 bh) {
  u64 l, h;
  asm("sub.cc.u64 %0, %2, %4; subc.u64 %1, %3, %5;" : "=l"(l), "=l"(h) : "l"(al), "l"(ah), "l"(bl), "l"(bh));
  return h ^ l * 3;
}
DEVICE u32 add96(u32 a0, u32 a1, u32 a2, u32 b0, u32 b1, u32 b2) {
  u32 r0, r1, r2, r3;
  asm("add.cc.u32 %0, %4, %7; addc.cc.u32 %1, %5, %8; addc.cc.u32 %2, %6, %9; addc.u32 %3, 0, 0;"
      : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3)
      : "r"(a0), "r"(a1), "r"(a2), "r"(b0), "r"(b1), "r"(b2));
  return r0 ^ r1 * 3 ^ r2 * 5 ^ r3 * 7;
}
DEVICE u64 mul128_high(u64 a, u64 b) { return static_cast<u64>(static_cast<unsigned __int128>(a) * b * (b | 1) >> 64); }
DEVICE u32 madc(u32 a, u32 b, u32 c) {
  u32 l, h;
  asm("mad.lo.cc.u32 %0, %2, %3, %4; madc.hi.u32 %1, %2, %3, %4;" : "=r"(l), "=r"(h) : "r"(a), "r"(b), "r"(c));
  return l ^ h * 3;
}

// cvt.sat from one integer type to another: s8, u8, … u64, by the low bits of `from` and `to`. `a` is cut to the first.
// Where the second holds all of the first, there is no .sat.
#define CONVERT(number, how, r, x)               \
  case number:                                   \
    asm("cvt." how " %0, %1;" : "=l"(d) : r(x)); \
    break;
#define TO(number, s8_, u8_, s16_, u16_, s32_, u32_, s64_, u64_) \
  case number:                                                   \
    switch (from & 7) {                                          \
      CONVERT(0, s8_ ".s8", "r", static_cast<u32>(a))            \
      CONVERT(1, u8_ ".u8", "r", static_cast<u32>(a))            \
      CONVERT(2, s16_ ".s16", "h", static_cast<u16>(a))          \
      CONVERT(3, u16_ ".u16", "h", static_cast<u16>(a))          \
      CONVERT(4, s32_ ".s32", "r", static_cast<u32>(a))          \
      CONVERT(5, u32_ ".u32", "r", static_cast<u32>(a))          \
      CONVERT(6, s64_ ".s64", "l", a)                            \
      CONVERT(7, u64_ ".u64", "l", a)                            \
    }                                                            \
    break;
DEVICE u64 convert_saturated(u64 a, u8 from, u8 to) {
  u64 d = 0;
  switch (to & 7) {
    TO(0, "s8", "sat.s8", "sat.s8", "sat.s8", "sat.s8", "sat.s8", "sat.s8", "sat.s8")
    TO(1, "sat.u8", "u8", "sat.u8", "sat.u8", "sat.u8", "sat.u8", "sat.u8", "sat.u8")
    TO(2, "s16", "s16", "s16", "sat.s16", "sat.s16", "sat.s16", "sat.s16", "sat.s16")
    TO(3, "sat.u16", "u16", "sat.u16", "u16", "sat.u16", "sat.u16", "sat.u16", "sat.u16")
    TO(4, "s32", "s32", "s32", "s32", "s32", "sat.s32", "sat.s32", "sat.s32")
    TO(5, "sat.u32", "u32", "sat.u32", "u32", "sat.u32", "u32", "sat.u32", "sat.u32")
    TO(6, "s64", "s64", "s64", "s64", "s64", "s64", "s64", "sat.s64")
    TO(7, "sat.u64", "u64", "sat.u64", "u64", "sat.u64", "u64", "sat.u64", "u64")
  }
  return d;
}

// f32 and f64.
#define WAYS(w, call, ...)                \
  switch (w.bits & 3) {                   \
    case 0: return call##n(__VA_ARGS__);  \
    case 1: return call##z(__VA_ARGS__);  \
    case 2: return call##d(__VA_ARGS__);  \
    default: return call##u(__VA_ARGS__); \
  }
DEVICE f32 add(f32 a, f32 b, way w){WAYS(w, __fadd_r, a, b)} DEVICE f32
    subtract(f32 a, f32 b, way w){WAYS(w, __fsub_r, a, b)} DEVICE f32
    multiply(f32 a, f32 b, way w){WAYS(w, __fmul_r, a, b)} DEVICE f32
    divide(f32 a, f32 b, way w){WAYS(w, __fdiv_r, a, b)} DEVICE f32
    multiply_add(f32 a, f32 b, f32 c, way w){WAYS(w, __fmaf_r, a, b, c)} DEVICE f32
    square_root(f32 a, way w){WAYS(w, __fsqrt_r, a)} DEVICE f32
    reciprocal(f32 a, way w){WAYS(w, __frcp_r, a)} DEVICE f64
    add(f64 a, f64 b, way w){WAYS(w, __dadd_r, a, b)} DEVICE f64
    subtract(f64 a, f64 b, way w){WAYS(w, __dsub_r, a, b)} DEVICE f64
    multiply(f64 a, f64 b, way w){WAYS(w, __dmul_r, a, b)} DEVICE f64
    divide(f64 a, f64 b, way w){WAYS(w, __ddiv_r, a, b)} DEVICE f64
    multiply_add(f64 a, f64 b, f64 c, way w){WAYS(w, __fma_r, a, b, c)} DEVICE f64
    square_root(f64 a, way w){WAYS(w, __dsqrt_r, a)} DEVICE f64
    reciprocal(f64 a, way w){WAYS(w, __drcp_r, a)} DEVICE f32 narrow(f64 a, way w){WAYS(w, __double2float_r, a)}

DEVICE f32 square_root(f32 a) {
  return sqrtf(a);
}
DEVICE f64 square_root(f64 a) { return sqrt(a); }
DEVICE f32 multiply_add(f32 a, f32 b, f32 c) { return fmaf(a, b, c); }
DEVICE f64 multiply_add(f64 a, f64 b, f64 c) { return fma(a, b, c); }
DEVICE f32 remainder_to_zero(f32 a, f32 b) { return fmodf(a, b); }
DEVICE f64 remainder_to_zero(f64 a, f64 b) { return fmod(a, b); }
DEVICE f64 remainder_to_nearest(f64 a, f64 b) { return remainder(a, b); }
DEVICE f32 next_after(f32 a, f32 b) { return nextafterf(a, b); }
DEVICE f64 next_after(f64 a, f64 b) { return nextafter(a, b); }
DEVICE f32 scaled(f32 a, s32 b) { return ldexpf(a, b); }
DEVICE f64 scaled(f64 a, s32 b) { return ldexp(a, b); }
DEVICE f32 round_away(f32 a) { return roundf(a); }
DEVICE f64 round_away(f64 a) { return round(a); }
DEVICE f64 exponent_of(f64 a) { return logb(a); }
DEVICE f32 copy_sign(f32 a, f32 b) { return copysignf(a, b); }
DEVICE f64 copy_sign(f64 a, f64 b) { return copysign(a, b); }
DEVICE f64 absolute(f64 a) { return fabs(a); }
DEVICE u32 bits_of(f32 a) { return __float_as_uint(a); }
DEVICE u64 bits_of(f64 a) { return static_cast<u64>(__double_as_longlong(a)); }
DEVICE f32 minimum(f32 a, f32 b) { return fminf(a, b); }
DEVICE f32 maximum(f32 a, f32 b) { return fmaxf(a, b); }
DEVICE f64 minimum(f64 a, f64 b) { return fmin(a, b); }
DEVICE f64 maximum(f64 a, f64 b) { return fmax(a, b); }
ASM2(add_flushed, f32, f32, f32, "f", "f", "f", "add.ftz.f32")
ASM2(multiply_flushed, f32, f32, f32, "f", "f", "f", "mul.ftz.f32")
ASM3(multiply_add_flushed_saturated, f32, f32, f32, f32, "f", "f", "f", "f", "fma.rn.ftz.sat.f32")
ASM3(multiply_add_saturated, f32, f32, f32, f32, "f", "f", "f", "f", "fma.rn.sat.f32")
ASM2(add_saturated, f32, f32, f32, "f", "f", "f", "add.sat.f32")
ASM2(minimum_nan, f32, f32, f32, "f", "f", "f", "min.NaN.f32")
ASM2(maximum_xorsign, f32, f32, f32, "f", "f", "f", "max.xorsign.abs.f32")
DEVICE u32 class_of(f64 a) {
  u32 r = 0, p;
  asm("{.reg .pred p; testp.finite.f64 p, %1; selp.u32 %0, 1, 0, p;}" : "=r"(p) : "d"(a));
  r |= p;
  asm("{.reg .pred p; testp.infinite.f64 p, %1; selp.u32 %0, 2, 0, p;}" : "=r"(p) : "d"(a));
  r |= p;
  asm("{.reg .pred p; testp.number.f64 p, %1; selp.u32 %0, 4, 0, p;}" : "=r"(p) : "d"(a));
  r |= p;
  asm("{.reg .pred p; testp.notanumber.f64 p, %1; selp.u32 %0, 8, 0, p;}" : "=r"(p) : "d"(a));
  r |= p;
  asm("{.reg .pred p; testp.normal.f64 p, %1; selp.u32 %0, 16, 0, p;}" : "=r"(p) : "d"(a));
  r |= p;
  asm("{.reg .pred p; testp.subnormal.f64 p, %1; selp.u32 %0, 32, 0, p;}" : "=r"(p) : "d"(a));
  return r | p;
}
DEVICE f32 to_whole(f32 a, way w) {
  switch (w.bits & 3) {
    case 0: return rintf(a);
    case 1: return truncf(a);
    case 2: return floorf(a);
    default: return ceilf(a);
  }
}
DEVICE f64 to_whole(f64 a, way w) {
  switch (w.bits & 3) {
    case 0: return rint(a);
    case 1: return trunc(a);
    case 2: return floor(a);
    default: return ceil(a);
  }
}

// Reals to integers of each size and back: the type by the low bits of `t`, as above; narrow results extended by their
// sign. bf16 has none of 8 bits: what asks for those falls to u64, the last.
#define FROM_REAL_8(rounding, from, x)                                                                   \
  case 0: asm("cvt." rounding ".s8." from " %0, %1;" : "=r"(s) : x(v)); return static_cast<u64>(s64{s}); \
  case 1:                                                                                                \
    asm("cvt." rounding ".u8." from " %0, %1;" : "=r"(u) : x(v));                                        \
    return u;
#define NONE_8(rounding, type, x)
#define FROM_REAL(NARROW, rounding, from, x)                                                                \
  switch (t & 7) {                                                                                          \
    NARROW(rounding, from, x)                                                                               \
    case 2: asm("cvt." rounding ".s16." from " %0, %1;" : "=h"(h) : x(v)); return static_cast<u64>(s64{h}); \
    case 3: asm("cvt." rounding ".u16." from " %0, %1;" : "=h"(h) : x(v)); return static_cast<u16>(h);      \
    case 4: asm("cvt." rounding ".s32." from " %0, %1;" : "=r"(s) : x(v)); return static_cast<u64>(s64{s}); \
    case 5: asm("cvt." rounding ".u32." from " %0, %1;" : "=r"(u) : x(v)); return u;                        \
    case 6: asm("cvt." rounding ".s64." from " %0, %1;" : "=l"(l) : x(v)); return l;                        \
    default: asm("cvt." rounding ".u64." from " %0, %1;" : "=l"(l) : x(v)); return l;                       \
  }
#define TO_INTEGER(NARROW, type, member, from, x) \
  DEVICE u64 to_integer(type a, way w, u8 t) {    \
    auto v = a member;                            \
    s32 s;                                        \
    u32 u;                                        \
    s16 h;                                        \
    u64 l;                                        \
    switch (w.bits & 3) {                         \
      case 0: FROM_REAL(NARROW, "rni", from, x)   \
      case 1: FROM_REAL(NARROW, "rzi", from, x)   \
      case 2: FROM_REAL(NARROW, "rmi", from, x)   \
      default: FROM_REAL(NARROW, "rpi", from, x)  \
    }                                             \
  }
TO_INTEGER(FROM_REAL_8, f32, , "f32", "f")
TO_INTEGER(FROM_REAL_8, f64, , "f64", "d")
TO_INTEGER(FROM_REAL_8, f16, .bits, "f16", "h")
TO_INTEGER(NONE_8, bf16, .bits, "bf16", "h")
DEVICE s64 f16_to_s64_down(f16 a) {
  s64 l;
  asm("cvt.rmi.s64.f16 %0, %1;" : "=l"(l) : "h"(a.bits));
  return l;
}
DEVICE s64 bf16_to_s64_down(bf16 a) {
  s64 l;
  asm("cvt.rmi.s64.bf16 %0, %1;" : "=l"(l) : "h"(a.bits));
  return l;
}
#define TO_REAL_8(rounding, to, x)                                                                     \
  case 0: asm("cvt." rounding "." to ".s8 %0, %1;" : "=" x(d) : "r"(static_cast<u32>(a))); return {d}; \
  case 1:                                                                                              \
    asm("cvt." rounding "." to ".u8 %0, %1;" : "=" x(d) : "r"(static_cast<u32>(a)));                   \
    return {d};
#define TO_REAL(NARROW, rounding, to, x)                                                                  \
  switch (t & 7) {                                                                                        \
    NARROW(rounding, to, x)                                                                               \
    case 2: asm("cvt." rounding "." to ".s16 %0, %1;" : "=" x(d) : "h"(static_cast<u16>(a))); return {d}; \
    case 3: asm("cvt." rounding "." to ".u16 %0, %1;" : "=" x(d) : "h"(static_cast<u16>(a))); return {d}; \
    case 4: asm("cvt." rounding "." to ".s32 %0, %1;" : "=" x(d) : "r"(static_cast<u32>(a))); return {d}; \
    case 5: asm("cvt." rounding "." to ".u32 %0, %1;" : "=" x(d) : "r"(static_cast<u32>(a))); return {d}; \
    case 6: asm("cvt." rounding "." to ".s64 %0, %1;" : "=" x(d) : "l"(a)); return {d};                   \
    default: asm("cvt." rounding "." to ".u64 %0, %1;" : "=" x(d) : "l"(a)); return {d};                  \
  }
#define FROM_INTEGER(NARROW, name, type, code, to, x) \
  DEVICE type name(u64 a, way w, u8 t) {              \
    code d;                                           \
    switch (w.bits & 3) {                             \
      case 0: TO_REAL(NARROW, "rn", to, x)            \
      case 1: TO_REAL(NARROW, "rz", to, x)            \
      case 2: TO_REAL(NARROW, "rm", to, x)            \
      default: TO_REAL(NARROW, "rp", to, x)           \
    }                                                 \
  }
FROM_INTEGER(TO_REAL_8, integer_to_f32, f32, f32, "f32", "f")
FROM_INTEGER(TO_REAL_8, integer_to_f64, f64, f64, "f64", "d")
FROM_INTEGER(TO_REAL_8, integer_to_f16, f16, u16, "f16", "h")
FROM_INTEGER(NONE_8, integer_to_bf16, bf16, u16, "bf16", "h")

// Reals of 16 and 8 bits.
DEVICE __half cuda(f16 a) { return __half(__half_raw{a.bits}); }
DEVICE __nv_bfloat16 cuda(bf16 a) { return __nv_bfloat16(__nv_bfloat16_raw{a.bits}); }
DEVICE __half2 cuda(f16x2 a) { return __half2(__half2_raw{static_cast<u16>(a.bits), static_cast<u16>(a.bits >> 16)}); }
DEVICE __nv_bfloat162 cuda(bf16x2 a) {
  return __nv_bfloat162(__nv_bfloat162_raw{static_cast<u16>(a.bits), static_cast<u16>(a.bits >> 16)});
}
DEVICE f16 code(__half a) { return {static_cast<__half_raw>(a).x}; }
DEVICE bf16 code(__nv_bfloat16 a) { return {static_cast<__nv_bfloat16_raw>(a).x}; }
DEVICE f16x2 code(__half2 a) {
  __half2_raw r = a;
  return {r.x | static_cast<u32>(r.y) << 16};
}
DEVICE bf16x2 code(__nv_bfloat162 a) {
  __nv_bfloat162_raw r = a;
  return {r.x | static_cast<u32>(r.y) << 16};
}
#define HALF2(T, name, call) \
  DEVICE T name(T a, T b) { return code(call(cuda(a), cuda(b))); }
#define HALF3(T, name, call) \
  DEVICE T name(T a, T b, T c) { return code(call(cuda(a), cuda(b), cuda(c))); }
HALF2(f16, add, __hadd)
HALF2(f16, subtract, __hsub)
HALF2(f16, multiply, __hmul)
HALF3(f16, multiply_add, __hfma)
HALF2(f16, add_saturated, __hadd_sat)
HALF3(f16, multiply_add_relu, __hfma_relu)
HALF2(f16, minimum, __hmin)
HALF2(f16, maximum_nan, __hmax_nan)
HALF2(bf16, add, __hadd)
HALF2(bf16, subtract, __hsub)
HALF2(bf16, multiply, __hmul)
HALF3(bf16, multiply_add, __hfma)
HALF3(bf16, multiply_add_relu, __hfma_relu)
HALF2(bf16, maximum, __hmax)
HALF2(f16x2, add, __hadd2)
HALF2(f16x2, multiply, __hmul2)
HALF3(f16x2, multiply_add, __hfma2)
HALF2(f16x2, minimum, __hmin2)
HALF2(bf16x2, add, __hadd2)
HALF3(bf16x2, multiply_add, __hfma2)
HALF2(bf16x2, maximum, __hmax2)
template <class T>
DEVICE u32 compared(T x, T y) {
  auto a = cuda(x), b = cuda(y);
  return u32(__hlt(a, b)) | u32(__hle(a, b)) << 1 | u32(__heq(a, b)) << 2 | u32(__hne(a, b)) << 3 |
         u32(__hgt(a, b)) << 4 | u32(__hge(a, b)) << 5 | u32(__hltu(a, b)) << 6 | u32(__hgeu(a, b)) << 7 |
         u32(__hequ(a, b)) << 8 | u32(__hneu(a, b)) << 9;
}
DEVICE f32 to_f32(f16 a) { return __half2float(cuda(a)); }
DEVICE f32 to_f32(bf16 a) { return __bfloat162float(cuda(a)); }
DEVICE f16 to_f16(f32 a, way w) {
  auto convert = [&] { WAYS(w, __float2half_r, a) };
  return code(convert());
}
DEVICE bf16 to_bf16(f32 a, way w) {
  auto convert = [&] { WAYS(w, __float2bfloat16_r, a) };
  return code(convert());
}
DEVICE f16 to_f16(f64 a) { return code(__double2half(a)); }
DEVICE bf16 to_bf16(f64 a) { return code(__double2bfloat16(a)); }
DEVICE f16x2 to_f16x2(f32 a, f32 b) { return code(__floats2half2_rn(a, b)); }
DEVICE bf16x2 to_bf16x2(f32 a, f32 b) { return code(__floats2bfloat162_rn(a, b)); }
DEVICE e4m3 to_e4m3(f32 a) { return {__nv_cvt_float_to_fp8(a, __NV_SATFINITE, __NV_E4M3)}; }
DEVICE e5m2 to_e5m2(f32 a) { return {__nv_cvt_float_to_fp8(a, __NV_SATFINITE, __NV_E5M2)}; }
DEVICE e4m3 to_e4m3(f16 a) { return {__nv_cvt_halfraw_to_fp8(__half_raw{a.bits}, __NV_SATFINITE, __NV_E4M3)}; }
DEVICE e5m2 to_e5m2(f16 a) { return {__nv_cvt_halfraw_to_fp8(__half_raw{a.bits}, __NV_SATFINITE, __NV_E5M2)}; }
DEVICE f16 to_f16(e4m3 a) { return {__nv_cvt_fp8_to_halfraw(a.bits, __NV_E4M3).x}; }
DEVICE f16 to_f16(e5m2 a) { return {__nv_cvt_fp8_to_halfraw(a.bits, __NV_E5M2).x}; }
DEVICE f32 to_tf32(f32 a) {
  u32 r;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(a));
  return __uint_as_float(r);
}

}  // namespace quern::oracle
