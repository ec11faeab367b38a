// Generators of random words.
//
//   XORWOW       G. Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8(14), 2003, section 3.1
//   MRG32k3a     P. L'Ecuyer, "Good parameters and implementations for combined multiple recursive random number
//                generators", Operations Research 47(1), 1999
//   Philox       base/philox.h
//   MT19937      M. Matsumoto, T. Nishimura, "Mersenne twister", ACM TOMACS 8(1), 1998
//
// States come from the seed by Philox, so that near seeds give sequences that have nothing in common.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

namespace quern::random {

enum class Kind : uint8_t { kXorwow, kMrg32k3a, kPhilox, kMt19937 };

class Engine {
 public:
  virtual ~Engine() = default;
  // The next words of the sequence.
  virtual void draw(std::span<uint32_t> out) = 0;
  // As if so many had been drawn. False: this kind can't.
  virtual bool skip(uint64_t count) = 0;
};

std::unique_ptr<Engine> make_engine(Kind kind, uint64_t seed);

}  // namespace quern::random
