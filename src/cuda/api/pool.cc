// Allocation in streams, and the pools it is from.
#include "cuda/runtime/pool.h"

#include <fcntl.h>

#include "cuda/api/entry.h"
#include "cuda/runtime/device_memory.h"
#include "cuda/runtime/live.h"
#include "cuda/runtime/shared_memory.h"

namespace quern::cuda {
namespace {

constexpr int kFileHandles = 1;  // cudaMemHandleTypePosixFileDescriptor

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
    // A graph that is under way may allocate it.
    bool there = false;
    {
      Lock lock(Process::get().mutex);
      there = !pointer || allocation_of(pointer);
    }
    if (!there) finish_all();
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
    if (props->handle_types & ~kFileHandles) return Error::kNotSupported;
    bool device = props->location.type == LocationType::kDevice;
    if (device && !Process::get().has_device(props->location.id)) return Error::kInvalidDevice;
    auto pool = std::make_shared<Pool>();
    pool->device = device ? props->location.id : thread_state().device;
    pool->props = *props;
    if (props->handle_types) {
      if (!device) return Error::kInvalidValue;
      pool->file = make_shared_file();
      if (pool->file < 0) return Error::kMemoryAllocation;
    }
    *out = Live<Pool>::all().add(std::move(pool));
    return Error::kSuccess;
  });
}

// A descriptor of the file that has what is exported of the pool.
Error cudaMemPoolExportToShareableHandle(void* out, Pool* handle, int type, unsigned flags) {
  return entry([&] {
    auto pool = Live<Pool>::all().find(handle);
    if (!pool || !out || flags || type != kFileHandles || !(pool->props.handle_types & type)) {
      return Error::kInvalidValue;
    }
    int file = ::fcntl(pool->file, F_DUPFD_CLOEXEC, 0);
    if (file < 0) return Error::kMapBufferObjectFailed;
    *static_cast<int*>(out) = file;
    return Error::kSuccess;
  });
}

Error cudaMemPoolImportFromShareableHandle(Pool** out, void* handle, int type, unsigned flags) {
  return entry([&] {
    auto file = static_cast<int>(reinterpret_cast<intptr_t>(handle));
    uint64_t inode = 0;
    int64_t bytes = 0;
    if (!out || flags || type != kFileHandles || !is_our_file(file, inode, bytes)) return Error::kInvalidValue;
    auto pool = std::make_shared<Pool>();
    pool->device = thread_state().device;
    pool->props.allocation_type = 1;
    pool->props.location = {LocationType::kDevice, pool->device};
    pool->imported = true;
    pool->file = ::fcntl(file, F_DUPFD_CLOEXEC, 0);
    if (pool->file < 0) return Error::kMapBufferObjectFailed;
    *out = Live<Pool>::all().add(std::move(pool));
    return Error::kSuccess;
  });
}

Error cudaMemPoolExportPointer(SharedHandle* out, void* pointer) {
  return entry_when_done([&] {
    auto pool = pool_of(pointer);
    auto found = allocation_of(pointer);
    if (!out || !pool || !found || pool->file < 0) return Error::kInvalidValue;
    *out = handle_of(pool->file, found->address, found->bytes, kSharedPiece);
    return out->kind ? Error::kSuccess : Error::kMapBufferObjectFailed;
  });
}

Error cudaMemPoolImportPointer(void** out, Pool* handle, const SharedHandle* data) {
  return entry([&] {
    auto pool = Live<Pool>::all().find(handle);
    if (!out || !data || !pool || !pool->imported) return Error::kInvalidValue;
    uint64_t address = 0;
    Error e =
        import_memory(*data, kSharedPiece, pool->file, kNameImported, vgpu::Holds::kGlobal, pool->device, address);
    if (e == Error::kSuccess) *out = reinterpret_cast<void*>(address);
    return e;
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
      QUERN_EXPORT(cudaMemPoolExportToShareableHandle),
      QUERN_EXPORT(cudaMemPoolImportFromShareableHandle),
      QUERN_EXPORT(cudaMemPoolExportPointer),
      QUERN_EXPORT(cudaMemPoolImportPointer),
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
