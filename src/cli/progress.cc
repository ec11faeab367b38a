#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>

#include "cli/interrupt.h"
#include "cli/report.h"

namespace quern::cli {

Progress::Progress(std::string what) : what_(std::move(what)) {
  if (::isatty(STDERR_FILENO)) thread_ = std::thread([this] { show(); });
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    end_ = true;
  }
  ended_.notify_one();
  thread_.join();
}

void Progress::update(int64_t done, int64_t total) {
  done_ = done;
  total_ = total;
}

void Progress::show() {
  using namespace std::chrono;
  constexpr auto kFirst = 1s;
  constexpr auto kEach = 200ms;
  auto start = steady_clock::now();
  bool shown = false;
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, shown ? milliseconds(kEach) : milliseconds(kFirst), [this] { return end_; })) {
    shown = true;
    line_is_shown(true);
    int64_t seconds = duration_cast<std::chrono::seconds>(steady_clock::now() - start).count();
    int64_t total = total_;
    std::string far = total > 0 ? fmt::format(" {:.0f} %,", 100.0 * static_cast<double>(done_) / total) : "";
    write_all(STDERR_FILENO, fmt::format("\r\033[K{}:{} {} s", what_, far, seconds));
  }
  if (shown) write_all(STDERR_FILENO, "\r\033[K");
  line_is_shown(false);
}

}  // namespace quern::cli
