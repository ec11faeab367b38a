// Streams and events. Work runs when it is put into a stream, before the call returns, as CUDA allows it to: with
// CUDA_LAUNCH_BLOCKING real devices do the same. So a stream is never behind, and an event has happened once it is
// recorded. What is left for streams to do is captures, and to be what CUDA says they are.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "cuda/runtime/operation.h"
#include "cuda/runtime/process.h"

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
  bool recorded = false;
  std::chrono::steady_clock::time_point time;
  std::shared_ptr<Capture> capture;  // when last recorded in one
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

// Puts an operation into a stream, or into the graph that the stream captures. It runs on the stream's device.
Error submit(Stream* handle, Operation operation);
// What waiting for a stream, or for all of them, gives: an error while they capture.
Error synchronize(Stream* handle);
Error synchronize_device();

}  // namespace quern::cuda
