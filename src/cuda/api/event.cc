// Events.
#include "cuda/api/entry.h"
#include "cuda/runtime/live.h"

namespace quern::cuda {
namespace {

constexpr uint32_t kEventFlags = 7, kRecordExternal = 1;

Error cudaEventCreateWithFlags(Event** out, unsigned flags) {
  return entry([&] {
    bool alone = (flags & kEventInterprocess) && !(flags & kEventDisableTiming);
    if (!out || (flags & ~kEventFlags) || alone) return Error::kInvalidValue;
    auto event = std::make_shared<Event>();
    event->flags = flags;
    event->device = thread_state().device;
    if (flags & kEventInterprocess) {
      event->shared = SharedEvent::make(event->device);
      if (!event->shared) return Error::kMemoryAllocation;
    }
    *out = Live<Event>::all().add(std::move(event));
    return Error::kSuccess;
  });
}

Error cudaEventCreate(Event** out) { return cudaEventCreateWithFlags(out, 0); }

Error cudaEventDestroy(Event* handle) {
  return entry([&] { return Live<Event>::all().remove(handle) ? Error::kSuccess : Error::kInvalidResourceHandle; });
}

std::shared_ptr<Event> find_event(Event* handle) {
  Lock lock(Process::get().mutex);
  return Live<Event>::all().find(handle);
}

Error cudaEventRecordWithFlags(Event* handle, Stream* stream, unsigned flags) {
  return open_entry([&] {
    auto event = find_event(handle);
    if (!event) return Error::kInvalidResourceHandle;
    if (flags & ~kRecordExternal) return Error::kInvalidValue;
    return submit(stream, EventRecord{event, (flags & kRecordExternal) != 0});
  });
}

Error cudaEventRecord(Event* handle, Stream* stream) { return cudaEventRecordWithFlags(handle, stream, 0); }

Error cudaStreamWaitEvent(Stream* stream, Event* handle, unsigned flags) {
  return open_entry([&] {
    auto event = find_event(handle);
    if (!event) return Error::kInvalidResourceHandle;
    if (flags & ~kRecordExternal) return Error::kInvalidValue;
    return submit(stream, EventWait{event, (flags & kRecordExternal) != 0});
  });
}

// ask(a copy of the event), without the lock.
template <class F>
Error about(Event* handle, F ask) {
  return open_entry([&] {
    Event now;
    {
      Lock lock(Process::get().mutex);
      auto event = Live<Event>::all().find(handle);
      if (!event) return Error::kInvalidResourceHandle;
      if (event->capture) return Error::kCapturedEvent;
      now = *event;
    }
    return ask(now);
  });
}

Error cudaEventQuery(Event* handle) {
  return about(handle, [](const Event& e) { return query(e); });
}
Error cudaEventSynchronize(Event* handle) {
  return about(handle, [](const Event& e) { return synchronize(e); });
}

Error cudaEventElapsedTime(float* out, Event* first, Event* last) {
  return entry([&] {
    auto a = Live<Event>::all().find(first), b = Live<Event>::all().find(last);
    if (!a || !b) return Error::kInvalidResourceHandle;
    if (!out) return Error::kInvalidValue;
    if (((a->flags | b->flags) & kEventDisableTiming) || !a->mark || !b->mark) return Error::kInvalidResourceHandle;
    if (!a->mark->done || !b->mark->done) return Error::kNotReady;
    *out = std::chrono::duration<float, std::milli>(b->mark->time - a->mark->time).count();
    return Error::kSuccess;
  });
}

}  // namespace

std::span<const Export> event_exports() {
  static const Export rows[] = {
      QUERN_EXPORT(cudaEventCreateWithFlags), QUERN_EXPORT(cudaEventCreate),
      QUERN_EXPORT(cudaEventDestroy),         QUERN_EXPORT_STREAM(cudaEventRecordWithFlags),
      QUERN_EXPORT_STREAM(cudaEventRecord),   QUERN_EXPORT_STREAM(cudaStreamWaitEvent),
      QUERN_EXPORT(cudaEventQuery),           QUERN_EXPORT(cudaEventSynchronize),
      QUERN_EXPORT(cudaEventElapsedTime),     QUERN_EXPORT_AS(cudaEventElapsedTime_v2, cudaEventElapsedTime, 12),
  };
  return rows;
}

}  // namespace quern::cuda
