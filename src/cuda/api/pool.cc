// Allocation in streams, and the pools it is from.
#include "cuda/runtime/pool.h"

#include "cuda/api/entry.h"
#include "cuda/runtime/device_memory.h"
#include "cuda/runtime/live.h"

namespace quern::cuda {
namespace {

// In a capture the allocation is a node of the graph.
Error allocate_in(Stream* handle, const std::shared_ptr<Pool>& pool, size_t bytes, void** out) {
  auto stream = find_stream(handle);
  if (!stream) return Error::kInvalidResourceHandle;
  if (!out) return Error::kInvalidValue;
  *out = nullptr;
  if (!bytes) return Error::kSuccess;
  if (Error e = allocate_from(pool, bytes, *out); e != Error::kSuccess) return e;
  return stream->capture ? submit(handle, AllocCall{pool->props, bytes, *out}) : Error::kSuccess;
}

// It is there at once: whoever uses it is behind the call.
Error cudaMallocAsync(void** out, size_t bytes, Stream* stream) {
  return allocating_entry([&] {
    auto found = find_stream(stream);
    return found ? allocate_in(stream, current_pool(found->device), bytes, out) : Error::kInvalidResourceHandle;
  });
}

Error cudaMallocFromPoolAsync(void** out, size_t bytes, Pool* handle, Stream* stream) {
  return allocating_entry([&] {
    auto pool = Live<Pool>::all().find(handle);
    return pool ? allocate_in(stream, pool, bytes, out) : Error::kInvalidValue;
  });
}

// What was put into the stream before may still use it.
Error cudaFreeAsync(void* pointer, Stream* handle) {
  return open_entry([&] {
    Operation operation = ReleaseCall{pointer};
    {
      Lock lock(Process::get().mutex);
      auto stream = find_stream(handle);
      if (!stream) return Error::kInvalidResourceHandle;
      if (!pointer) return Error::kSuccess;
      auto found = allocation_of(pointer);
      if (!found || found->address != reinterpret_cast<uint64_t>(pointer)) return Error::kInvalidValue;
      if (stream->capture) {
        operation = FreeCall{pointer};
      } else if (!begin_release(*found)) {
        return Error::kInvalidValue;
      }
    }
    Error e = submit(handle, std::move(operation));
    if (e != Error::kSuccess) {
      Lock lock(Process::get().mutex);
      cancel_release(pointer);
    }
    return e;
  });
}

Error cudaDeviceGetDefaultMemPool(Pool** out, int device) {
  return entry([&] {
    if (!Process::get().has_device(device)) return Error::kInvalidDevice;
    if (!out) return Error::kInvalidValue;
    *out = default_pool(device).get();
    return Error::kSuccess;
  });
}

Error cudaDeviceGetMemPool(Pool** out, int device) {
  return entry([&] {
    if (!Process::get().has_device(device)) return Error::kInvalidDevice;
    if (!out) return Error::kInvalidValue;
    *out = current_pool(device).get();
    return Error::kSuccess;
  });
}

Error cudaDeviceSetMemPool(int device, Pool* handle) {
  return entry([&] {
    auto pool = Live<Pool>::all().find(handle);
    if (!Process::get().has_device(device)) return Error::kInvalidDevice;
    if (!pool) return Error::kInvalidValue;
    set_current_pool(device, std::move(pool));
    return Error::kSuccess;
  });
}

Error cudaMemPoolCreate(Pool** out, const PoolProps* props) {
  return entry([&] {
    if (!out || !props) return Error::kInvalidValue;
    if (props->handle_types) return Error::kNotSupported;
    bool device = props->location.type == LocationType::kDevice;
    if (device && !Process::get().has_device(props->location.id)) return Error::kInvalidDevice;
    auto pool = std::make_shared<Pool>();
    pool->device = device ? props->location.id : thread_state().device;
    pool->props = *props;
    *out = Live<Pool>::all().add(std::move(pool));
    return Error::kSuccess;
  });
}

Error cudaMemPoolDestroy(Pool* handle) {
  return entry([&] {
    auto pool = Live<Pool>::all().find(handle);
    if (!pool || pool == default_pool(pool->device)) return Error::kInvalidValue;
    if (current_pool(pool->device) == pool) set_current_pool(pool->device, default_pool(pool->device));
    Live<Pool>::all().remove(handle);
    return Error::kSuccess;
  });
}

enum PoolAttribute : int {
  kReuseFirst = 1,
  kReuseLast = 3,
  kReleaseThreshold = 4,
  kReservedCurrent = 5,
  kReservedHigh = 6,
  kUsedCurrent = 7,
  kUsedHigh = 8,
};

Error cudaMemPoolGetAttribute(Pool* handle, int attribute, void* out) {
  return entry([&] {
    auto pool = Live<Pool>::all().find(handle);
    if (!pool || !out) return Error::kInvalidValue;
    auto give = [&](uint64_t value) { return *static_cast<uint64_t*>(out) = value, Error::kSuccess; };
    if (attribute >= kReuseFirst && attribute <= kReuseLast) {
      *static_cast<int*>(out) = pool->reuse[attribute - kReuseFirst];
      return Error::kSuccess;
    }
    switch (attribute) {
      case kReleaseThreshold: return give(pool->release_threshold);
      case kReservedCurrent:
      case kUsedCurrent: return give(pool->used);
      case kReservedHigh:
      case kUsedHigh: return give(pool->used_high);
      default: return Error::kInvalidValue;
    }
  });
}

Error cudaMemPoolSetAttribute(Pool* handle, int attribute, void* value) {
  return entry([&] {
    auto pool = Live<Pool>::all().find(handle);
    if (!pool || !value) return Error::kInvalidValue;
    if (attribute >= kReuseFirst && attribute <= kReuseLast) {
      pool->reuse[attribute - kReuseFirst] = *static_cast<int*>(value);
    } else if (attribute == kReleaseThreshold) {
      pool->release_threshold = *static_cast<uint64_t*>(value);
    } else if (attribute == kReservedHigh || attribute == kUsedHigh) {
      if (*static_cast<uint64_t*>(value)) return Error::kInvalidValue;
      pool->used_high = pool->used;
    } else {
      return Error::kInvalidValue;
    }
    return Error::kSuccess;
  });
}

Error cudaMemPoolTrimTo(Pool* handle, size_t) {
  return entry([&] { return Live<Pool>::all().find(handle) ? Error::kSuccess : Error::kInvalidValue; });
}

Error cudaMemPoolSetAccess(Pool* handle, const AccessDesc* descs, size_t count) {
  return entry(
      [&] { return Live<Pool>::all().find(handle) && (descs || !count) ? Error::kSuccess : Error::kInvalidValue; });
}

Error cudaMemPoolGetAccess(int* flags, Pool* handle, Location* location) {
  return entry([&] {
    constexpr int kReadWrite = 3;
    if (!flags || !location || !Live<Pool>::all().find(handle)) return Error::kInvalidValue;
    *flags = kReadWrite;
    return Error::kSuccess;
  });
}

Error cudaDeviceGraphMemTrim(int device) {
  return entry([&] { return Process::get().has_device(device) ? Error::kSuccess : Error::kInvalidDevice; });
}

Error cudaDeviceGetGraphMemAttribute(int device, int, void* out) {
  return entry([&] {
    if (!Process::get().has_device(device)) return Error::kInvalidDevice;
    if (!out) return Error::kInvalidValue;
    *static_cast<uint64_t*>(out) = current_pool(device)->used;
    return Error::kSuccess;
  });
}

Error cudaDeviceSetGraphMemAttribute(int device, int, void*) { return cudaDeviceGraphMemTrim(device); }

}  // namespace

std::span<const Export> pool_exports() {
  static const Export rows[] = {
      QUERN_EXPORT_STREAM(cudaMallocAsync),
      QUERN_EXPORT_STREAM(cudaMallocFromPoolAsync),
      QUERN_EXPORT_STREAM(cudaFreeAsync),
      QUERN_EXPORT(cudaDeviceGetDefaultMemPool),
      QUERN_EXPORT(cudaDeviceGetMemPool),
      QUERN_EXPORT(cudaDeviceSetMemPool),
      QUERN_EXPORT(cudaMemPoolCreate),
      QUERN_EXPORT(cudaMemPoolDestroy),
      QUERN_EXPORT(cudaMemPoolGetAttribute),
      QUERN_EXPORT(cudaMemPoolSetAttribute),
      QUERN_EXPORT(cudaMemPoolTrimTo),
      QUERN_EXPORT(cudaMemPoolSetAccess),
      QUERN_EXPORT(cudaMemPoolGetAccess),
      QUERN_EXPORT(cudaDeviceGraphMemTrim),
      QUERN_EXPORT(cudaDeviceGetGraphMemAttribute),
      QUERN_EXPORT(cudaDeviceSetGraphMemAttribute),
  };
  return rows;
}

}  // namespace quern::cuda
