// Sobol's sequences in Gray code's order (I. Antonov, V. Saleev 1979), of 32 and 64 bits. A dimension is a primitive
// polynomial over bits, in order of degree and value, and odd numbers to start from: for the first dimensions those of
// S. Joe, F. Kuo, "Constructing Sobol sequences with better two-dimensional projections", 2008; for others random ones,
// which any are good for that are odd and small enough.
#pragma once

#include <cstdint>
#include <vector>

namespace quern::random {

inline constexpr int kSobolDimensions = 20000;

// W: uint32_t or uint64_t. For each dimension as many direction numbers as W has bits. With `scrambled` they are
// multiplied by a random lower triangular matrix of bits (J. Matousek 1998). Made when first asked for.
template <class W>
const std::vector<W>& sobol_directions(bool scrambled);
// What scrambled sequences start from, one for each dimension.
template <class W>
const std::vector<W>& sobol_shifts();

// Element `index` of a dimension: the sum of direction numbers that its Gray code has bits for.
template <class W>
W sobol_at(const W* directions, uint64_t index) {
  uint64_t gray = index ^ index >> 1;
  W out = 0;
  for (int bit = 0; gray && bit < static_cast<int>(sizeof(W) * 8); ++bit, gray >>= 1) {
    if (gray & 1) out ^= directions[bit];
  }
  return out;
}

}  // namespace quern::random
