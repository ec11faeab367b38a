#include "cuda/runtime/stream.h"

#include <algorithm>
#include <atomic>
#include <map>

#include "cuda/runtime/graph.h"
#include "cuda/runtime/live.h"

namespace quern::cuda {
namespace {

std::atomic<uint64_t> stream_count = 2;

std::shared_ptr<Stream> new_stream(uint32_t flags, int priority, int device, bool legacy) {
  auto s = std::make_shared<Stream>();
  s->id = legacy ? 1 : ++stream_count;
  s->flags = flags;
  s->priority = priority;
  s->device = device;
  s->legacy = legacy;
  return s;
}

std::shared_ptr<Stream> legacy_stream() {
  static auto& all = *new std::map<int, std::shared_ptr<Stream>>;
  auto& s = all[thread_state().device];
  if (!s) s = new_stream(0, 0, thread_state().device, true);
  return s;
}

std::shared_ptr<Stream> thread_stream() {
  thread_local std::map<int, std::shared_ptr<Stream>> all;
  auto& s = all[thread_state().device];
  if (!s) s = new_stream(0, 0, thread_state().device, false);
  return s;
}

void add_unique(std::vector<Node*>& to, const std::vector<Node*>& more) {
  for (Node* n : more) {
    if (std::ranges::find(to, n) == to.end()) to.push_back(n);
  }
}

// An event's wait joins a stream to the capture in which the event was recorded.
Error wait_in_capture(Stream& stream, const Event& event) {
  if (!event.capture) return Error::kStreamCaptureIsolation;
  if (!stream.capture) {
    stream.capture = event.capture;
    stream.capture->members.insert(&stream);
    stream.after = event.after;
    return Error::kSuccess;
  }
  if (stream.capture != event.capture) return Error::kStreamCaptureMerge;
  add_unique(stream.after, event.after);
  return Error::kSuccess;
}

Error into_capture(Stream& stream, Operation operation) {
  Capture& capture = *stream.capture;
  if (capture.invalid) return Error::kStreamCaptureInvalidated;
  if (auto* r = std::get_if<EventRecord>(&operation); r && !r->external) {
    r->event->capture = stream.capture;
    r->event->after = stream.after;
    return Error::kSuccess;
  }
  if (auto* w = std::get_if<EventWait>(&operation); w && !w->external) {
    Error e = wait_in_capture(stream, *w->event);
    capture.invalid = capture.invalid || e != Error::kSuccess;
    return e;
  }
  if (std::holds_alternative<CallbackCall>(operation)) {
    capture.invalid = true;
    return Error::kStreamCaptureUnsupported;
  }
  Node* node = capture.graph->add(std::move(operation), stream.after);
  if (!node) return Error::kInvalidValue;
  stream.after = {node};
  return Error::kSuccess;
}

// Work in the legacy stream would have to wait for a stream that is only being captured.
bool legacy_work_forbidden(const Stream& stream) {
  if (!stream.legacy) return false;
  bool found = false;
  Live<Stream>::all().each([&](Stream& s) {
    if (s.capture && !(s.flags & kStreamNonBlocking) && s.device == stream.device && s.capture->mode != 2) {
      s.capture->invalid = true;
      found = true;
    }
  });
  return found;
}

}  // namespace

std::shared_ptr<Stream> find_stream(Stream* handle) {
  if (!handle || handle == kLegacyStream) return legacy_stream();
  if (handle == kPerThreadStream) return thread_stream();
  return Live<Stream>::all().find(handle);
}

Stream* make_stream(uint32_t flags, int priority) {
  return Live<Stream>::all().add(new_stream(flags, priority, thread_state().device, false));
}

Error submit(Stream* handle, Operation operation) {
  int device = 0;
  {
    Lock lock(Process::get().mutex);
    auto stream = find_stream(handle);
    if (!stream) return Error::kInvalidResourceHandle;
    auto* wait = std::get_if<EventWait>(&operation);
    if (!stream->capture && wait && wait->event->capture) return wait_in_capture(*stream, *wait->event);
    if (stream->capture) return into_capture(*stream, std::move(operation));
    if (legacy_work_forbidden(*stream)) return Error::kStreamCaptureImplicit;
    device = stream->device;
  }
  return execute(operation, device);
}

Error synchronize(Stream* handle) {
  Lock lock(Process::get().mutex);
  auto stream = find_stream(handle);
  if (!stream) return Error::kInvalidResourceHandle;
  if (stream->capture) {
    stream->capture->invalid = true;
    return Error::kStreamCaptureUnsupported;
  }
  return Error::kSuccess;
}

Error synchronize_device() {
  Lock lock(Process::get().mutex);
  return capture_forbids_waiting() ? Error::kStreamCaptureUnsupported : Error::kSuccess;
}

}  // namespace quern::cuda
