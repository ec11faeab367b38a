// Copies and fills as the driver has them: a function for each direction, and elements of 8, 16 and 32 bits.
#include <optional>

#include "cuda/api/entry.h"
#include "cuda/runtime/copy.h"
#include "cuda/runtime/device_memory.h"

namespace quern::cuda {
namespace {

void* pointer(uint64_t address) { return reinterpret_cast<void*>(address); }

// Without a stream: synchronous, in the default one.
Error copy_bytes(void* to, const void* from, size_t bytes, CopyKind kind, std::optional<Stream*> stream) {
  return open_entry([&] { return submit_copy(stream.value_or(nullptr), linear_copy(to, from, bytes, kind), !stream); });
}

Error fill_rows(uint64_t to, size_t pitch, uint32_t value, uint32_t element, size_t width, size_t height,
                std::optional<Stream*> stream) {
  return open_entry([&] {
    MemsetParams fill{pointer(to), pitch, value, element, width, height};
    return submit_fill(stream.value_or(nullptr), fill, !stream);
  });
}

Error cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t bytes, Stream* stream) {
  return copy_bytes(pointer(to), from, bytes, CopyKind::kHostToDevice, stream);
}
Error cuMemcpyHtoD_v2(uint64_t to, const void* from, size_t bytes) {
  return copy_bytes(pointer(to), from, bytes, CopyKind::kHostToDevice, std::nullopt);
}
Error cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t bytes, Stream* stream) {
  return copy_bytes(to, pointer(from), bytes, CopyKind::kDeviceToHost, stream);
}
Error cuMemcpyDtoH_v2(void* to, uint64_t from, size_t bytes) {
  return copy_bytes(to, pointer(from), bytes, CopyKind::kDeviceToHost, std::nullopt);
}
Error cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, Stream* stream) {
  return copy_bytes(pointer(to), pointer(from), bytes, CopyKind::kDeviceToDevice, stream);
}
Error cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t bytes) {
  return copy_bytes(pointer(to), pointer(from), bytes, CopyKind::kDeviceToDevice, std::nullopt);
}
Error cuMemcpyAsync(uint64_t to, uint64_t from, size_t bytes, Stream* stream) {
  return copy_bytes(pointer(to), pointer(from), bytes, CopyKind::kDefault, stream);
}
Error cuMemcpy(uint64_t to, uint64_t from, size_t bytes) {
  return copy_bytes(pointer(to), pointer(from), bytes, CopyKind::kDefault, std::nullopt);
}
Error cuMemcpyPeerAsync(uint64_t to, void*, uint64_t from, void*, size_t bytes, Stream* stream) {
  return cuMemcpyAsync(to, from, bytes, stream);
}
Error cuMemcpyPeer(uint64_t to, void*, uint64_t from, void*, size_t bytes) { return cuMemcpy(to, from, bytes); }

#define QUERN_FILL(bits, type)                                                                                         \
  Error cuMemsetD##bits##Async(uint64_t to, type value, size_t count, Stream* stream) {                                \
    return fill_rows(to, 0, value, bits / 8, count, 1, stream);                                                        \
  }                                                                                                                    \
  Error cuMemsetD##bits##_v2(uint64_t to, type value, size_t count) {                                                  \
    return fill_rows(to, 0, value, bits / 8, count, 1, std::nullopt);                                                  \
  }                                                                                                                    \
  Error cuMemsetD2D##bits##Async(uint64_t to, size_t pitch, type value, size_t width, size_t height, Stream* stream) { \
    return fill_rows(to, pitch, value, bits / 8, width, height, stream);                                               \
  }                                                                                                                    \
  Error cuMemsetD2D##bits##_v2(uint64_t to, size_t pitch, type value, size_t width, size_t height) {                   \
    return fill_rows(to, pitch, value, bits / 8, width, height, std::nullopt);                                         \
  }
QUERN_FILL(8, uint8_t)
QUERN_FILL(16, uint16_t)
QUERN_FILL(32, uint32_t)
#undef QUERN_FILL

Error cuMemAllocPitch_v2(uint64_t* out, size_t* pitch, size_t width, size_t height, unsigned element) {
  if (element != 4 && element != 8 && element != 16) return remember(Error::kInvalidValue);
  auto allocate_rows =
      reinterpret_cast<Error (*)(uint64_t*, size_t*, size_t, size_t)>(find_export("cudaMallocPitch", 13));
  return allocate_rows(out, pitch, width, height);
}

Error cuMemGetAddressRange_v2(uint64_t* base, size_t* bytes, uint64_t address) {
  return entry([&] {
    auto found = allocation_of(pointer(address));
    if (!found) return Error::kSymbolNotFound;
    if (base) *base = found->address;
    if (bytes) *bytes = static_cast<size_t>(found->bytes);
    return Error::kSuccess;
  });
}

enum PointerAttribute : int {
  kContext = 1,
  kMemoryType = 2,
  kDevicePointer = 3,
  kHostPointer = 4,
  kIsManaged = 8,
  kOrdinal = 9
};

Error cuPointerGetAttribute(void* out, int attribute, uint64_t address) {
  return entry([&] {
    auto found = allocation_of(pointer(address));
    if (!out || !found) return Error::kInvalidValue;
    bool host = found->holds == vgpu::Holds::kHost;
    switch (attribute) {
      case kMemoryType: *static_cast<unsigned*>(out) = host && !is_managed(*found) ? 1 : 2; return Error::kSuccess;
      case kDevicePointer: *static_cast<uint64_t*>(out) = address; return Error::kSuccess;
      case kHostPointer:
        if (!host) return Error::kInvalidValue;
        *static_cast<uint64_t*>(out) = address;
        return Error::kSuccess;
      case kIsManaged: *static_cast<unsigned*>(out) = is_managed(*found); return Error::kSuccess;
      case kOrdinal: *static_cast<int*>(out) = found->device; return Error::kSuccess;
      default: return Error::kInvalidValue;
    }
  });
}

}  // namespace

#define QUERN_FILLS(bits)                                                                 \
  QUERN_EXPORT_STREAM(cuMemsetD##bits##Async), QUERN_EXPORT_THREAD(cuMemsetD##bits##_v2), \
      QUERN_EXPORT_STREAM(cuMemsetD2D##bits##Async), QUERN_EXPORT_THREAD(cuMemsetD2D##bits##_v2)

std::span<const Export> driver_memory_exports() {
  static const Export rows[] = {
      QUERN_EXPORT_STREAM(cuMemcpyHtoDAsync_v2),
      QUERN_EXPORT_THREAD(cuMemcpyHtoD_v2),
      QUERN_EXPORT_STREAM(cuMemcpyDtoHAsync_v2),
      QUERN_EXPORT_THREAD(cuMemcpyDtoH_v2),
      QUERN_EXPORT_STREAM(cuMemcpyDtoDAsync_v2),
      QUERN_EXPORT_THREAD(cuMemcpyDtoD_v2),
      QUERN_EXPORT_STREAM(cuMemcpyAsync),
      QUERN_EXPORT_THREAD(cuMemcpy),
      QUERN_EXPORT_STREAM(cuMemcpyPeerAsync),
      QUERN_EXPORT_THREAD(cuMemcpyPeer),
      QUERN_FILLS(8),
      QUERN_FILLS(16),
      QUERN_FILLS(32),
      QUERN_EXPORT(cuMemAllocPitch_v2),
      QUERN_EXPORT(cuMemGetAddressRange_v2),
      QUERN_EXPORT(cuPointerGetAttribute),
  };
  return rows;
}

}  // namespace quern::cuda
