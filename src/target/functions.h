// The elementary functions as IR, for f32 and f64, scalars and vectors alike, without a call into a library. Errors are
// stated in functions.cc and in the files it names, and tested against wider arithmetic (tests/unit/target).
#pragma once

#include "target/features.h"
#include "target/ir_text.h"
#include "tile/expression.h"

namespace quern::target {

// exp, exp2, log, log2, sqrt, rsqrt, sin, cos, tanh, erf of a real.
Value function_of(Writer& w, const Features& has, tile::Op op, const Value& x);
// pow, exp_at of two; the second may be one number for all lanes of the first.
Value function_of(Writer& w, const Features& has, tile::Op op, const Value& x, const Value& y);
Value power(Writer& w, const Features& has, const Value& x, const Value& y);
// Floor, ceil and round to even. SSE2 has no instruction for them, and LLVM would call the library.
Value rounded(Writer& w, const Features& has, tile::Op op, const Value& x);
// a * b + c, rounded once where the processor can do it.
Value multiply_add(Writer& w, const Features& has, const Value& a, const Value& b, const Value& c);
// random_bits(seed, i) of base/philox.h: i64 in, i64 below 2^32 out.
Value random_bits(Writer& w, const Value& seed, const Value& index);

}  // namespace quern::target
