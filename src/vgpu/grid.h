// The scheduler: blocks of a grid over threads of this machine, warps of a block one after another, each on a stack of
// its own where warps wait for each other.
//
// A thread takes blocks in the order of the grid (or of a permutation that the caller's seed picks). While the warps of
// a block only wait for memory that other blocks write, the thread takes one more block beside it, so that whatever
// waits for a block that wasn't started yet goes on: spin locks between blocks, barriers of the whole grid.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "vgpu/children/children.h"
#include "vgpu/compile.h"
#include "vgpu/fault.h"
#include "vgpu/fiber.h"
#include "vgpu/launch.h"

namespace quern::vgpu {

class Grid;
struct BlockRun;

// Of this machine, that settings allow.
int threads_of(const Settings& settings);

// What a warp waits for.
enum class Waits : uint8_t { kReady, kBarrier, kEnded };

struct WarpRun {
  Warp warp{};
  BlockRun* block = nullptr;
  std::unique_ptr<Fiber> fiber;
  Waits waits = Waits::kReady;
  int32_t barrier = 0;
  uint32_t turn = 0;         // of the barrier, when it came
  bool yielded = false;      // it turned in a loop since it was last run
  int32_t instruction = -1;  // where it waits
  uint32_t lanes = 0;
};

struct Barrier {
  uint32_t turn = 0;      // counts releases: a warp that came in an earlier turn may go on
  uint32_t arrived = 0;   // threads
  uint32_t expected = 0;  // of the last arrival that told
  uint32_t count = 0;     // of the reduction
  bool all = true, any = false;
  uint32_t result[3] = {};  // of the last turn: popc, and, or
};

// A block that is under way, with the memory of its own.
struct BlockRun {
  Grid* grid = nullptr;
  uint64_t index = 0;
  std::vector<WarpRun> warps;
  uint32_t live = 0;    // warps
  uint64_t phases = 0;  // of barriers in shared memory, that ended
  Barrier barriers[16];
  uint64_t shared = 0, local = 0;  // addresses; 0: none
};

class Grid {
 public:
  Grid(Program& program, const Compiled& compiled, const Launch& launch, const Settings& settings, uint64_t parameters,
       uint64_t workspace, Children& children);
  ~Grid();
  // Blocks until all is done or somebody stopped it.
  Result<std::optional<Fault>> run();
  int64_t warp_instructions() const;
  // From outside, while it runs or before.
  void stop();
  void interrupt(FaultKind kind);  // it is told to the caller
  // A fault of one thread, with all that is known of the place.
  Fault located(FaultKind kind, const Place& place) const;

 private:
  friend struct Services;
  friend class DeviceCall;
  void work();     // of one thread of this machine
  void work_on();  // that, with nobody who catches what the processor refuses
  void work_simple(Warp& warp);
  void work_waiting();
  void run_block(BlockRun& block);  // warps one after the other, on this stack
  bool turn(BlockRun& block);       // each ready warp once; whether any did more than wait
  void release_barrier(BlockRun& block, int32_t number);
  void let_others(std::chrono::steady_clock::time_point since);
  WarpRun* ready(BlockRun& block, size_t after);  // the next that can run, in turn; null: none
  void rest(WarpRun& run);                        // gives the processor to the next warp, or to the scheduler
  Result<std::unique_ptr<BlockRun>> make_block(bool fibers);
  void start(BlockRun& block, uint64_t index);
  void prepare(WarpRun& warp, BlockRun& block, uint32_t index);
  bool next(uint64_t& first, uint64_t& last, uint64_t most);
  uint64_t permuted(uint64_t index) const;
  void forget(BlockRun& block);
  Fault stuck(BlockRun& block);
  void keep(Fault fault);
  Fault located(FaultKind kind, const Warp& warp, int32_t site, uint32_t lanes) const;
  void problem(Diagnostics d);

  Program& program_;
  const Compiled& compiled_;
  const Launch& launch_;
  const Settings& settings_;
  Ground ground_;  // for fragments
  uint64_t parameters_;
  uint64_t workspace_;  // of a cooperative grid; 0: none
  Children& children_;
  uint64_t blocks_;
  uint32_t threads_per_block_, warps_;
  std::vector<uint64_t> variables_;
  std::atomic<uint64_t> next_{0};
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
  std::optional<Fault> fault_;
  Diagnostics problems_;
  std::vector<Warp*> running_;
  std::vector<std::unique_ptr<std::vector<uint64_t>>> counters_;
  std::atomic<uint64_t> clock_{0};
};

}  // namespace quern::vgpu
