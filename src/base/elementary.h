// Elementary functions with their error: what an error of the argument does, and `units` roundings of the result for
// the function itself (the last column of the op tables).
#pragma once

#include "base/running_error.h"

namespace quern {

enum class Elementary : uint8_t { kExp, kExp2, kLog, kLog2, kSqrt, kRsqrt, kSin, kCos, kTanh, kErf };
enum class Whole : uint8_t { kAbs, kFloor, kCeil, kRound };  // kRound: ties to even

// `u` is the roundoff of one operation. `nonnegative`: the argument is so in every implementation, whatever its bound
// says.
Real elementary(Elementary f, Real x, double u, int units, bool nonnegative = false);
Real power(Real x, Real y, double u, int units, bool nonnegative = false);
// e^h / 2^g for a whole g; 0 where g is inf.
Real exponential_at(Real h, Real g, double u, int units);
Real rounded_whole(Whole f, Real x);

}  // namespace quern
