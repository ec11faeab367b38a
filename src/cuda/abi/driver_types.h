// Arrays, textures and their copies as programs describe them to the driver.
#pragma once

#include "cuda/abi/texture_types.h"

namespace quern::cuda {

// CUarray_format: these and, from kFormatNormalized on, twelve kinds of integers that are read as reals.
inline constexpr int kFormatUnsigned8 = 1, kFormatUnsigned16 = 2, kFormatUnsigned32 = 3, kFormatSigned8 = 8,
                     kFormatSigned16 = 9, kFormatSigned32 = 10, kFormatHalf = 0x10, kFormatFloat = 0x20,
                     kFormatNormalized = 0xc0;

struct PhysicalProps {  // CUmemAllocationProp
  int type;
  int handle_types;
  Location location;
  void* security;
  unsigned char compression, rdma;
  uint16_t usage;
  unsigned char reserved[4];
};

struct ArrayDescriptor {  // CUDA_ARRAY_DESCRIPTOR
  size_t width, height;
  int format;
  unsigned channels;
};

struct Array3DDescriptor {  // CUDA_ARRAY3D_DESCRIPTOR
  size_t width, height, depth;
  int format;
  unsigned channels, flags;
};

struct DriverResourceDesc {  // CUDA_RESOURCE_DESC
  ResourceType type;
  union {
    Array* array;
    MipmappedArray* mipmap;
    struct {
      uint64_t pointer;
      int format;
      unsigned channels;
      size_t bytes;
    } linear;
    struct {
      uint64_t pointer;
      int format;
      unsigned channels;
      size_t width, height, pitch;
    } pitch2d;
    int reserved[32];
  };
  unsigned flags;
};

inline constexpr unsigned kReadAsInteger = 1, kNormalizedCoordinates = 2, kSrgb = 0x10, kNoTrilinearOptimization = 0x20,
                          kSeamlessCubemap = 0x40;

struct DriverTextureDesc {  // CUDA_TEXTURE_DESC
  int address_mode[3];
  int filter_mode;
  unsigned flags;
  unsigned max_anisotropy;
  int mipmap_filter_mode;
  float mipmap_bias, min_mipmap, max_mipmap;
  float border[4];
  int reserved[12];
};

enum class DriverMemory : int { kHost = 1, kDevice = 2, kArray = 3, kUnified = 4 };

struct DriverCopy2DSide {
  size_t x, y;
  DriverMemory memory;
  void* host;
  uint64_t device;
  Array* array;
  size_t pitch;
};

struct DriverCopy2D {  // CUDA_MEMCPY2D
  DriverCopy2DSide from, to;
  size_t width, height;  // bytes, rows
};

struct DriverCopy3DSide {
  size_t x, y, z, level;
  DriverMemory memory;
  void* host;
  uint64_t device;
  Array* array;
  void* reserved;
  size_t pitch, height;
};

struct DriverCopy3D {  // CUDA_MEMCPY3D
  DriverCopy3DSide from, to;
  size_t width, height, depth;
};

}  // namespace quern::cuda
