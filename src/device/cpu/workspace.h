// What a run needs besides its arguments: temporary buffers, and for each thread an arena. Kept
// from run to run, because fresh pages cost more than a small kernel; each run has one to itself.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "device/device.h"

namespace quern::device::cpu {

// E716 if the machine has less memory than that.
Result<Memory> allocate(int64_t bytes, std::string_view what);

struct Workspace {
  std::vector<Memory> temporaries;  // one a kTmp parameter, in order
  std::vector<int64_t> temporary_bytes;
  std::vector<Memory> arenas;  // one a thread
  int64_t arena_bytes = 0;     // of each
};

// The workspaces that are not in use now.
class WorkspacePool {
 public:
  std::unique_ptr<Workspace> take();
  void give(std::unique_ptr<Workspace> workspace);

 private:
  static constexpr size_t kKept = 2;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Workspace>> free_;
};

}  // namespace quern::device::cpu
