#include "vgpu/slow.h"

#include <bit>
#include <cfenv>
#include <cmath>

#include "vgpu/real.h"

namespace quern::vgpu {
namespace {

// The rounding is the processor's, which the compiler must not think it knows: every operand and result passes a
// volatile.
uint64_t evaluate(Slow what, uint64_t x, uint64_t y, uint64_t z) {
  volatile double a = std::bit_cast<double>(x), b = std::bit_cast<double>(y), c = std::bit_cast<double>(z), r = 0;
  volatile uint64_t integer = x;
  switch (what) {
    case Slow::kAdd: r = a + b; break;
    case Slow::kMultiply: r = a * b; break;
    case Slow::kDivide: r = a / b; break;
    case Slow::kSquareRoot: r = std::sqrt(a); break;
    case Slow::kMultiplyAdd: r = std::fma(a, b, c); break;
    case Slow::kFromSigned: r = static_cast<double>(static_cast<int64_t>(integer)); break;
    case Slow::kFromUnsigned: {
      // By halves, which are exact: the compiler's own way to convert 64 bits without a sign rounds twice.
      volatile double high = static_cast<double>(static_cast<int64_t>(integer >> 32)) * 4294967296.0;
      volatile double low = static_cast<double>(static_cast<int64_t>(integer & 0xffffffff));
      r = high + low;
      break;
    }
  }
  return std::bit_cast<uint64_t>(static_cast<double>(r));
}

int mode_of(Round round) {
  switch (round) {
    case Round::kZero: return FE_TOWARDZERO;
    case Round::kDown: return FE_DOWNWARD;
    case Round::kUp: return FE_UPWARD;
    default: return FE_TONEAREST;
  }
}

}  // namespace

void run(SlowCall& call) {
  int before = std::fegetround();
  std::fesetround(mode_of(static_cast<Round>(call.round)));
  for (int32_t l = 0; l < call.lanes; ++l) {
    call.result[l] =
        evaluate(static_cast<Slow>(call.function), call.operands[0][l], call.operands[1][l], call.operands[2][l]);
  }
  std::fesetround(before);
}

}  // namespace quern::vgpu
