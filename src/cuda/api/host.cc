// Pinned memory, and memory of the program's own that is registered.
#include "cuda/api/entry.h"
#include "cuda/runtime/device_memory.h"
#include "cuda/runtime/host_memory.h"

namespace quern::cuda {
namespace {

constexpr unsigned kHostFlags = 7, kRegisterFlags = 15;

Error cudaHostAlloc(void** out, size_t bytes, unsigned flags) {
  return entry([&] {
    if (!out || (flags & ~kHostFlags)) return Error::kInvalidValue;
    *out = nullptr;
    if (!bytes) return Error::kSuccess;
    if (bytes > INT64_MAX) return Error::kMemoryAllocation;
    *out = allocate(static_cast<int64_t>(bytes), vgpu::Holds::kHost, kNameHost, thread_state().device);
    if (!*out) return Error::kMemoryAllocation;
    keep_host_flags(*out, flags);
    return Error::kSuccess;
  });
}

Error cudaMallocHost(void** out, size_t bytes) { return cudaHostAlloc(out, bytes, 0); }

Error cudaFreeHost(void* pointer) {
  return entry_when_done([&] {
    if (!pointer) return Error::kSuccess;
    auto found = allocation_of(pointer);
    bool ours = found && found->name == kNameHost && found->address == reinterpret_cast<uint64_t>(pointer);
    if (!ours) return Error::kInvalidValue;
    forget_host_flags(pointer);
    release(pointer);
    return Error::kSuccess;
  });
}

Error cudaHostRegister(void* pointer, size_t bytes, unsigned flags) {
  return entry([&] { return flags & ~kRegisterFlags ? Error::kInvalidValue : register_host(pointer, bytes, flags); });
}

Error cudaHostUnregister(void* pointer) {
  return entry_when_done([&] { return unregister_host(pointer); });
}

Error cudaHostGetDevicePointer(void** out, void* pointer, unsigned flags) {
  return entry([&] {
    if (!out || flags) return Error::kInvalidValue;
    auto found = allocation_of(pointer);
    *out = found && found->holds == vgpu::Holds::kHost ? pointer : device_view(pointer);
    return *out ? Error::kSuccess : Error::kInvalidValue;
  });
}

Error cudaHostGetFlags(unsigned* out, void* pointer) {
  return entry([&] { return out && host_flags(pointer, *out) ? Error::kSuccess : Error::kInvalidValue; });
}

}  // namespace

std::span<const Export> host_exports() {
  static const Export rows[] = {
      QUERN_EXPORT(cudaHostAlloc),    QUERN_EXPORT(cudaMallocHost),     QUERN_EXPORT(cudaFreeHost),
      QUERN_EXPORT(cudaHostRegister), QUERN_EXPORT(cudaHostUnregister), QUERN_EXPORT(cudaHostGetDevicePointer),
      QUERN_EXPORT(cudaHostGetFlags),
  };
  return rows;
}

}  // namespace quern::cuda
