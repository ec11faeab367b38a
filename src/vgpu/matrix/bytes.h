// Registers of bytes as numbers, with what every processor of the levels has (SSE4.1); included by a file for each
// level.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace quern::vgpu {
namespace {

// Four bytes as numbers.
template <bool kSigned>
__m128i expand(uint32_t bytes) {
  __m128i v = _mm_cvtsi32_si128(static_cast<int>(bytes));
  return kSigned ? _mm_cvtepi8_epi32(v) : _mm_cvtepu8_epi32(v);
}
inline void store_four(int32_t* p, __m128i v) { _mm_store_si128(reinterpret_cast<__m128i*>(p), v); }
// Four columns of four numbers as rows, `row` numbers apart.
inline void store_turned(__m128i a, __m128i b, __m128i c, __m128i d, int32_t* to, int row) {
  __m128i ab = _mm_unpacklo_epi32(a, b), cd = _mm_unpacklo_epi32(c, d);
  store_four(to, _mm_unpacklo_epi64(ab, cd));
  store_four(to + row, _mm_unpackhi_epi64(ab, cd));
  ab = _mm_unpackhi_epi32(a, b), cd = _mm_unpackhi_epi32(c, d);
  store_four(to + 2 * row, _mm_unpacklo_epi64(ab, cd));
  store_four(to + 3 * row, _mm_unpackhi_epi64(ab, cd));
}
// Four words of four bytes each, `apart` words from each other, by bytes.
template <bool kSigned>
void turn(const uint32_t* from, int apart, int32_t* to, int row) {
  store_turned(expand<kSigned>(from[0]), expand<kSigned>(from[apart]), expand<kSigned>(from[2 * apart]),
               expand<kSigned>(from[3 * apart]), to, row);
}

}  // namespace
}  // namespace quern::vgpu
