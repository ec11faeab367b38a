// Reals that processors have no instructions for, as integer and double arithmetic on lanes: formats of 16 bits and
// fewer, and roundings other than to nearest. All are exact: one rounding, of the value that the manual names.
//
// Rounding to odd (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008) is what makes that cheap:
// a result that is cut to an odd last digit wherever it is inexact can be rounded again, to fewer digits and in any
// direction, as if it were exact.
#pragma once

#include "ptx/module.h"
#include "vgpu/ir.h"

namespace quern::vgpu {

enum class Round : uint8_t {
  kNearest,  // ties to even
  kZero,
  kDown,
  kUp,
  kAway,    // to nearest, ties away from zero
  kRandom,  // up or down by bits that are given
};
Round round_of(const ptx::Instruction& instruction);  // .rn where none is written

// A real format of at most 19 bits: sign, exponent, mantissa.
struct RealFormat {
  int exponent = 0, mantissa = 0;  // bits
  int bias = 0;
  uint32_t most = 0;      // the code of the greatest finite number
  bool infinite = false;  // all ones in the exponent are infinities and NaNs; else all codes to `most` are numbers
  uint32_t nan = 0;       // the code of NaN; of formats without one, of what NaN becomes
  int bits() const { return 1 + exponent + mantissa; }
};
// Of an element: e4m3 of e4m3x4.
const RealFormat* real_format(ptx::Type type);

// A code in the low bits of an i32, as a float, and back. `random`: of kRandom, i32; its bit 0 counts as the lowest of
// `random_bits` that are held against what is cut off, from its highest bit down.
Value widen_real(Ir& ir, const RealFormat& format, const Value& code);
Value narrow_real(Ir& ir, const RealFormat& format, const Value& v, Round round, bool satfinite,
                  const Value& random = {}, int random_bits = 0);

// f16 or bf16 in an i16, as a float and back; `f16c`: the processor has instructions for f16.
Value from_half(Ir& ir, ptx::Type type, const Value& bits, bool f16c);
Value to_half(Ir& ir, ptx::Type type, const Value& v, Round round, bool f16c);

// Of floats or doubles.
Value sum_to_odd(Ir& ir, const Value& a, const Value& b);  // no overflow may happen
Value abs_of(Ir& ir, const Value& v);
// A double as a float: rounded, or to odd.
Value double_to_float(Ir& ir, const Value& d, Round round);
Value double_to_odd_float(Ir& ir, const Value& d);
// An integer of 64 bits as a double, to odd.
Value integer_to_odd_double(Ir& ir, const Value& v, bool sign);

}  // namespace quern::vgpu
