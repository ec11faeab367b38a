// One line on the terminal for whatever takes longer than a second: what, how far, since when. It is wiped at the end;
// where standard error is no terminal, nothing is shown.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace quern::cli {

class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // From any thread. Until the first call no percentage is shown.
  void update(int64_t done, int64_t total);

 private:
  void show();

  std::string what_;
  std::atomic<int64_t> done_ = 0;
  std::atomic<int64_t> total_ = 0;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;
  std::thread thread_;  // none where nothing is shown
};

}  // namespace quern::cli
