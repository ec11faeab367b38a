// What the blocks of one grid have launched: kernels, copies and fills, in streams. A grid isn't complete before all of
// it is.
//
// They run when all blocks of the grid have ended, which CUDA allows (nobody may rely on a child that runs beside its
// parent), so that what any thread wrote before is there for all of them. Work of one stream runs in the order it was
// launched in: the stream that isn't named is the block's, named ones are the grid's. Work of different streams runs in
// any order, one beside the other where there are cores. What was put into the grid's tail stream runs last, in order.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "vgpu/children/function.h"
#include "vgpu/launch.h"

namespace quern::vgpu {

class Family;
class Grid;

// CUDA's numbers of the errors that its device runtime gives.
enum class DeviceError : uint32_t {
  kSuccess = 0,
  kInvalidValue = 1,
  kMemoryAllocation = 2,
  kInvalidConfiguration = 9,
  kInvalidMemcpyDirection = 21,
  kLaunchMaxDepthExceeded = 65,
  kSyncDepthExceeded = 68,
  kLaunchPendingCountExceeded = 69,
  kInvalidDeviceFunction = 98,
  kInvalidDevice = 101,
  kUnsupportedLimit = 215,
  kInvalidResourceHandle = 400,
  kNotSupported = 801,
};

// Where in a grid something was called.
struct Place {
  Extent block{};
  uint32_t warp = 0, lane = 0;
  int32_t site = -1;  // the instruction
};

// The grids that launched one another, the nearest first.
struct Chain {
  const Grid* grid = nullptr;
  Place place;
  const Chain* up = nullptr;
};

// Boxes of bytes: copied, or filled with one value.
struct Transfer {
  DeviceFunction what{};
  uint64_t to = 0, from = 0;
  bool fill = false;
  uint8_t value = 0;
  int64_t width = 0, height = 1, depth = 1;  // bytes, rows, slices
  int64_t to_pitch = 0, to_rows = 0;         // bytes of a row, rows of a slice
  int64_t from_pitch = 0, from_rows = 0;
};

struct Child {
  const ptx::Function* kernel = nullptr;  // null: a transfer
  Launch launch;
  Transfer transfer;
  Place place;
  uint64_t block = 0;         // that launched it
  std::vector<size_t> after;  // earlier ones of the grid that it waits for
  bool tail = false;
  bool done = false;
};

// Whose a call is.
struct Caller {
  uint64_t block = 0, thread = 0;  // in the grid
  bool per_thread = false;         // the stream that isn't named is the thread's own
};

class Children {
 public:
  Children(Family& family, int depth, const Chain* up) : family_(family), depth_(depth), up_(up) {}

  Family& family() { return family_; }
  int depth() const { return depth_; }
  const Chain* up() const { return up_; }

  // Any thread may call these while the grid runs.
  DeviceError add(Child child, const Caller& caller, uint64_t stream);
  uint64_t make_stream();
  DeviceError destroy_stream(uint64_t stream);
  uint64_t make_event();
  DeviceError destroy_event(uint64_t event);
  DeviceError record(uint64_t event, const Caller& caller, uint64_t stream);
  DeviceError wait(const Caller& caller, uint64_t stream, uint64_t event);
  DeviceError last_error(uint64_t thread, bool forget);
  void set_error(uint64_t thread, DeviceError error);

  // Runs what the block has launched so far, and what that waits for: cudaDeviceSynchronize.
  Result<std::optional<Fault>> run_block(const Grid& grid, uint64_t block);
  // Runs the rest, when the grid has ended, on so many threads of this machine.
  Result<std::optional<Fault>> run_rest(const Grid& grid, int threads);

 private:
  struct Stream {
    std::optional<size_t> last;  // the last child
    std::vector<size_t> waits;   // what the next one waits for besides
    std::vector<size_t> all() const;
  };
  enum class Kind : uint8_t { kOfBlock, kOfThread, kNamed };
  Stream* find(const Caller& caller, uint64_t stream);
  Result<std::optional<Fault>> run(const Grid& grid, const std::vector<size_t>& which, int threads);

  Family& family_;
  int depth_;
  const Chain* up_;
  std::mutex mutex_;
  std::vector<Child> all_;
  std::map<std::pair<Kind, uint64_t>, Stream> streams_;
  std::map<uint64_t, std::vector<size_t>> events_;
  std::unordered_map<uint64_t, DeviceError> errors_;  // of threads that have one
};

}  // namespace quern::vgpu
