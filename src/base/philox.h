// Philox-4x32-10: random bits as a pure function of a key and a counter, so that any element of any array can be drawn
// alone, in any order, on any machine, with the same result. J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random
// numbers: as easy as 1, 2, 3", SC 2011: ten rounds of two 32 x 32 -> 64 bit products; passes BigCrush.
// The notation's `random_bits(seed, i)` (section 6 of its specification) is defined by it, and so are random arrays.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace quern {

using PhiloxBlock = std::array<uint32_t, 4>;

// Four random words for a 128-bit counter and a 64-bit key, each with its lowest word first.
constexpr PhiloxBlock philox4x32(PhiloxBlock counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t even = uint64_t{0xD2511F53} * counter[0];
    uint64_t odd = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(odd >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(odd),
               static_cast<uint32_t>(even >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(even)};
    key[0] += 0x9E3779B9;  // golden ratio
    key[1] += 0xBB67AE85;  // sqrt(3) - 1
  }
  return counter;
}

// The four words random_bits(seed, 4 * block) ... random_bits(seed, 4 * block + 3).
constexpr PhiloxBlock random_block(int64_t seed, int64_t block) {
  auto key = static_cast<uint64_t>(seed);
  auto counter = static_cast<uint64_t>(block);
  return philox4x32({static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), 0, 0},
                    {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)});
}

// Word i % 4 of the block i // 4, with the notation's floor division: negative i are as good as others.
constexpr uint32_t random_bits(int64_t seed, int64_t i) {
  return random_block(seed, i >> 2)[static_cast<size_t>(i & 3)];
}

}  // namespace quern
