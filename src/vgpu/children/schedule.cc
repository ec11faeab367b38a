#include "vgpu/children/schedule.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

namespace quern::vgpu {
namespace {

using Outcome = Result<std::optional<Fault>>;

// A permutation of 64-bit numbers (Steele, Lea, Flood, Fast splittable pseudorandom number generators, 2014).
uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

class Schedule {
 public:
  Schedule(const std::vector<std::vector<size_t>>& after, int threads, uint64_t seed,
           const std::function<Outcome(size_t, int)>& run)
      : threads_(std::max(threads, 1)), seed_(seed), run_(run), next_(after.size()), waits_(after.size()) {
    left_ = after.size();
    for (size_t i = 0; i < after.size(); ++i) {
      waits_[i] = after[i].size();
      for (size_t before : after[i]) next_[before].push_back(i);
      if (!waits_[i]) ready(i);
    }
  }

  Outcome run() {
    size_t helpers = std::min<size_t>(static_cast<size_t>(threads_), next_.size()) - 1;
    {
      std::vector<std::jthread> others;
      for (size_t i = 0; i < helpers; ++i) others.emplace_back([this] { work(); });
      work();
    }
    return std::move(outcome_);
  }

 private:
  void ready(size_t i) { ready_.emplace(seed_ ? mixed(seed_ + i) : i, i); }
  bool failed() const { return !outcome_ || *outcome_; }
  bool over() const { return !left_ || failed(); }

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [&] { return over() || (!ready_.empty() && used_ < threads_); });
      if (over()) return;
      size_t i = ready_.begin()->second;
      ready_.erase(ready_.begin());
      int share = std::max(1, (threads_ - used_) / (1 + static_cast<int>(ready_.size())));
      used_ += share;
      lock.unlock();
      Outcome done = run_(i, share);
      lock.lock();
      used_ -= share;
      --left_;
      if ((!done || *done) && !failed()) outcome_ = std::move(done);
      for (size_t n : next_[i]) {
        if (!--waits_[n]) ready(n);
      }
      wake_.notify_all();
    }
  }

  const int threads_;
  const uint64_t seed_;
  const std::function<Outcome(size_t, int)>& run_;
  std::vector<std::vector<size_t>> next_;
  std::vector<size_t> waits_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::set<std::pair<uint64_t, size_t>> ready_;
  size_t left_ = 0;
  int used_ = 0;
  Outcome outcome_ = std::optional<Fault>();
};

}  // namespace

Outcome run_in_order(const std::vector<std::vector<size_t>>& after, int threads, uint64_t seed,
                     const std::function<Outcome(size_t, int)>& run) {
  return Schedule(after, threads, seed, run).run();
}

}  // namespace quern::vgpu
