// What a device says of itself: the numbers of cudaDeviceProp and of cudaDeviceGetAttribute, both from the chip's row.
// What the row doesn't know and all chips since compute capability 8.0 share stands in properties.cc.
#pragma once

#include <optional>

#include "cuda/abi/device_prop.h"

namespace quern::cuda {

inline constexpr int kRuntime13 = 13000;  // cudaRuntimeGetVersion

// All fields of CUDA 12 and 13.
struct Properties {
#define QUERN_FIELD(t, name, count) Field<t, count>::type name;
#define QUERN_FIELD_12 QUERN_FIELD
#define QUERN_FIELD_13 QUERN_FIELD
#include "cuda/abi/device_prop.def"
#undef QUERN_FIELD
#undef QUERN_FIELD_12
#undef QUERN_FIELD_13
};

Properties properties_of(int device);
void fill(const Properties& from, DeviceProp12& to);
void fill(const Properties& from, DeviceProp13& to);
enum Limit : int {
  kStackSize = 0,
  kPrintfFifoSize = 1,
  kMallocHeapSize = 2,
  kSyncDepth = 3,
  kPendingLaunches = 4,
  kL2Fetch = 5,
  kPersistingL2 = 6
};
// What cudaDeviceGetLimit says. Empty: no such limit.
std::optional<size_t> limit_of(int device, int limit);

// Empty: no such attribute.
std::optional<int> attribute_of(int device, int attribute);

}  // namespace quern::cuda
