#include "expr/interpret/elementary.h"

#include "base/elementary.h"

namespace quern::expr {

Real elementary(Op op, Real x, double u, bool nonnegative) {
  auto apply = [&](Elementary f) { return quern::elementary(f, x, u, row(op).error, nonnegative); };
  switch (op) {
    case Op::kExp: return apply(Elementary::kExp);
    case Op::kExp2: return apply(Elementary::kExp2);
    case Op::kLog: return apply(Elementary::kLog);
    case Op::kLog2: return apply(Elementary::kLog2);
    case Op::kSqrt: return apply(Elementary::kSqrt);
    case Op::kRsqrt: return apply(Elementary::kRsqrt);
    case Op::kTanh: return apply(Elementary::kTanh);
    case Op::kErf: return apply(Elementary::kErf);
    case Op::kSin: return apply(Elementary::kSin);
    case Op::kCos: return apply(Elementary::kCos);
    default: return {std::numeric_limits<double>::quiet_NaN(), 0};
  }
}

Real power(Real x, Real y, double u, bool nonnegative) {
  return quern::power(x, y, u, row(Op::kPow).error, nonnegative);
}

Real rounded_whole(Op op, Real x) {
  switch (op) {
    case Op::kAbs: return quern::rounded_whole(Whole::kAbs, x);
    case Op::kFloor: return quern::rounded_whole(Whole::kFloor, x);
    case Op::kCeil: return quern::rounded_whole(Whole::kCeil, x);
    default: return quern::rounded_whole(Whole::kRound, x);
  }
}

}  // namespace quern::expr
