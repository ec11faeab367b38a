// Products of matrices that a warp holds in registers (PTX ISA 9.7.14): D = A * B + C.
//
// A fragment is a register of 32 or 64 bits in each lane, or several. Where an element lies:
//   A  register r: row 8 * (r % (m / 8)) + l / 4, from column 4 * e * (r / (m / 8)) + e * (l % 4) on
//   B  register r: column 8 * (r / (k / 4e)) + l / 4, from row 4 * e * (r % (k / 4e)) + e * (l % 4) on
//   C, D of 32 and 64 bits: registers 2q and 2q + 1: row 8 * (q % (m / 8)) + l / 4, columns 8 * (q / (m / 8)) +
//      2 * (l % 4) and the next; of 16 bits, both are the halves of register q
// l is the lane and e the number of elements in a register. The manual's tables for mma are these formulas; what
// wmma keeps where is nobody's business but ours, and follows them too. The one exception is m8n8k4 of f16.
//
// Arithmetic: reals of 16 bits and fewer and tf32 are multiplied and added as f32, by fused operations, in the order of
// k, from C on; where k is above 8, every other eight of them is a sum of its own, from zero on, which is added at the
// end. What the manual demands is at least single precision in any order. Results in f16 are rounded once more.
// f64 is added from C on, rounded as asked; integers are exact.
#pragma once

#include <cstdint>

namespace quern::jit {
enum class VectorLevel : uint8_t;
}

namespace quern::vgpu {

enum class Element : int32_t { kF16, kBf16, kTf32, kE4m3, kE5m2, kF32, kF64, kS8, kU8, kS4, kU4, kB1, kS32 };

constexpr int bits_of(Element e) {
  switch (e) {
    case Element::kF16:
    case Element::kBf16: return 16;
    case Element::kE4m3:
    case Element::kE5m2:
    case Element::kS8:
    case Element::kU8: return 8;
    case Element::kS4:
    case Element::kU4: return 4;
    case Element::kB1: return 1;
    case Element::kF64: return 64;
    default: return 32;
  }
}

struct MatrixShape {
  int32_t m = 0, n = 0, k = 0;
  Element a{}, b{}, c{}, d{};
  int32_t saturate = 0;   // integers: to the range of s32, once, at the end
  int32_t combine = 0;    // of bits: 0 xor, 1 and; then the ones are counted
  int32_t round = 0;      // of f64: Round
  int32_t quads = 0;      // m8n8k4 of f16: four products, each of the lanes 4q … 4q + 3 and 16 more
  int32_t a_columns = 0;  // there: a lane has a column of A rather than a row
  int32_t b_columns = 0;
};

// How many registers a fragment of so many elements has.
constexpr int registers_of(int elements, Element e) {
  int bits = bits_of(e);
  return elements * bits / (32 * (bits > 32 ? bits : 32));
}

inline constexpr int kMostRegisters = 16;

// A constant of the code. Registers lie at so many bytes from a base, 32 lanes one behind the other; D's may be C's.
struct MatrixCall {
  MatrixShape shape;
  int32_t a[kMostRegisters], b[kMostRegisters], c[kMostRegisters], d[kMostRegisters];
};

// Calls of one shape and one A, one after the other.
using Multiply = void (*)(const MatrixCall*, uint8_t* base, int32_t count);

// The registers themselves, for what doesn't care where they came from: C, then D in its place.
struct MatrixRegisters : MatrixShape {
  alignas(64) uint32_t ra[512], rb[512], rc[512];
};

// What does it, by what is known when code is made. All can do what the first can, as far as it is theirs.
enum class Multiplier : int32_t {
  kAny,      // the plain way: every kind
  kReals,    // f16, bf16, tf32, e4m3, e5m2 into f32 or f16
  kPairs,    // f16 and bf16 into f32
  kNumbers,  // s8, u8, s4, u4 into s32
  kDoubles,  // f64, rounded to nearest
};
inline constexpr int kMultipliers = 5;

// The fastest multiplier of that call.
Multiplier multiplier_of(const MatrixShape& shape);
// A table by Multiplier, of functions for processors of that level; which this one must be. All give the same bits, but
// for the payload of NaNs.
const Multiply* multipliers(jit::VectorLevel level);

// Elements of fragments as numbers, for the plain way and for tests.
float real_of(Element e, uint32_t code);
int32_t integer_of(Element e, uint32_t code);
uint32_t half_code(float value);  // rounded to nearest

}  // namespace quern::vgpu
