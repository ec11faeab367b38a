#include "vgpu/matrix/sparse.h"

#include <bit>
#include <cmath>

namespace quern::vgpu {
namespace {

// Columns of a chunk, and how many next to each other are kept or dropped together.
struct Chunk {
  int columns = 4, together = 1;
};

Chunk chunk_of(Element e) {
  int bits = bits_of(e);
  return bits == 32 ? Chunk{2, 1} : bits == 4 ? Chunk{8, 2} : Chunk{4, 1};
}

// Bits of metadata that each row has: four for each chunk.
int metadata_bits(const MatrixShape& t) { return t.k / chunk_of(t.a).columns * 4; }

uint32_t metadata(const SparseCall& s, int row, int bit, int count) {
  int lanes = metadata_lanes(s.shape), lane, at;
  if (bits_of(s.shape.a) >= 16) {
    lane = bit / 16, at = row / 8 * 16 + bit % 16;
  } else {
    lane = bit / 32 * 2 + row / 8, at = bit % 32;
  }
  return s.metadata[row % 8 * 4 + s.selector * lanes + lane] >> at & ((1u << count) - 1);
}

// The column of A, and row of B, that kept column `kept` of a row is.
int column_of(const SparseCall& s, int row, int kept) {
  Chunk chunk = chunk_of(s.shape.a);
  int each = chunk.columns / 2, first = kept / each * chunk.columns, bit = kept / each * 4;
  if (chunk.columns == 2) return first + static_cast<int>(metadata(s, row, bit, 4) >> 3);
  int which = kept % each / chunk.together;
  auto place = static_cast<int>(metadata(s, row, bit + 2 * which, 2));
  return first + place * chunk.together + kept % chunk.together;
}

uint32_t element(const uint32_t (*regs)[32], int reg, int lane, int within, int bits) {
  uint32_t word = regs[reg][lane];
  return bits == 32 ? word : word >> (within * bits) & ((1u << bits) - 1);
}

uint32_t a_at(const SparseCall& s, int row, int kept) {
  int bits = bits_of(s.shape.a), each = 32 / bits;
  return element(s.a, row / 8 + 2 * (kept / (4 * each)), row % 8 * 4 + kept / each % 4, kept % each, bits);
}

uint32_t b_at(const SparseCall& s, int row, int column) {
  int bits = bits_of(s.shape.b), each = 32 / bits;
  return element(s.b, row / (4 * each), column * 4 + row / each % 4, row % each, bits);
}

uint32_t c_at(const SparseCall& s, int row, int column) {
  int lane = row % 8 * 4 + column / 2;
  if (s.shape.c == Element::kF16) return element(s.c, row / 8, lane, column % 2, 16);
  return s.c[row / 8 * 2 + column % 2][lane];
}

void put(SparseCall& s, int row, int column, uint32_t code) {
  int lane = row % 8 * 4 + column / 2;
  if (s.shape.d != Element::kF16) {
    s.d[row / 8 * 2 + column % 2][lane] = code;
    return;
  }
  uint32_t& word = s.d[row / 8][lane];
  word = column % 2 ? (word & 0xffff) | code << 16 : (word & 0xffff0000) | code;
}

uint32_t real_sum(const SparseCall& s, int row, int column) {
  const MatrixShape& t = s.shape;
  float sums[2] = {real_of(t.c, c_at(s, row, column)), 0};
  for (int kept = 0; kept < t.k / 2; ++kept) {
    float x = real_of(t.a, a_at(s, row, kept)), y = real_of(t.b, b_at(s, column_of(s, row, kept), column));
    sums[kept / 8 % 2] = std::fmaf(x, y, sums[kept / 8 % 2]);
  }
  float sum = t.k / 2 > 8 ? sums[0] + sums[1] : sums[0];
  return t.d == Element::kF16 ? half_code(sum) : std::bit_cast<uint32_t>(sum);
}

uint32_t integer_sum(const SparseCall& s, int row, int column) {
  const MatrixShape& t = s.shape;
  int64_t sum = static_cast<int32_t>(c_at(s, row, column));
  for (int kept = 0; kept < t.k / 2; ++kept) {
    sum += int64_t{integer_of(t.a, a_at(s, row, kept))} * integer_of(t.b, b_at(s, column_of(s, row, kept), column));
  }
  if (t.saturate) sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
  return static_cast<uint32_t>(sum);
}

}  // namespace

int metadata_lanes(const MatrixShape& t) {
  if (t.m != 16 || t.n != 8 || bits_of(t.a) != bits_of(t.b)) return 0;
  bool f16c = (t.c == Element::kF16 || t.c == Element::kF32) && (t.d == Element::kF16 || t.d == Element::kF32);
  bool f32c = t.c == Element::kF32 && t.d == Element::kF32, good = false;
  int shortest = 0;  // k
  switch (t.a) {
    case Element::kF16: good = t.b == t.a && f16c, shortest = 16; break;
    case Element::kBf16: good = t.b == t.a && f32c, shortest = 16; break;
    case Element::kTf32: good = t.b == t.a && f32c, shortest = 8; break;
    case Element::kE4m3:
    case Element::kE5m2:
      return (t.b == Element::kE4m3 || t.b == Element::kE5m2) && f16c && t.k == 64 ? metadata_bits(t) / 16 : 0;
    case Element::kS8:
    case Element::kU8: good = t.b == Element::kS8 || t.b == Element::kU8, shortest = 32; break;
    case Element::kS4:
    case Element::kU4: good = t.b == Element::kS4 || t.b == Element::kU4, shortest = 64; break;
    default: return 0;
  }
  if (bits_of(t.a) < 16) good &= t.c == Element::kS32 && t.d == Element::kS32;
  bool known = good && (t.k == shortest || t.k == 2 * shortest);
  return known ? metadata_bits(t) / 16 : 0;
}

void run(SparseCall& s) {
  bool reals = s.shape.c != Element::kS32;
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 8; ++column)
      put(s, row, column, reals ? real_sum(s, row, column) : integer_sum(s, row, column));
  }
}

}  // namespace quern::vgpu
