// What compiled kernels and the scheduler share: one structure a warp, read by emitted code at these offsets, and one
// function that code calls for all that it can't do itself.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quern::vgpu {

struct Warp;
struct MatrixCall;

// What emitted code asks for. The return value is zero to go on; anything else ends the warp at once.
enum class Service : int32_t {
  kFault,    // a check failed: `site` is its number, data the base of its addresses. Never goes on.
  kBarrier,  // data: BarrierCall
  kYield,    // a loop that waits for others has turned a while
  kStop,     // *stop was seen set
  kTrap,
  kPark,    // no lane of the warp can go on: lanes wait in a barrier of some of them
  kPrint,   // vprintf; data: CallFrame
  kAssert,  // __assertfail
  kMalloc,
  kFree,
  kCall,  // an instruction that is done by a C++ function; data: SlowCall
  kClock,
  kMbarrier,  // data: MbarrierCall
  kTexture,   // data: TextureCall (texture/call.h)
};

struct BarrierCall {
  int32_t number = 0;
  int32_t threads = 0;     // expected; 0: all of the block
  int32_t kind = 0;        // 0 sync, 1 arrive, 2 red.popc, 3 red.and, 4 red.or
  uint32_t predicate = 0;  // of each lane
  uint32_t result = 0;     // of a reduction
};

// Arguments and results of a call that leaves the kernel: 32 lanes, each 8 bytes, an argument after the other.
struct CallFrame {
  uint64_t arguments[8][32];
  uint64_t result[32];
};

struct Warp {
  uint32_t ctaid[3];
  uint32_t index;  // in the block
  uint32_t ntid[3];
  uint32_t warps;  // of the block
  uint32_t nctaid[3];
  uint32_t lanes;             // the threads that exist, a bit each
  uint64_t parameters;        // address of the bank
  uint64_t shared;            // address of the block's memory; 4 GiB from there belong to nobody else
  uint64_t local;             // address of lane 0's memory; lane l has it at + l * stride, a constant of the code
  const uint64_t* variables;  // addresses, by index in the module
  volatile int32_t stop;      // set from outside: leave at the next turn of a loop
  int32_t zero;               // always
  const uint32_t* tid;        // [3][32]: of the warp, for blocks whose shape isn't known in the code
  int32_t (*service)(Warp*, Service, int32_t site, uint32_t lanes, void* data);
  uint64_t* counters;  // executions of each block of the flow; for code that counts
  uint64_t address[32];
  uint32_t unused_too;
  uint32_t dynamic_shared;  // bytes
  uint32_t total_shared;
  uint32_t smid, nsmid, envreg[2];  // %envreg1 and 2
  uint64_t grid_id;
  void (*const* multiply)(const MatrixCall*, uint8_t*, int32_t);  // products of matrices, by Multiplier
  // The scheduler's own from here on.
  void* owner = nullptr;
};

// Runs warps `first` ... of blocks: see compile.h.
using WarpCode = int32_t (*)(Warp*);
// Blocks begin ... end - 1 in order, all warps of each; for kernels in which no warp waits for another. Nonzero: ended
// early.
using BlocksCode = int32_t (*)(Warp*, uint64_t begin, uint64_t end);

}  // namespace quern::vgpu
