// Advice on managed memory. It is where host and device both reach it from the start, so advice changes nothing but
// what is told of it afterwards.
#include <algorithm>
#include <map>

#include "cuda/api/entry.h"
#include "cuda/runtime/device_memory.h"

namespace quern::cuda {
namespace {

constexpr int kInvalidDeviceId = -2, kCpuDeviceId = -1;

struct Advice {
  bool read_mostly = false;
  Location preferred{LocationType::kNone, kInvalidDeviceId}, prefetched{LocationType::kNone, kInvalidDeviceId};
  std::vector<int> accessed_by;
};

std::map<uint64_t, Advice>& advices() {
  static auto& all = *new std::map<uint64_t, Advice>;  // by the allocation's address
  return all;
}

// The advice on the allocation that holds the range; null where it is not managed memory.
Advice* advice_on(const void* pointer, size_t bytes) {
  auto found = allocation_of(pointer);
  if (!found || !is_managed(*found) || !bytes || bytes > INT64_MAX) return nullptr;
  if (!Process::get().memory->contains(reinterpret_cast<uint64_t>(pointer), static_cast<int64_t>(bytes)))
    return nullptr;
  return &advices()[found->address];
}

bool known(const Location& l) { return l.type != LocationType::kDevice || Process::get().has_device(l.id); }

int device_id(const Location& l) {
  if (l.type == LocationType::kDevice) return l.id;
  return l.type == LocationType::kNone ? kInvalidDeviceId : kCpuDeviceId;
}

Location location_of(int device) {
  return device == kCpuDeviceId ? Location{LocationType::kHost, 0} : Location{LocationType::kDevice, device};
}

Error advise_13(const void* pointer, size_t bytes, int advice, Location location) {
  return entry([&] {
    Advice* a = advice_on(pointer, bytes);
    if (!a) return Error::kInvalidValue;
    int device = device_id(location);
    switch (advice) {
      case 1:
      case 2: a->read_mostly = advice == 1; return Error::kSuccess;
      case 3:
        if (!known(location)) return Error::kInvalidDevice;
        a->preferred = location;
        return Error::kSuccess;
      case 4: a->preferred = {LocationType::kNone, kInvalidDeviceId}; return Error::kSuccess;
      case 5:
        if (!known(location)) return Error::kInvalidDevice;
        if (std::ranges::find(a->accessed_by, device) == a->accessed_by.end()) a->accessed_by.push_back(device);
        return Error::kSuccess;
      case 6: std::erase(a->accessed_by, device); return Error::kSuccess;
      default: return Error::kInvalidValue;
    }
  });
}

Error advise_12(const void* pointer, size_t bytes, int advice, int device) {
  return advise_13(pointer, bytes, advice, location_of(device));
}

Error prefetch_13(const void* pointer, size_t bytes, Location location, unsigned flags, Stream* stream) {
  return entry([&] {
    if (!find_stream(stream)) return Error::kInvalidResourceHandle;
    Advice* a = advice_on(pointer, bytes);
    if (!a || flags) return Error::kInvalidValue;
    if (!known(location)) return Error::kInvalidDevice;
    a->prefetched = location;
    return Error::kSuccess;
  });
}

Error prefetch_12(const void* pointer, size_t bytes, int device, Stream* stream) {
  return prefetch_13(pointer, bytes, location_of(device), 0, stream);
}

enum RangeAttribute : int {
  kReadMostly = 1,
  kPreferred = 2,
  kAccessedBy = 3,
  kPrefetched = 4,
  kPreferredType = 5,
  kPreferredId = 6,
  kPrefetchedType = 7,
  kPrefetchedId = 8,
};

Error attribute_of(const Advice& a, int attribute, int* out, size_t bytes) {
  size_t count = bytes / sizeof(int);
  if (!out || !count) return Error::kInvalidValue;
  switch (attribute) {
    case kReadMostly: *out = a.read_mostly; break;
    case kPreferred: *out = device_id(a.preferred); break;
    case kAccessedBy:
      for (size_t i = 0; i < count; ++i) out[i] = i < a.accessed_by.size() ? a.accessed_by[i] : kInvalidDeviceId;
      break;
    case kPrefetched: *out = device_id(a.prefetched); break;
    case kPreferredType: *out = static_cast<int>(a.preferred.type); break;
    case kPreferredId: *out = a.preferred.id; break;
    case kPrefetchedType: *out = static_cast<int>(a.prefetched.type); break;
    case kPrefetchedId: *out = a.prefetched.id; break;
    default: return Error::kInvalidValue;
  }
  return Error::kSuccess;
}

Error cudaMemRangeGetAttribute(void* out, size_t bytes, int attribute, const void* pointer, size_t count) {
  return entry([&] {
    Advice* a = advice_on(pointer, count);
    return a ? attribute_of(*a, attribute, static_cast<int*>(out), bytes) : Error::kInvalidValue;
  });
}

Error cudaMemRangeGetAttributes(void** out, size_t* bytes, const int* attributes, size_t n, const void* pointer,
                                size_t count) {
  if (!out || !bytes || !attributes) return remember(Error::kInvalidValue);
  for (size_t i = 0; i < n; ++i) {
    Error e = cudaMemRangeGetAttribute(out[i], bytes[i], attributes[i], pointer, count);
    if (e != Error::kSuccess) return e;
  }
  return Error::kSuccess;
}

}  // namespace

std::span<const Export> advise_exports() {
  static const Export rows[] = {
      QUERN_EXPORT_AS(cudaMemAdvise, advise_13, 13),
      QUERN_EXPORT_AS(cudaMemAdvise, advise_12, 12),
      QUERN_EXPORT_AS(cudaMemAdvise_v2, advise_13, 12),
      QUERN_EXPORT_AS(cudaMemPrefetchAsync, prefetch_13, 13),
      QUERN_EXPORT_AS(cudaMemPrefetchAsync_ptsz, PerThread<prefetch_13>::call, 13),
      QUERN_EXPORT_AS(cudaMemPrefetchAsync, prefetch_12, 12),
      QUERN_EXPORT_AS(cudaMemPrefetchAsync_ptsz, PerThread<prefetch_12>::call, 12),
      QUERN_EXPORT_AS(cudaMemPrefetchAsync_v2, prefetch_13, 12),
      QUERN_EXPORT_AS(cudaMemPrefetchAsync_v2_ptsz, PerThread<prefetch_13>::call, 12),
      QUERN_EXPORT(cudaMemRangeGetAttribute),
      QUERN_EXPORT(cudaMemRangeGetAttributes),
  };
  return rows;
}

}  // namespace quern::cuda
