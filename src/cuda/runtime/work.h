// One piece of work of a stream, from when it is put there until it is done.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

#include "cuda/runtime/operation.h"
#include "vgpu/launch.h"

namespace quern::cuda {

struct Work;

// A record of an event: when it happened, and what it is part of.
struct Mark {
  std::weak_ptr<Work> work;
  std::atomic<bool> done = false;
  std::chrono::steady_clock::time_point time;  // once done
};

// The stream, as far as it orders work.
struct Order {
  uint64_t stream = 0;
  int device = 0;
  bool legacy = false, blocking = false;

  bool is(const Order& o) const { return stream == o.stream && device == o.device; }
  // Does what is in this stream wait for what was put into the other before?
  bool follows(const Order& o) const {
    bool legacies = device == o.device && ((legacy && o.blocking) || (blocking && o.legacy));
    return is(o) || legacies;
  }
};

struct Work {
  Operation operation;
  Order order;
  // As they were when it was put into the stream.
  vgpu::Limits limits;
  std::shared_ptr<const vgpu::TextureTable> textures;
  std::vector<std::shared_ptr<const Mark>> after;                     // of events that it waits for
  std::vector<std::pair<const Event*, std::shared_ptr<Mark>>> marks;  // of events that it records
  bool calls_host = false;                                            // functions of the program are in it
  bool awaited = false;                                               // whoever put it there waits, and gets its error

  // The workers' own.
  uint64_t number = 0;
  bool running = false;
  bool waited_for = false;
  std::atomic<bool> stands = false;                              // it waits for others while it runs
  std::atomic<std::chrono::steady_clock::time_point> in_host{};  // since when; 0: no function of the program runs
  std::atomic<bool> done = false;
  Error error = Error::kSuccess;
};

// Does it, on this thread.
Error execute(Work& work);

}  // namespace quern::cuda
