// Allocation and release of device memory, and what can be asked about a pointer.
#include "cuda/api/entry.h"
#include "cuda/runtime/device_memory.h"
#include "cuda/runtime/graph.h"
#include "cuda/runtime/pool.h"

namespace quern::cuda {
namespace {

Error cudaMalloc(void** pointer, size_t bytes) {
  return allocating_entry([&] {
    if (!pointer) return Error::kInvalidValue;
    *pointer = nullptr;
    if (!bytes) return Error::kSuccess;
    *pointer = bytes > INT64_MAX
                   ? nullptr
                   : allocate(static_cast<int64_t>(bytes), vgpu::Holds::kGlobal, kNameMalloc, thread_state().device);
    return *pointer ? Error::kSuccess : Error::kMemoryAllocation;
  });
}

Error cudaFree(void* pointer) {
  return entry_when_done([&] {
    if (!pointer) return Error::kSuccess;
    if (capture_forbids_waiting()) return Error::kStreamCaptureUnsupported;
    auto found = allocation_of(pointer);
    bool whole = found && found->address == reinterpret_cast<uint64_t>(pointer);
    return whole && is_freeable(*found) && end_release(pointer) ? Error::kSuccess : Error::kInvalidValue;
  });
}

Error cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  if (!pointer || !pitch) return remember(Error::kInvalidValue);
  size_t bytes;
  if (width > SIZE_MAX - kPitchAlign || __builtin_mul_overflow(pitch_of(width), height, &bytes)) {
    return remember(Error::kMemoryAllocation);
  }
  *pitch = pitch_of(width);
  return cudaMalloc(pointer, bytes);
}

Error cudaMalloc3D(PitchedPtr* pointer, Extent extent) {
  if (!pointer) return remember(Error::kInvalidValue);
  size_t rows;
  if (__builtin_mul_overflow(extent.height, extent.depth, &rows)) return remember(Error::kMemoryAllocation);
  PitchedPtr out{nullptr, 0, extent.width, extent.height};
  Error e = cudaMallocPitch(&out.ptr, &out.pitch, extent.width, rows);
  if (e == Error::kSuccess) *pointer = out;
  return e;
}

Error cudaMallocManaged(void** pointer, size_t bytes, unsigned flags) {
  return allocating_entry([&] {
    if (!pointer || !bytes || bytes > INT64_MAX || (flags != 1 && flags != 2)) return Error::kInvalidValue;
    *pointer = allocate(static_cast<int64_t>(bytes), vgpu::Holds::kHost, kNameManaged, thread_state().device);
    return *pointer ? Error::kSuccess : Error::kMemoryAllocation;
  });
}

Error cudaMemGetInfo(size_t* free, size_t* total) {
  return entry([&] {
    if (free) *free = static_cast<size_t>(free_bytes(thread_state().device));
    if (total) *total = static_cast<size_t>(total_bytes(thread_state().device));
    return Error::kSuccess;
  });
}

Error cudaPointerGetAttributes(PointerAttributes* out, const void* pointer) {
  return entry([&] {
    if (!out || !pointer) return Error::kInvalidValue;
    *out = {};
    void* address = const_cast<void*>(pointer);
    auto found = allocation_of(pointer);
    out->type = MemoryType::kUnregistered;
    out->device = -2;  // cudaInvalidDeviceId
    if (!found) {
      out->host_pointer = address;
      return Error::kSuccess;
    }
    out->device = found->device;
    out->device_pointer = address;
    if (is_managed(*found)) {
      out->type = MemoryType::kManaged;
      out->host_pointer = address;
    } else if (found->holds == vgpu::Holds::kHost) {
      out->type = MemoryType::kHost;
      out->host_pointer = address;
    } else {
      out->type = MemoryType::kDevice;
    }
    return Error::kSuccess;
  });
}

}  // namespace

std::span<const Export> memory_exports() {
  static const Export rows[] = {
      QUERN_EXPORT(cudaMalloc),
      QUERN_EXPORT(cudaFree),
      QUERN_EXPORT(cudaMallocPitch),
      QUERN_EXPORT(cudaMalloc3D),
      QUERN_EXPORT(cudaMallocManaged),
      QUERN_EXPORT(cudaMemGetInfo),
      QUERN_EXPORT(cudaPointerGetAttributes),
  };
  return rows;
}

}  // namespace quern::cuda
