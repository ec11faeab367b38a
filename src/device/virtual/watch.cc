#include "device/virtual/watch.h"

#include <chrono>

namespace quern::device::virtual_gpu {

Watch::Watch(const std::function<bool(int64_t done, int64_t total)>& progress, int64_t total) {
  if (!progress) return;
  thread_ = std::jthread([this, &progress, total](const std::stop_token& over) {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, over, std::chrono::milliseconds(50), [&] { return over.stop_requested(); })) {
      if (!progress(done_, total)) stop_ = true;
    }
  });
}

Watch::~Watch() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

}  // namespace quern::device::virtual_gpu
