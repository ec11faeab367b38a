// How the value of a register varies over the 32 lanes of a warp, as far as it is known when compiling. Most addresses
// and counters are a number of the warp plus constants of the lanes; kept that way they cost one scalar operation, and
// an access by such an address is a plain vector load.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "ptx/module.h"
#include "vgpu/flow.h"

namespace quern::vgpu {

inline constexpr int kLanes = 32;
using Lanes = std::array<int64_t, kLanes>;

// What is known of the block's extent when compiling; kernels are compiled once a class.
struct BlockClass {
  enum Kind : uint8_t {
    kRows,    // x is a multiple of 32: a warp lies in one row
    kLine,    // y = z = 1, any x
    kNarrow,  // x is 1, 2, 4, 8 or 16 and a warp holds whole rows
    kAny,
  };
  Kind kind = kAny;
  uint32_t narrow = 0;  // x of kNarrow
  bool full = false;    // every warp has 32 threads
  bool operator==(const BlockClass&) const = default;
};
BlockClass class_of(uint32_t x, uint32_t y, uint32_t z);

struct Shape {
  enum Kind : uint8_t {
    kNone,     // never written
    kUniform,  // one number
    kPattern,  // base + lanes[l], in the register's width, wrapping
    kBits,     // base ^ lanes[l]; lanes aren't negative
    kWide,     // 64 bits: base + extend(index + lanes[l]) * scale; index 32 bits, wrapping, sign- or zero-extended
    kIndexed,  // 64 bits: base + extend(index[l]) * scale; index a vector of 32 bits
    kVarying,  // anything
  };
  Kind kind = kNone;
  int align = 0;  // kUniform, kPattern, kBits: the value or base is a multiple of 1 << align; kWide: its index is
  // kUniform, kPattern: no lane's value is negative or above this, as a signed number; -1: not known.
  int64_t most = -1;
  bool sign = false;
  int64_t scale = 1;
  std::shared_ptr<const Lanes> lanes;

  bool scalar() const { return kind == kNone || kind == kUniform; }
};
bool same(const Shape& a, const Shape& b);

struct Shapes {
  std::vector<Shape> of;                         // each register; the last one is the carry flag
  std::vector<std::optional<int64_t>> constant;  // where all that is ever written is one immediate
  // b: the register keeps its old value in lanes that don't run: per instruction, whether its results must be blended.
  std::vector<bool> blend;
};

// The shape of an operand as a value of `bits`.
Shape shape_of(const ptx::Operand& operand, const Shapes& shapes, const BlockClass& block);

// A fixed point over the function; marks Block::divergent and fills Block::waiting.
// `local_stride`: how far the local memory of a lane is from the next one's, bytes.
Shapes find_shapes(const ptx::Function& function, Flow& flow, const BlockClass& block, int64_t local_stride);

}  // namespace quern::vgpu
