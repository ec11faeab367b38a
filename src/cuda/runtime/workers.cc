#include "cuda/runtime/workers.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>
#include <utility>

#include "cuda/runtime/process.h"

namespace quern::cuda {
namespace {

constexpr size_t kMostPending = 16384;
constexpr int kMostThreads = 256;
// A function of the program that takes longer doesn't hold up other streams.
constexpr auto kPatience = std::chrono::milliseconds(10);
// What stands at the end of the program for so long stands for good.
constexpr auto kLastWait = std::chrono::seconds(2);

// Signals of the program go to the program's threads. Those that an instruction causes can't be held back.
void block_signals() {
  sigset_t all;
  ::sigfillset(&all);
  for (int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) ::sigdelset(&all, s);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

// Has all that it waits for happened, given what comes before it?
class Ready {
 public:
  // Work in its order, one after the other.
  bool operator()(const Work& w) {
    bool free = std::ranges::none_of(before_, [&](const Order& o) { return w.order.follows(o); }) &&
                std::ranges::all_of(w.after, [](const auto& mark) { return mark->done.load(); });
    bool known = std::ranges::any_of(before_, [&](const Order& o) { return o.is(w.order); });
    if (!known) before_.push_back(w.order);
    return free;
  }

 private:
  std::vector<Order> before_;  // streams with work that isn't done
};

}  // namespace

bool& in_host_function() {
  thread_local bool in = false;
  return in;
}

Workers& Workers::get() {
  static Workers& only = []() -> Workers& {
    auto& made = *new Workers;
    made.drain_at_exit();
    return made;
  }();
  return only;
}

void Workers::drain_at_exit() {
  static Workers* self;
  self = this;
  ::on_exit(
      [](int code, void*) {
        self->drain();
        Process& p = Process::get();
        if (code == 0 && p.sticky != Error::kSuccess && !p.told && !p.config.go_on) end_process(1);
      },
      nullptr);
}

void Workers::add(std::shared_ptr<Work> work) {
  Lock lock(mutex_);
  work->number = ++count_;
  work->awaited = work->awaited || (at_end_ && !in_host_function());
  // Who waits begins with it at once, if that is possible.
  bool mine = work->awaited && !work->calls_host && pending_.empty();
  pending_.push_back(std::move(work));
  if (!mine) have_one_ready();
}

void Workers::make_room() {
  if (in_host_function()) return;
  Lock lock(mutex_);
  if (pending_.size() < kMostPending) return;
  auto until = pending_[kMostPending / 2];
  await(lock, {until}, [](const Work&) { return false; });
}

bool Workers::pending(const Which& which) {
  Lock lock(mutex_);
  return std::ranges::any_of(pending_, [&](const auto& w) { return which(*w); });
}

Error Workers::finish(const Which& which) {
  Lock lock(mutex_);
  std::vector<std::shared_ptr<Work>> all;
  std::ranges::copy_if(pending_, std::back_inserter(all), [&](const auto& w) { return which(*w); });
  await(lock, std::move(all), which);
  return std::exchange(error_, Error::kSuccess);
}

Error Workers::finish(const std::shared_ptr<Work>& work) {
  Lock lock(mutex_);
  await(lock, {work}, [&](const Work& w) { return w.number <= work->number && w.order.is(work->order); });
  return work->error;
}

void Workers::finish_quietly() {
  Lock lock(mutex_);
  await(lock, {pending_.begin(), pending_.end()}, [](const Work&) { return true; });
}

// Waits for all of them; meanwhile does what `which` names, if it is next.
void Workers::await(Lock& lock, std::vector<std::shared_ptr<Work>> all, const Which& which) {
  while (true) {
    while (!all.empty() && all.back()->done) all.pop_back();
    if (all.empty()) break;
    auto next = startable();
    if (next && !next->calls_host && next->number <= all.back()->number && which(*next)) {
      run(lock, next);
      continue;
    }
    if (next) have_one_ready();
    all.back()->waited_for = true;
    less_.wait(lock);
  }
  if (startable()) have_one_ready();
}

// The first that may begin; null: none.
std::shared_ptr<Work> Workers::startable() {
  host_functions_stand();
  if (active_) return nullptr;
  Ready ready;
  for (const auto& w : pending_) {
    if (ready(*w) && !w->running) return w;
  }
  return nullptr;
}

// Runs it without the lock.
void Workers::run(Lock& lock, const std::shared_ptr<Work>& work) {
  work->running = true;
  ++active_;
  in_host_ += work->calls_host;
  if (work->calls_host) have_one_ready();
  lock.unlock();
  int device = std::exchange(thread_state().device, work->order.device);
  Error e = execute(*work);
  thread_state().device = device;
  work->operation = Nothing{};
  lock.lock();
  work->stands ? --standing_ : --active_;
  in_host_ -= work->calls_host;
  work->error = e;
  if (e != Error::kSuccess && !work->awaited && error_ == Error::kSuccess) error_ = e;
  pending_.erase(std::ranges::find(pending_, work));
  work->after.clear();
  for (auto& [event, mark] : work->marks) mark->done = true;
  work->marks.clear();
  work->done = true;
  if (work->waited_for) less_.notify_all();
}

void Workers::stand(Work& work) {
  if (work.stands || !work.running || work.done) return;
  work.stands = true;
  --active_;
  ++standing_;
}

void Workers::stands(Work& work) {
  if (work.stands) return;
  Lock lock(mutex_);
  stand(work);
  have_one_ready();
}

// Those that have run for a while. Whether any runs that doesn't stand yet.
bool Workers::host_functions_stand() {
  if (!in_host_) return false;
  bool more = false;
  auto now = std::chrono::steady_clock::now();
  for (const auto& w : pending_) {
    auto since = w->in_host.load();
    if (!w->running || w->stands || since == decltype(since){}) continue;
    now - since >= kPatience ? stand(*w) : void(more = true);
  }
  return more;
}

// A thread is woken, or made, that looks for work, or at the clock where a function of the program may take long.
void Workers::have_one_ready() {
  if (active_ > in_host_ || pending_.size() == static_cast<size_t>(active_ + standing_)) return;
  if (idle_) return more_.notify_one();
  if (threads_ >= kMostThreads) return;
  ++threads_;
  std::thread([this] { loop(); }).detach();
}

void Workers::loop() {
  block_signals();
  Lock lock(mutex_);
  while (true) {
    if (auto work = startable()) {
      run(lock, work);
      continue;
    }
    bool look_again = host_functions_stand();
    ++idle_;
    if (look_again) {
      more_.wait_for(lock, kPatience);
    } else {
      more_.wait(lock);
    }
    --idle_;
  }
}

// What is left is done, but for what nobody can release any more.
void Workers::drain() {
  if (in_host_function()) return;
  Lock lock(mutex_);
  at_end_ = true;
  auto progress = std::chrono::steady_clock::now();
  uint64_t left = pending_.size();
  while (!pending_.empty()) {
    if (startable()) have_one_ready();
    pending_.back()->waited_for = true;
    less_.wait_for(lock, kPatience);
    auto now = std::chrono::steady_clock::now();
    if (active_ || pending_.size() != left) progress = now, left = pending_.size();
    if (now - progress > kLastWait) return;
  }
}

}  // namespace quern::cuda
