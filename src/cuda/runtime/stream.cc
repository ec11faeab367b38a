#include "cuda/runtime/stream.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

#include "cuda/runtime/graph.h"
#include "cuda/runtime/live.h"
#include "cuda/runtime/texture.h"
#include "cuda/runtime/workers.h"

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

Order order_of(const Stream& s) { return {s.id, s.device, s.legacy, !s.legacy && !(s.flags & kStreamNonBlocking)}; }

// What waiting for a stream waits for: for the legacy one, all others that it waits for itself.
Workers::Which in(const Order& order) {
  return [order](const Work& w) { return order.legacy ? order.follows(w.order) : order.is(w.order); };
}

// After waiting: a fault comes before other errors.
Error waited(Error e) {
  Error sticky = Process::get().sticky;
  return sticky != Error::kSuccess ? sticky : e;
}

void nap() { std::this_thread::sleep_for(std::chrono::microseconds(50)); }

// Who asks in a loop lets others go on.
Error not_ready() {
  std::this_thread::yield();
  return Error::kNotReady;
}

// What is known of an operation when it is put into a stream: the events that it waits for and records as they are
// then, whether it calls the program.
void prepare(Operation& operation, const std::shared_ptr<Work>& work, bool direct = true) {
  for (auto* graph : inner_graphs(operation)) {
    for (Node* node : (*graph)->order()) {
      if (node->enabled) prepare(node->operation, work, false);
    }
  }
  if (auto* r = std::get_if<EventRecord>(&operation)) {
    auto mark = std::make_shared<Mark>();
    mark->work = work;
    r->event->capture = nullptr;
    r->event->after.clear();
    r->event->mark = mark;
    if (r->event->shared && direct) r->number = r->event->shared->record();
    work->marks.emplace_back(r->event.get(), std::move(mark));
  } else if (auto* w = std::get_if<EventWait>(&operation)) {
    const auto& mark = w->event->mark;
    if (w->event->shared && direct) w->number = w->event->shared->recorded();
    if (mark && !mark->done && mark->work.lock() != work) work->after.push_back(mark);
  } else if (std::holds_alternative<HostCall>(operation) || std::holds_alternative<CallbackCall>(operation)) {
    work->calls_host = true;
  }
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

Error submit(Stream* handle, Operation operation, When when) {
  if (in_host_function()) return Error::kNotPermitted;
  Workers& workers = Workers::get();
  auto work = std::make_shared<Work>();
  {
    Process& p = Process::get();
    Lock lock(p.mutex);
    auto stream = find_stream(handle);
    if (!stream) return Error::kInvalidResourceHandle;
    auto* wait = std::get_if<EventWait>(&operation);
    if (!stream->capture && wait && wait->event->capture) return wait_in_capture(*stream, *wait->event);
    if (stream->capture) return into_capture(*stream, std::move(operation));
    if (legacy_work_forbidden(*stream)) return Error::kStreamCaptureImplicit;
    work->order = order_of(*stream);
    work->awaited = when == When::kNow || p.config.blocking || std::holds_alternative<LibraryCall>(operation);
    work->limits = p.device(stream->device).limits;
    work->textures = TextureTable::get().described();
    prepare(operation, work);
    work->operation = std::move(operation);
    workers.add(work);
  }
  if (!work->awaited) return workers.make_room(), Error::kSuccess;
  return waited(workers.finish(work));
}

Error synchronize(Stream* handle) {
  if (in_host_function()) return Error::kNotPermitted;
  Order order;
  {
    Lock lock(Process::get().mutex);
    auto stream = find_stream(handle);
    if (!stream) return Error::kInvalidResourceHandle;
    if (stream->capture) {
      stream->capture->invalid = true;
      return Error::kStreamCaptureUnsupported;
    }
    order = order_of(*stream);
  }
  return waited(Workers::get().finish(in(order)));
}

Error synchronize_device() {
  if (in_host_function()) return Error::kNotPermitted;
  int device = thread_state().device;
  {
    Lock lock(Process::get().mutex);
    if (capture_forbids_waiting()) return Error::kStreamCaptureUnsupported;
  }
  return waited(Workers::get().finish([device](const Work& w) { return w.order.device == device; }));
}

void finish_all() {
  if (!in_host_function()) Workers::get().finish_quietly();
}

Error query(Stream* handle) {
  Order order;
  {
    Lock lock(Process::get().mutex);
    auto stream = find_stream(handle);
    if (!stream) return Error::kInvalidResourceHandle;
    if (stream->capture) {
      stream->capture->invalid = true;
      return Error::kStreamCaptureUnsupported;
    }
    order = order_of(*stream);
  }
  if (Workers::get().pending(in(order))) return not_ready();
  return waited(Workers::get().finish(in(order)));
}

Error query(const Event& event) {
  bool done = !event.mark || event.mark->done;
  if (event.shared) done = event.shared->has_happened(event.shared->recorded());
  return done ? Error::kSuccess : not_ready();
}

Error synchronize(const Event& event) {
  std::shared_ptr<Mark> mark = event.mark;
  auto work = mark && !mark->done ? mark->work.lock() : nullptr;
  if (!work && !event.shared) return Error::kSuccess;
  if (in_host_function()) return Error::kNotPermitted;
  Error e = work ? waited(Workers::get().finish(work)) : Error::kSuccess;
  if (event.shared) {
    for (uint64_t last = event.shared->recorded(); !event.shared->has_happened(last);) nap();
  }
  return e;
}

}  // namespace quern::cuda
