// Products with a sparse A (PTX ISA 9.7.14.6): of each chunk of columns of A only half are kept, in fragments that are
// laid out like those of a matrix of k / 2 columns; metadata says which ones they are. B, C and D are as in matrix.h.
//
//   elements of   chunk, of which are kept   in the metadata
//   32 bits       2 columns, 1               4 bits: 0b0100 the first, 0b1110 the second
//   16 and 8      4 columns, 2               2 bits each, the first one's are the low ones
//   4             8 columns, 2 pairs         2 bits each pair
//
// Those bits of a row, chunk after chunk, lie in the registers of t = 1, 2 or 4 lanes of each four, from 4 * (row % 8)
// + selector * t on. Where elements have 16 or 32 bits, lane j has bits 16j … 16j + 15 of the rows r (in its low half)
// and r + 8. Else lane j has bits 32 * (j / 2) … + 31 of row r + 8 * (j % 2).
//
// The sum is that of a product of k / 2 columns. Elements of B that no kept one meets don't count, even if they are no
// numbers. One plain way does all of it.
#pragma once

#include <cstdint>

#include "vgpu/matrix/matrix.h"

namespace quern::vgpu {

struct SparseCall {
  MatrixShape shape;  // m16n8k…
  int32_t selector = 0;
  alignas(64) uint32_t a[4][32];
  uint32_t b[4][32], c[4][32], metadata[32];
  uint32_t d[4][32];
};

// Lanes of each four that hold metadata; 0: there is no such product for chips up to sm_90.
int metadata_lanes(const MatrixShape& shape);

void run(SparseCall& call);

}  // namespace quern::vgpu
