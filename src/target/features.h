// What code generation asks about a processor, beside its registers: which operations it has, and what a vector is.
#pragma once

namespace quern::target {

struct Features {
  // Bytes of the vectors that are emitted. Any power of two is right on a CPU, since LLVM splits what is wider than a
  // register.
  int vector_bytes = 16;
  // Not 0: a core is a block of so many warps, and the lanes of a vector are the threads of a warp: what varies along
  // them is a number that each thread has for itself.
  int warps = 0;
  bool fma = false;       // a * b + c, rounded once
  bool rounding = false;  // to integers, in one instruction
  bool half = false;      // conversions between f16 and f32
  bool avx512 = false;    // vscalef; LLVM's masked stores of AVX-512
  bool bf16_dot = false;  // vdpbf16ps on 512 bits
  bool int8_dot = false;  // vpdpbusd on 512 bits

  bool threads() const { return warps > 0; }
};

}  // namespace quern::target
