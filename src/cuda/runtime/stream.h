// Streams and events: what a program puts work into, and what it waits for. The work itself is done by the workers
// (workers.h), also where the call waits for it.
#pragma once

#include <memory>
#include <vector>

#include "cuda/runtime/operation.h"
#include "cuda/runtime/process.h"
#include "cuda/runtime/shared_event.h"
#include "cuda/runtime/work.h"

namespace quern::cuda {

struct Capture;
struct Node;

struct Stream {
  uint64_t id = 0;
  uint32_t flags = 0;  // 1: cudaStreamNonBlocking
  int priority = 0;
  int device = 0;
  bool legacy = false;
  std::shared_ptr<Capture> capture;
  std::vector<Node*> after;  // in a capture: what the next operation depends on
};

struct Event {
  uint32_t flags = 0;  // 2: cudaEventDisableTiming
  int device = 0;
  std::shared_ptr<SharedEvent> shared;  // of one that other processes may open; null: of another
  std::shared_ptr<Mark> mark;           // the last record's; null: there was none
  std::shared_ptr<Capture> capture;     // when last recorded in one
  std::vector<Node*> after;
};

inline constexpr uint32_t kStreamNonBlocking = 1;
inline constexpr uint32_t kEventDisableTiming = 2, kEventInterprocess = 4;

// The handles 0 and 1 (the legacy stream) and 2 (the one of the thread) stand for streams of the current device.
inline Stream* const kLegacyStream = reinterpret_cast<Stream*>(1);
inline Stream* const kPerThreadStream = reinterpret_cast<Stream*>(2);

// Null: no stream.
std::shared_ptr<Stream> find_stream(Stream* handle);
Stream* make_stream(uint32_t flags, int priority);

// Puts an operation into a stream, or into the graph that the stream captures. It runs on the stream's device, later,
// or before this returns; what a library's function does always has been done then. Not with the process's lock, unless
// the stream captures.
enum class When { kLater, kNow };
Error submit(Stream* handle, Operation operation, When when = When::kLater);

// What waiting for a stream, or for all of them, gives: an error while they capture.
Error synchronize(Stream* handle);
Error synchronize_device();
// kNotReady where there is work in it that isn't done.
Error query(Stream* handle);
// Waits for all streams of all devices, whatever they capture: what they work on can be taken away then.
void finish_all();
// Is the record done? kNotReady. And waits for it.
Error query(const Event& event);
Error synchronize(const Event& event);

}  // namespace quern::cuda
