// Streams: making them, waiting for them, host functions in them.
#include <algorithm>

#include "cuda/api/entry.h"
#include "cuda/runtime/graph.h"
#include "cuda/runtime/live.h"

namespace quern::cuda {
namespace {

constexpr int kGreatestPriority = -5;

Error cudaStreamCreateWithPriority(Stream** out, unsigned flags, int priority) {
  return entry([&] {
    if (!out || flags > kStreamNonBlocking) return Error::kInvalidValue;
    *out = make_stream(flags, std::clamp(priority, kGreatestPriority, 0));
    return Error::kSuccess;
  });
}

Error cudaStreamCreateWithFlags(Stream** out, unsigned flags) { return cudaStreamCreateWithPriority(out, flags, 0); }
Error cudaStreamCreate(Stream** out) { return cudaStreamCreateWithPriority(out, 0, 0); }

Error cudaStreamDestroy(Stream* handle) {
  return entry([&] {
    auto stream = Live<Stream>::all().find(handle);
    if (!stream) return Error::kInvalidResourceHandle;
    if (auto capture = stream->capture) {
      // What a stream that had been joined did is in the graph, and must be joined in the end.
      capture->invalid = capture->invalid || capture->origin == handle;
      capture->left.insert(capture->left.end(), stream->after.begin(), stream->after.end());
      capture->members.erase(handle);
    }
    Live<Stream>::all().remove(handle);
    return Error::kSuccess;
  });
}

Error cudaStreamSynchronize(Stream* stream) {
  return open_entry([&] { return synchronize(stream); });
}

Error cudaStreamQuery(Stream* stream) {
  return open_entry([&] { return query(stream); });
}

Error cudaDeviceSynchronize() {
  return open_entry([&] { return synchronize_device(); });
}

// One fact of a stream.
template <class T, class F>
Error ask(Stream* handle, T* out, F fact) {
  return entry([&] {
    auto stream = find_stream(handle);
    if (!stream) return Error::kInvalidResourceHandle;
    if (!out) return Error::kInvalidValue;
    *out = fact(*stream);
    return Error::kSuccess;
  });
}

Error cudaStreamGetFlags(Stream* stream, unsigned* out) {
  return ask(stream, out, [](const Stream& s) { return s.flags; });
}
Error cudaStreamGetPriority(Stream* stream, int* out) {
  return ask(stream, out, [](const Stream& s) { return s.priority; });
}
Error cudaStreamGetId(Stream* stream, unsigned long long* out) {
  return ask(stream, out, [](const Stream& s) { return s.id; });
}
Error cudaStreamGetDevice(Stream* stream, int* out) {
  return ask(stream, out, [](const Stream& s) { return s.device; });
}

Error cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return entry([&] {
    if (least) *least = 0;
    if (greatest) *greatest = kGreatestPriority;
    return Error::kSuccess;
  });
}

Error cudaLaunchHostFunc(Stream* stream, HostFunction function, void* data) {
  return open_entry([&] { return function ? submit(stream, HostCall{function, data}) : Error::kInvalidValue; });
}

Error cudaStreamAddCallback(Stream* stream, StreamCallback function, void* data, unsigned flags) {
  return open_entry([&] {
    if (!function || flags) return Error::kInvalidValue;
    return submit(stream, CallbackCall{function, stream, data});
  });
}

Error cudaStreamAttachMemAsync(Stream* handle, void* pointer, size_t, unsigned flags) {
  return entry([&] {
    if (!find_stream(handle)) return Error::kInvalidResourceHandle;
    bool known = flags == 1 || flags == 2 || flags == 4;
    return pointer && known ? Error::kSuccess : Error::kInvalidValue;
  });
}

Error cudaStreamCopyAttributes(Stream* to, Stream* from) {
  return entry([&] { return find_stream(to) && find_stream(from) ? Error::kSuccess : Error::kInvalidResourceHandle; });
}

// What attributes of a stream steer (cache windows, how to wait) has no effect here; its priority is its own.
Error cudaStreamSetAttribute(Stream* handle, int attribute, const LaunchAttributeValue* value) {
  return entry([&] {
    auto stream = find_stream(handle);
    if (!stream) return Error::kInvalidResourceHandle;
    if (!value) return Error::kInvalidValue;
    if (attribute == static_cast<int>(LaunchAttributeId::kPriority)) stream->priority = value->priority;
    return Error::kSuccess;
  });
}

Error cudaStreamGetAttribute(Stream* handle, int attribute, LaunchAttributeValue* value) {
  return entry([&] {
    auto stream = find_stream(handle);
    if (!stream) return Error::kInvalidResourceHandle;
    if (!value) return Error::kInvalidValue;
    *value = {};
    if (attribute == static_cast<int>(LaunchAttributeId::kPriority)) value->priority = stream->priority;
    return Error::kSuccess;
  });
}

Error cudaCtxResetPersistingL2Cache() {
  return entry([] { return Error::kSuccess; });
}

}  // namespace

std::span<const Export> stream_exports() {
  static const Export rows[] = {
      QUERN_EXPORT(cudaStreamCreate),
      QUERN_EXPORT(cudaStreamCreateWithFlags),
      QUERN_EXPORT(cudaStreamCreateWithPriority),
      QUERN_EXPORT(cudaStreamDestroy),
      QUERN_EXPORT_STREAM(cudaStreamSynchronize),
      QUERN_EXPORT_STREAM(cudaStreamQuery),
      QUERN_EXPORT(cudaDeviceSynchronize),
      QUERN_EXPORT_STREAM(cudaStreamGetFlags),
      QUERN_EXPORT_STREAM(cudaStreamGetPriority),
      QUERN_EXPORT_STREAM(cudaStreamGetId),
      QUERN_EXPORT_STREAM(cudaStreamGetDevice),
      QUERN_EXPORT(cudaDeviceGetStreamPriorityRange),
      QUERN_EXPORT_STREAM(cudaLaunchHostFunc),
      QUERN_EXPORT_STREAM(cudaStreamAddCallback),
      QUERN_EXPORT_STREAM(cudaStreamAttachMemAsync),
      QUERN_EXPORT_STREAM(cudaStreamCopyAttributes),
      QUERN_EXPORT_STREAM(cudaStreamSetAttribute),
      QUERN_EXPORT_STREAM(cudaStreamGetAttribute),
      QUERN_EXPORT(cudaCtxResetPersistingL2Cache),
  };
  return rows;
}

}  // namespace quern::cuda
