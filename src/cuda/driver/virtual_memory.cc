// Memory and addresses apart (runtime/virtual_memory.h).
#include "cuda/runtime/virtual_memory.h"

#include "cuda/api/entry.h"

namespace quern::cuda {
namespace {

VirtualMemory& all() { return VirtualMemory::get(); }

Error cuMemAddressReserve(uint64_t* out, size_t bytes, size_t align, uint64_t, unsigned long long flags) {
  return entry([&] { return out && !flags ? all().reserve(bytes, align, *out) : Error::kInvalidValue; });
}

Error cuMemAddressFree(uint64_t address, size_t bytes) {
  return entry([&] { return all().free(address, bytes); });
}

Error cuMemCreate(uint64_t* out, size_t bytes, const PhysicalProps* props, unsigned long long flags) {
  return allocating_entry(
      [&] { return out && props && !flags ? all().make(bytes, *props, *out) : Error::kInvalidValue; });
}

Error cuMemRelease(uint64_t handle) {
  return entry([&] { return all().release(handle); });
}

Error cuMemRetainAllocationHandle(uint64_t* out, void* address) {
  return entry([&] { return out ? all().retain(reinterpret_cast<uint64_t>(address), *out) : Error::kInvalidValue; });
}

Error cuMemMap(uint64_t address, size_t bytes, size_t offset, uint64_t handle, unsigned long long flags) {
  return entry([&] { return flags ? Error::kInvalidValue : all().map(address, bytes, offset, handle); });
}

Error cuMemUnmap(uint64_t address, size_t bytes) {
  return entry_when_done([&] { return all().unmap(address, bytes); });
}

Error cuMemSetAccess(uint64_t address, size_t bytes, const AccessDesc* access, size_t count) {
  return entry_when_done([&] { return all().set_access(address, bytes, access, count); });
}

Error cuMemGetAccess(unsigned long long* flags, const Location* location, uint64_t address) {
  return entry([&] { return flags && location ? all().access(address, *location, *flags) : Error::kInvalidValue; });
}

Error cuMemGetAllocationGranularity(size_t* out, const PhysicalProps* props, int option) {
  return entry([&] {
    constexpr int kRecommended = 1;
    if (!out || !props || option < 0 || option > kRecommended) return Error::kInvalidValue;
    *out = kGranularity;
    return Error::kSuccess;
  });
}

Error cuMemGetAllocationPropertiesFromHandle(PhysicalProps* out, uint64_t handle) {
  return entry([&] { return out ? all().properties(handle, *out) : Error::kInvalidValue; });
}

Error cuMemExportToShareableHandle(void* out, uint64_t handle, int type, unsigned long long flags) {
  return entry([&] {
    bool good = out && type == kFileHandle && !flags;
    return good ? all().export_file(handle, *static_cast<int*>(out)) : Error::kInvalidValue;
  });
}

Error cuMemImportFromShareableHandle(uint64_t* out, void* handle, int type) {
  return entry([&] {
    auto file = static_cast<int>(reinterpret_cast<intptr_t>(handle));
    if (!out || type != kFileHandle) return Error::kInvalidValue;
    return all().import_file(file, thread_state().device, *out);
  });
}

}  // namespace

std::span<const Export> virtual_memory_exports() {
  static const Export rows[] = {
      QUERN_EXPORT(cuMemAddressReserve),
      QUERN_EXPORT(cuMemAddressFree),
      QUERN_EXPORT(cuMemCreate),
      QUERN_EXPORT(cuMemRelease),
      QUERN_EXPORT(cuMemRetainAllocationHandle),
      QUERN_EXPORT(cuMemMap),
      QUERN_EXPORT(cuMemUnmap),
      QUERN_EXPORT(cuMemSetAccess),
      QUERN_EXPORT(cuMemGetAccess),
      QUERN_EXPORT(cuMemGetAllocationGranularity),
      QUERN_EXPORT(cuMemGetAllocationPropertiesFromHandle),
      QUERN_EXPORT(cuMemExportToShareableHandle),
      QUERN_EXPORT(cuMemImportFromShareableHandle),
  };
  return rows;
}

}  // namespace quern::cuda
