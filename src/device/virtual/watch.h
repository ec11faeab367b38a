// Asks the caller now and then, while kernels run, whether to go on.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace quern::device::virtual_gpu {

class Watch {
 public:
  // `progress`: device::Call's; may be empty.
  Watch(const std::function<bool(int64_t done, int64_t total)>& progress, int64_t total);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  void done() { ++done_; }  // one kernel
  bool stopped() const { return stop_; }
  const std::atomic<bool>& stop() const { return stop_; }

 private:
  std::atomic<bool> stop_ = false;
  std::atomic<int64_t> done_ = 0;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

}  // namespace quern::device::virtual_gpu
