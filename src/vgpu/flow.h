// The control flow of a function as blocks in the order in which a warp runs them, with the sets that say where lanes
// of the warp may be waiting meanwhile.
//
// A warp runs the lowest block that has lanes ("min-PC"). Lanes that took another way wait at the head of theirs, in a
// mask that each block has. What can wait where is known before: waiting(b) is the set of blocks at which lanes may
// wait while b runs. An empty set means that the warp is whole in b.
//
// Order: that of the text. Compilers write loops contiguous and arms before joins, so that lanes meet again as early as
// possible; any order is right.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/module.h"

namespace quern::vgpu {

// How a block ends.
enum class End : uint8_t {
  kNext,    // goes on with the next block
  kBranch,  // bra: next[0]; guarded: else next[1]
  kTable,   // brx.idx
  kExit,    // ret or exit: guarded: else next[0]
  kTrap,
};

struct Block {
  int32_t begin = 0, end = 0;  // of the function's instructions
  End ends = End::kNext;
  bool guarded = false;    // the last instruction has a guard
  bool divergent = false;  // set by analysis: lanes may part here
  bool parks = false;      // lanes may wait at its head until others have come: barriers, exchanges among lanes
  bool spins = false;      // it ends with the way back of a loop that waits for what other threads write, so that
                           // others must run now and then
  std::vector<int32_t> next, previous;
  std::vector<int32_t> waiting;  // sorted; Flow::exit() stands for lanes that have ended
};

// A set of registers as bits.
using Bits = std::vector<uint64_t>;
inline bool has(const Bits& bits, int32_t i) { return bits[static_cast<size_t>(i) / 64] >> (i % 64) & 1; }
inline void add(Bits& bits, int32_t i) { bits[static_cast<size_t>(i) / 64] |= uint64_t{1} << (i % 64); }

struct Flow {
  std::vector<Block> blocks;
  std::vector<int32_t> block_of;  // an instruction
  std::vector<Bits> live_in;      // registers, of each block
  int32_t exit() const { return static_cast<int32_t>(blocks.size()); }
};

Flow flow_of(const ptx::Function& function);
// Whether some loop of the function waits for others.
bool has_spins(const Flow& flow);

// Fills Block::waiting from Block::divergent and Block::parks.
void find_waiting(Flow& flow);

// The registers that an instruction reads or writes, the guard among the former; the carry flag where it is given a
// number.
struct Uses {
  std::vector<int32_t> reads, writes;
};
Uses uses(const ptx::Instruction& instruction, int32_t carry = ptx::kNone);

}  // namespace quern::vgpu
