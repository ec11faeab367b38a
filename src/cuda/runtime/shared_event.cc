#include "cuda/runtime/shared_event.h"

#include "cuda/runtime/device_memory.h"

namespace quern::cuda {
namespace {

constexpr const char* kName = "cudaEventInterprocess";

}  // namespace

std::shared_ptr<SharedEvent> SharedEvent::make(int device) {
  void* at = allocate(sizeof(State), vgpu::Holds::kConstant, kName, device);
  return at ? std::shared_ptr<SharedEvent>(new SharedEvent(reinterpret_cast<uint64_t>(at))) : nullptr;
}

Error SharedEvent::open(const SharedHandle& handle, int device, std::shared_ptr<SharedEvent>& out) {
  uint64_t address = 0;
  if (handle.bytes != sizeof(State) || handle.offset % alignof(State)) return Error::kInvalidValue;
  Error e = import_memory(handle, kSharedEvent, -1, kName, vgpu::Holds::kConstant, device, address);
  if (e == Error::kSuccess) out.reset(new SharedEvent(address));
  return e;
}

SharedEvent::~SharedEvent() {
  Lock lock(Process::get().mutex);
  if (!release_shared(address_)) release(reinterpret_cast<void*>(address_));
}

Error SharedEvent::export_to(SharedHandle& out) const {
  return export_memory(address_, sizeof(State), kSharedEvent, out);
}

void SharedEvent::happened(uint64_t record) {
  uint64_t before = state().done;
  while (before < record && !state().done.compare_exchange_weak(before, record)) {
  }
}

}  // namespace quern::cuda
