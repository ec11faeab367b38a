// Devices: how many, which, what they are, their limits, what they may access of each other.
#include <cstdio>
#include <cstring>

#include "cuda/api/entry.h"
#include "cuda/runtime/device_memory.h"
#include "cuda/runtime/graph.h"
#include "cuda/runtime/properties.h"
#include "cuda/runtime/registry.h"

namespace quern::cuda {
namespace {

constexpr int kRuntime12 = 12090, kDriver = 13000;

Error cudaGetDeviceCount(int* out) {
  return entry([&] {
    if (!out) return Error::kInvalidValue;
    *out = static_cast<int>(Process::get().devices.size());
    return Error::kSuccess;
  });
}

Error cudaSetDevice(int device) {
  return entry([&] {
    if (!Process::get().has_device(device)) return Error::kInvalidDevice;
    thread_state().device = device;
    return Error::kSuccess;
  });
}

Error cudaInitDevice(int device, unsigned, unsigned) { return cudaSetDevice(device); }

Error cudaGetDevice(int* out) {
  return entry([&] {
    if (!out) return Error::kInvalidValue;
    *out = thread_state().device;
    return Error::kSuccess;
  });
}

template <class Prop>
Error get_properties(Prop* out, int device) {
  return entry([&] {
    if (!out) return Error::kInvalidValue;
    if (!Process::get().has_device(device)) return Error::kInvalidDevice;
    fill(properties_of(device), *out);
    return Error::kSuccess;
  });
}

Error get_properties_13(DeviceProp13* out, int device) { return get_properties(out, device); }
Error get_properties_12(DeviceProp12* out, int device) { return get_properties(out, device); }

Error cudaDeviceGetAttribute(int* out, int attribute, int device) {
  return entry([&] {
    if (!out) return Error::kInvalidValue;
    if (!Process::get().has_device(device)) return Error::kInvalidDevice;
    auto value = attribute_of(device, attribute);
    if (!value) return Error::kInvalidValue;
    *out = *value;
    return Error::kSuccess;
  });
}

// All devices are alike.
Error cudaChooseDevice(int* out, const void*) {
  return entry([&] {
    if (!out) return Error::kInvalidValue;
    *out = 0;
    return Error::kSuccess;
  });
}

Error cudaSetValidDevices(int* devices, int count) {
  return entry([&] {
    for (int i = 0; i < count; ++i) {
      if (!Process::get().has_device(devices[i])) return Error::kInvalidDevice;
    }
    return Error::kSuccess;
  });
}

Error cudaDeviceReset() {
  return entry_when_done([&] {
    int device = thread_state().device;
    for (const auto& image : Registry::get().images()) image->unload(device);
    release_all(device);
    Device fresh;
    fresh.number = device;
    fresh.limits = limits_of(*Process::get().config.chip);
    Process::get().device(device) = fresh;
    return Error::kSuccess;
  });
}

Error cudaSetDeviceFlags(unsigned flags) {
  return entry([&] {
    current_device().flags = flags;
    return Error::kSuccess;
  });
}

Error cudaGetDeviceFlags(unsigned* out) {
  return entry([&] {
    constexpr unsigned kMapHost = 8;
    if (!out) return Error::kInvalidValue;
    *out = current_device().flags | kMapHost;
    return Error::kSuccess;
  });
}

Error cudaDeviceSetLimit(int limit, size_t value) {
  return entry([&] {
    Device& d = current_device();
    auto wanted = static_cast<int64_t>(std::min<size_t>(value, INT64_MAX));
    switch (limit) {
      case kStackSize:
        d.stack_limit = value, d.limits.stack_bytes = wanted;
        d.limits.local_bytes = std::max(d.limits.local_bytes, wanted);
        return Error::kSuccess;
      case kPrintfFifoSize: d.printf_limit = value, d.limits.printf_bytes = wanted; return Error::kSuccess;
      case kMallocHeapSize: d.heap_limit = value, d.limits.heap_bytes = wanted; return Error::kSuccess;
      case kSyncDepth: {
        if (value > vgpu::kDeepestChild) return Error::kInvalidValue;
        d.limits.sync_depth = static_cast<int32_t>(value);
        return Error::kSuccess;
      }
      case kPendingLaunches: d.limits.pending_launches = wanted; return Error::kSuccess;
      case kL2Fetch:
      case kPersistingL2: return Error::kSuccess;
      default: return Error::kUnsupportedLimit;
    }
  });
}

Error cudaDeviceGetLimit(size_t* out, int limit) {
  return entry([&] {
    if (!out) return Error::kInvalidValue;
    auto value = limit_of(thread_state().device, limit);
    if (!value) return Error::kUnsupportedLimit;
    *out = *value;
    return Error::kSuccess;
  });
}

Error cudaDeviceSetCacheConfig(int config) {
  return entry([&] {
    current_device().cache_config = config;
    return Error::kSuccess;
  });
}

Error cudaDeviceGetCacheConfig(int* out) {
  return entry([&] {
    if (!out) return Error::kInvalidValue;
    *out = current_device().cache_config;
    return Error::kSuccess;
  });
}

Error cudaDeviceSetSharedMemConfig(int) {
  return entry([] { return Error::kSuccess; });
}

Error cudaDeviceGetSharedMemConfig(int* out) {
  return entry([&] {
    constexpr int kFourByte = 1;
    if (!out) return Error::kInvalidValue;
    *out = kFourByte;
    return Error::kSuccess;
  });
}

Error cudaDeviceGetPCIBusId(char* out, int length, int device) {
  return entry([&] {
    if (!out || length <= 0) return Error::kInvalidValue;
    if (!Process::get().has_device(device)) return Error::kInvalidDevice;
    std::snprintf(out, static_cast<size_t>(length), "0000:%02X:00.0", device + 1);
    return Error::kSuccess;
  });
}

Error cudaDeviceGetByPCIBusId(int* out, const char* id) {
  return entry([&] {
    unsigned domain = 0, bus = 0;
    if (!out || !id) return Error::kInvalidValue;
    bool read = std::sscanf(id, "%x:%x:", &domain, &bus) == 2;
    int device = static_cast<int>(bus) - 1;
    if (!read || domain || !Process::get().has_device(device)) return Error::kInvalidDevice;
    *out = device;
    return Error::kSuccess;
  });
}

Error version(int* out, int number) {
  return entry([&] {
    if (!out) return Error::kInvalidValue;
    *out = number;
    return Error::kSuccess;
  });
}

Error cudaDriverGetVersion(int* out) { return version(out, kDriver); }
Error runtime_version_13(int* out) { return version(out, kRuntime13); }
Error runtime_version_12(int* out) { return version(out, kRuntime12); }

Error cudaProfilerStart() {
  return entry([] { return Error::kSuccess; });
}
Error cudaProfilerStop() { return cudaProfilerStart(); }

}  // namespace

std::span<const Export> device_exports() {
  static const Export rows[] = {
      QUERN_EXPORT(cudaGetDeviceCount),
      QUERN_EXPORT(cudaSetDevice),
      QUERN_EXPORT(cudaInitDevice),
      QUERN_EXPORT(cudaGetDevice),
      QUERN_EXPORT_AS(cudaGetDeviceProperties, get_properties_13, 13),
      QUERN_EXPORT_AS(cudaGetDeviceProperties, get_properties_12, 12),
      QUERN_EXPORT_AS(cudaGetDeviceProperties_v2, get_properties_12, 12),
      QUERN_EXPORT(cudaDeviceGetAttribute),
      QUERN_EXPORT(cudaChooseDevice),
      QUERN_EXPORT(cudaSetValidDevices),
      QUERN_EXPORT(cudaDeviceReset),
      QUERN_EXPORT(cudaSetDeviceFlags),
      QUERN_EXPORT(cudaGetDeviceFlags),
      QUERN_EXPORT(cudaDeviceSetLimit),
      QUERN_EXPORT(cudaDeviceGetLimit),
      QUERN_EXPORT(cudaDeviceSetCacheConfig),
      QUERN_EXPORT(cudaDeviceGetCacheConfig),
      QUERN_EXPORT(cudaDeviceSetSharedMemConfig),
      QUERN_EXPORT(cudaDeviceGetSharedMemConfig),
      QUERN_EXPORT(cudaDeviceGetPCIBusId),
      QUERN_EXPORT(cudaDeviceGetByPCIBusId),
      QUERN_EXPORT(cudaDriverGetVersion),
      QUERN_EXPORT_AS(cudaRuntimeGetVersion, runtime_version_13, 13),
      QUERN_EXPORT_AS(cudaRuntimeGetVersion, runtime_version_12, 12),
      QUERN_EXPORT(cudaProfilerStart),
      QUERN_EXPORT(cudaProfilerStop),
  };
  return rows;
}

}  // namespace quern::cuda
