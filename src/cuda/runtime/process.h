// The state of the runtime in one process: the configuration, the memory of all virtual devices, and what a thread has
// chosen. It comes to life with the first call that needs it, and is never destroyed: programs free memory and destroy
// streams while they end, after static objects are gone.
//
// One lock guards all bookkeeping. It isn't held while a kernel or a host function runs.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "cuda/abi/types.h"
#include "cuda/runtime/config.h"
#include "vgpu/memory.h"

namespace quern::cuda {

struct Device {
  int number = 0;
  vgpu::Limits limits;
  std::set<int> peers;  // whose memory this one may use
  uint32_t flags = 0;   // cudaSetDeviceFlags
  int cache_config = 0;
  std::set<uint64_t> allocations;                                           // that the program has to free
  size_t stack_limit = 1024, printf_limit = 1 << 20, heap_limit = 8 << 20;  // as cudaDeviceSetLimit has them
};

class Process {
 public:
  // Ends the program with a message where the environment can't be understood or memory can't be reserved.
  static Process& get();

  const Config config;
  const std::shared_ptr<vgpu::Memory> memory;
  std::recursive_mutex mutex;
  std::vector<Device> devices;
  // Set for good by a failed assertion, or a fault with QUERN_CHECK=continue: every later call returns it.
  std::atomic<Error> sticky = Error::kSuccess;
  std::atomic<bool> told = false;  // a call has

  Device& device(int number) { return devices[number]; }
  bool has_device(int number) const { return number >= 0 && number < static_cast<int>(devices.size()); }

 private:
  Process(Config config, std::shared_ptr<vgpu::Memory> memory);
};

using Lock = std::lock_guard<std::recursive_mutex>;

// What belongs to one thread of the host.
struct ThreadState {
  Error last = Error::kSuccess;
  int device = 0;
  int capture_mode = 0;  // cudaStreamCaptureModeGlobal
};
ThreadState& thread_state();

Device& current_device();

// Prints diagnostics and ends the program with the exit code that they ask for.
[[noreturn]] void end_with(const Diagnostics& diagnostics);
// Writes what files of the program hold back and ends it, from whatever thread.
[[noreturn]] void end_process(int code);
// Prints them and lets it go on.
void warn(const Diagnostics& diagnostics);

}  // namespace quern::cuda
