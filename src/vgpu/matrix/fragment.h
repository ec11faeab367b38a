// Fragments of matrices between memory and a warp's registers (PTX ISA 9.7.14.4.3 and .4): what wmma.load and
// wmma.store do, in one call of emitted code.
//
// A matrix in memory is lines (rows, or columns where it is stored by columns) that are `stride` elements apart. Where
// all lanes give one address and one stride, as the manual demands, and all elements may be accessed, whole lines are
// checked and moved in blocks of eight. Everything else goes the slow way: register after register, lane after lane,
// which finds the access that is wrong, and does right what is merely unusual (lines that overlap, halves of words,
// lanes that are off or have an address of their own).
#pragma once

#include <cstdint>

#include "vgpu/matrix/matrix.h"
#include "vgpu/memory.h"

namespace quern::vgpu {

struct Warp;

enum class Part : int32_t { kA, kB, kC };  // of a product; C stands for D too

struct FragmentShape {
  int32_t m = 0, n = 0, k = 0;
  Element element{};
  Part part{};
  int32_t by_columns = 0;  // in memory

  constexpr int rows() const { return part == Part::kB ? k : m; }
  constexpr int columns() const { return part == Part::kA ? k : n; }
  constexpr int lines() const { return by_columns ? columns() : rows(); }
  constexpr int line_elements() const { return by_columns ? rows() : columns(); }
  // Elements in a register: they follow each other along k, or in a row of C.
  constexpr int each() const {
    int bits = bits_of(element);
    return part == Part::kC ? (bits == 16 ? 2 : 1) : bits < 32 ? 32 / bits : 1;
  }
  // Whether those lie one behind the other in memory too, so that a register is one access of a lane.
  constexpr bool packed() const { return each() == 1 || (part == Part::kB) == (by_columns != 0); }
  constexpr int register_bits() const { return bits_of(element) > 32 ? 64 : 32; }
  constexpr int registers() const { return registers_of(rows() * columns(), element); }
  constexpr int access_bytes() const { return (packed() ? register_bits() : bits_of(element)) / 8; }
};

struct ElementPlace {
  int row = 0, column = 0;
};
// Of element i of a lane's register; matrix.h says it in words.
ElementPlace place_of(const FragmentShape& shape, int reg, int lane, int i);

// Eight elements of eight lines or so, which are in one register, or in two of C. How far to the next one.
struct BlockStep {
  int32_t count = 0;
  int32_t lines = 0, bytes = 0;
};

// A constant of the code. Registers lie as in MatrixCall. There may be more of them than the shape has: those hold what
// the first ones hold.
struct FragmentCall {
  FragmentShape shape;
  int32_t store = 0;
  int32_t registers = 0;
  int32_t offsets[kMostRegisters] = {};
  // What follows from that.
  int32_t own_registers = 0;
  int32_t bits = 0;  // of an element
  int32_t lines = 0, line_bytes = 0;
  int32_t unit = 0;   // bytes that whole lines must be aligned to
  int32_t mover = 0;  // a number of the file that does it
  BlockStep inner, outer;
};
FragmentCall fragment_call(const FragmentShape& shape, bool store, int registers);

// What accesses need to know of memory.
struct Ground {
  AddressSpace space;
  bool checked = true;  // memory; else only the range of addresses is
  bool init = true;     // loads, for values
};

// Both return zero, or one where an access is forbidden: then Warp::fault_… tell of the first one, by the number that
// the code gives as its check, with the lanes' addresses in Warp::address. Registers of a load hold nothing certain
// then, and a store has done what comes before.
//
// All lanes, with one address and one stride (elements).
int32_t move_fragment(Warp* warp, const FragmentCall* call, uint8_t* registers, uint64_t address, uint64_t stride,
                      int32_t check);
// Some lanes, with addresses in Warp::address; a load's registers are zeros in the others.
int32_t move_fragment_of_lanes(Warp* warp, const FragmentCall* call, uint8_t* registers, const uint32_t* strides,
                               uint32_t lanes, int32_t check);

}  // namespace quern::vgpu
