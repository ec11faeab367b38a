// The threads that do the work of streams, behind the program's back.
//
// One piece of work runs at a time, in the order in which the program asked for all of it: every order that CUDA
// promises is part of that one, and a program that is deterministic stays so. Only where a piece stands still, since a
// kernel waits for what the host or another stream's kernel will write, or a function of the program takes long, others
// that needn't wait for it run beside it.
//
// Who waits for work does it itself where nobody else has begun: that spares the way to another thread and back, which
// takes longer than a small kernel. Functions of the program never run on a thread that waits.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "cuda/runtime/work.h"

namespace quern::cuda {

class Workers {
 public:
  static Workers& get();

  // Puts work behind all that is there. The caller holds the process's lock, so that the order is that of the calls.
  void add(std::shared_ptr<Work> work);
  // Waits until there is room for more. Not with the process's lock, nor in functions of the program, of course.
  void make_room();

  using Which = std::function<bool(const Work&)>;
  // Is any of it not done?
  bool pending(const Which& which);
  // Waits for all of it that is there now. The error of what went wrong since the last time, other than faults.
  Error finish(const Which& which);
  Error finish(const std::shared_ptr<Work>& work);
  // Waits for all there is; its errors stay to be told.
  void finish_quietly();

  // Work that a program doesn't wait for is done before it ends, so that faults in it are told: before objects are
  // destroyed that there are by now.
  void drain_at_exit();

  // From a thread of a kernel: it only waits for others to write something.
  void stands(Work& work);

 private:
  using Lock = std::unique_lock<std::mutex>;
  void loop();  // of a thread
  std::shared_ptr<Work> startable();
  void run(Lock& lock, const std::shared_ptr<Work>& work);
  void stand(Work& work);
  bool host_functions_stand();
  void have_one_ready();
  void await(Lock& lock, std::vector<std::shared_ptr<Work>> all, const Which& which);
  void drain();

  std::mutex mutex_;
  std::condition_variable more_, less_;
  std::deque<std::shared_ptr<Work>> pending_;  // in order, also what runs
  uint64_t count_ = 0;
  int active_ = 0;  // pieces that run and don't stand
  int standing_ = 0;
  int in_host_ = 0;  // pieces that run and may be in functions of the program
  int threads_ = 0, idle_ = 0;
  bool at_end_ = false;
  Error error_ = Error::kSuccess;
};

// True in functions of the program that a stream calls, which can't wait for it.
bool& in_host_function();

}  // namespace quern::cuda
