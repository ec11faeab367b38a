// What CUDA's runtime and the programs that call it exchange: sizes, places, copies, launches. The layouts are those of
// CUDA 13 on 64-bit Linux, declared here anew so that nothing of the toolkit is needed to build;
// tests/cuda/layout_test.cu holds them against the toolkit's own headers where those are present. Enumerations whose
// values are only passed on are plain ints.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/abi/error.h"

namespace quern::cuda {

struct Array;
struct Event;
struct Stream;
struct Pool;

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
};

struct Extent {
  size_t width = 0, height = 0, depth = 0;
};

struct Pos {
  size_t x = 0, y = 0, z = 0;
};

struct PitchedPtr {
  void* ptr = nullptr;
  size_t pitch = 0, xsize = 0, ysize = 0;
};

enum class CopyKind : int { kHostToHost = 0, kHostToDevice = 1, kDeviceToHost = 2, kDeviceToDevice = 3, kDefault = 4 };

struct Copy3D {  // cudaMemcpy3DParms
  Array* src_array;
  Pos src_pos;
  PitchedPtr src_ptr;
  Array* dst_array;
  Pos dst_pos;
  PitchedPtr dst_ptr;
  Extent extent;
  CopyKind kind;
};

struct Copy3DPeer {  // cudaMemcpy3DPeerParms
  Array* src_array;
  Pos src_pos;
  PitchedPtr src_ptr;
  int src_device;
  Array* dst_array;
  Pos dst_pos;
  PitchedPtr dst_ptr;
  int dst_device;
  Extent extent;
};

struct MemsetParams {  // cudaMemsetParams
  void* dst;
  size_t pitch;
  uint32_t value;
  uint32_t element_size;
  size_t width, height;
};

enum class ChannelKind : int { kSigned = 0, kUnsigned = 1, kFloat = 2, kNone = 3 };
// From here on integers that are always read as numbers of 0 … 1, or -1 … 1 in the second half.
inline constexpr int kFirstNormalized = 5, kFirstSignedNormalized = 11, kLastNormalized = 16;

struct ChannelDesc {               // cudaChannelFormatDesc
  int x = 0, y = 0, z = 0, w = 0;  // bits
  ChannelKind kind = ChannelKind::kSigned;
};

using HostFunction = void (*)(void* data);
using StreamCallback = void (*)(Stream* stream, Error status, void* data);

enum class MemoryType : int { kUnregistered = 0, kHost = 1, kDevice = 2, kManaged = 3 };

struct PointerAttributes {  // cudaPointerAttributes
  MemoryType type;
  int device;
  void* device_pointer;
  void* host_pointer;
  long reserved[8];
};

struct FuncAttributes {  // cudaFuncAttributes
  size_t shared_bytes, const_bytes, local_bytes;
  int max_threads, registers, ptx_version, binary_version, cache_mode_ca, max_dynamic_shared, carveout;
  int cluster_must_be_set, cluster_width, cluster_height, cluster_depth, cluster_policy, non_portable_cluster;
  int reserved[16];
};

enum class LaunchAttributeId : int {
  kIgnore = 0,
  kCooperative = 2,
  kClusterDimension = 4,
  kPriority = 8,
  kPreferredClusterDimension = 11,
};

union LaunchAttributeValue {
  char pad[64];
  int cooperative;
  int priority;
  struct {
    uint32_t x, y, z;
  } cluster;
};

struct LaunchAttribute {  // cudaLaunchAttribute
  LaunchAttributeId id;
  char pad[4];
  LaunchAttributeValue value;
};

struct LaunchConfig {  // cudaLaunchConfig_t
  Dim3 grid, block;
  size_t shared_bytes;
  Stream* stream;
  LaunchAttribute* attributes;
  uint32_t attribute_count;
};

enum class LocationType : int { kNone = 0, kDevice = 1, kHost = 2, kHostNuma = 3, kHostNumaCurrent = 4 };

struct Location {  // cudaMemLocation
  LocationType type;
  int id;
};

struct AccessDesc {  // cudaMemAccessDesc
  Location location;
  int flags;
};

struct PoolProps {  // cudaMemPoolProps
  int allocation_type;
  int handle_types;
  Location location;
  void* security;
  size_t max_size;
  uint16_t usage;
  unsigned char reserved[54];
};

struct Uuid {
  char bytes[16];
};

}  // namespace quern::cuda
