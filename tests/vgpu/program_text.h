// Random programs as LLVM's text, the same for every machine: no undefined results, no bits of NaNs, an end on every
// path. What shapes them is the seed alone.
//
// `main` of a program takes an input of 64 bytes and memory of 64 bytes that is its own, and gives an i64. Around it
// stand functions that it calls. Programs are straight, of nested ifs, loops and switches, or of blocks that jump
// anywhere, loops with several entries included.
#pragma once

#include <cstdint>
#include <string>

namespace quern::oracle {

enum class Shape : uint8_t { kStraight, kNested, kJumps };

struct ProgramText {
  Shape shape = Shape::kStraight;
  std::string functions;
};
ProgramText random_program(uint64_t seed);

// The module that runs it for i of 0 ... n - 1: as a kernel `all(inputs, memories, results, n)`, a thread an i, the
// second memory in shared memory; or as a function of the same parameters.
constexpr int kMostThreads = 128;  // of a block
std::string kernel_module(const ProgramText& program);
std::string host_module(const ProgramText& program);

}  // namespace quern::oracle
