// Memory and events of one process in another.
#include <unistd.h>

#include "cuda/api/entry.h"
#include "cuda/runtime/device_memory.h"
#include "cuda/runtime/live.h"
#include "cuda/runtime/shared_event.h"
#include "cuda/runtime/shared_memory.h"

namespace quern::cuda {
namespace {

// cudaIpcMemHandle_t, cudaIpcEventHandle_t
struct IpcHandle {
  SharedHandle shared;
  char reserved[64 - sizeof(SharedHandle)];
};
static_assert(sizeof(IpcHandle) == 64);

constexpr unsigned kLazyPeerAccess = 1;

Error cudaIpcGetMemHandle(IpcHandle* out, void* pointer) {
  return entry_when_done([&] {
    auto found = allocation_of(pointer);
    if (!out || !found || found->name != kNameMalloc) return Error::kInvalidValue;
    *out = {};
    return export_memory(found->address, found->bytes, kSharedMemory, out->shared);
  });
}

Error cudaIpcOpenMemHandle(void** out, IpcHandle handle, unsigned flags) {
  return entry([&] {
    if (!out || flags != kLazyPeerAccess) return Error::kInvalidValue;
    if (handle.shared.process == ::getpid()) return Error::kDeviceUninitialized;
    uint64_t address = 0;
    Error e = import_memory(handle.shared, kSharedMemory, -1, kNameOpened, vgpu::Holds::kGlobal, thread_state().device,
                            address);
    if (e == Error::kSuccess) *out = reinterpret_cast<void*>(address);
    return e;
  });
}

Error cudaIpcCloseMemHandle(void* pointer) {
  return entry_when_done([&] {
    auto found = allocation_of(pointer);
    bool opened = found && found->name == kNameOpened && found->address == reinterpret_cast<uint64_t>(pointer);
    return opened && release_shared(found->address) ? Error::kSuccess : Error::kInvalidValue;
  });
}

Error cudaIpcGetEventHandle(IpcHandle* out, Event* handle) {
  return entry([&] {
    auto event = Live<Event>::all().find(handle);
    if (!event) return Error::kInvalidResourceHandle;
    if (!out || !event->shared) return Error::kInvalidValue;
    *out = {};
    return event->shared->export_to(out->shared);
  });
}

Error cudaIpcOpenEventHandle(Event** out, IpcHandle handle) {
  return entry([&] {
    if (!out) return Error::kInvalidValue;
    auto event = std::make_shared<Event>();
    event->flags = kEventInterprocess | kEventDisableTiming;
    event->device = thread_state().device;
    Error e = SharedEvent::open(handle.shared, event->device, event->shared);
    if (e == Error::kSuccess) *out = Live<Event>::all().add(std::move(event));
    return e;
  });
}

}  // namespace

std::span<const Export> ipc_exports() {
  static const Export rows[] = {
      QUERN_EXPORT(cudaIpcGetMemHandle),   QUERN_EXPORT(cudaIpcOpenMemHandle),   QUERN_EXPORT(cudaIpcCloseMemHandle),
      QUERN_EXPORT(cudaIpcGetEventHandle), QUERN_EXPORT(cudaIpcOpenEventHandle),
  };
  return rows;
}

}  // namespace quern::cuda
