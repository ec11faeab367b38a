// Jobs 0 … count - 1 on several threads, each once, in no order; this thread is one of them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace quern::blas {

template <class F>
void parallel(int64_t count, int threads, F&& job) {
  if (threads <= 0) threads = static_cast<int>(std::thread::hardware_concurrency());
  int64_t workers = std::clamp<int64_t>(threads, 1, std::max<int64_t>(count, 1));
  std::atomic<int64_t> next = 0;
  auto work = [&] {
    for (int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) job(i);
  };
  std::vector<std::jthread> others;
  for (int64_t i = 1; i < workers; ++i) others.emplace_back(work);
  work();
}

}  // namespace quern::blas
