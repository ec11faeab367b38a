// What the passes of fuse/ and place/ ask about the machine that a program is for: numbers, never names. A target fills
// it in from the processor it finds or from the chip it is told.
#pragma once

#include <cstdint>
#include <vector>

#include "base/scalar_type.h"
#include "tile/expression.h"

namespace quern::tile {

// How one core or unit multiplies: m x n outputs in registers for each step of k, from elements of type `operand` into
// accumulators of type `result`.
struct DotRule {
  ScalarType operand = ScalarType::f32;
  ScalarType result = ScalarType::f32;
  int64_t m = 1, n = 1, k = 1;  // register block: rows, columns (in lanes), elements of k taken together
  int64_t min_rows = 1;         // fewer rows are better done as a matrix times a vector
  double per_cycle = 1;         // multiply-adds a cycle and unit
};

// A function that the target has no code for in a type.
struct Lack {
  Op op = Op::kExp;
  ScalarType type = ScalarType::f32;
  bool operator==(const Lack&) const = default;
};

struct Machine {
  int64_t vector_bytes = 16;  // of one register
  int64_t registers = 16;     // vector registers of one unit
  int64_t warp = 0;           // not 0: so many lanes a vector has, whatever the type: they are threads
  int64_t near_bytes = 0;     // memory close to one unit that a grid point may fill: half the L2 of a core
  int64_t line_bytes = 64;
  int64_t units = 1;                 // cores, or multiprocessors
  bool real_block_loops = true;      // block axes are loops in the code; false: they are spread over lanes and units
  bool lanes_talk = false;           // layouts, shuffles and barriers exist
  double flops_per_second = 1;       // f32, one unit, measured or from the chip row
  double near_bytes_per_second = 1;  // one unit
  double far_bytes_per_second = 1;   // all units
  std::vector<DotRule> dots;
  std::vector<Lack> lacks;  // N902 where a kernel needs one of these

  int64_t lanes(ScalarType type) const { return warp > 0 ? warp : vector_bytes * 8 / row(type).bits; }
  const DotRule* dot(ScalarType operand, ScalarType result) const {
    for (const DotRule& r : dots) {
      if (r.operand == operand && r.result == result) return &r;
    }
    return nullptr;
  }
};

}  // namespace quern::tile
