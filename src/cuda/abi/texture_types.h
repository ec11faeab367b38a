// Textures and surfaces as programs describe them.
#pragma once

#include "cuda/abi/types.h"

namespace quern::cuda {

struct MipmappedArray;

enum class ResourceType : int { kArray = 0, kMipmappedArray = 1, kLinear = 2, kPitch2D = 3 };

// A ChannelDesc without values of its own, as a union needs it.
struct PlainChannels {
  int x, y, z, w;
  ChannelKind kind;

  operator ChannelDesc() const { return {x, y, z, w, kind}; }
};

struct ResourceDesc {  // cudaResourceDesc
  ResourceType type;
  union {
    Array* array;
    MipmappedArray* mipmap;
    struct {
      void* pointer;
      PlainChannels channels;
      size_t bytes;
    } linear;
    struct {
      void* pointer;
      PlainChannels channels;
      size_t width, height, pitch;
    } pitch2d;
    int reserved[32];
  };
  uint32_t flags;
};

inline constexpr int kFilterLinear = 1;  // cudaFilterModeLinear
inline constexpr int kReadReal = 1;      // cudaReadModeNormalizedFloat

struct TextureDesc {  // cudaTextureDesc
  int address_mode[3];
  int filter_mode;
  int read_mode;
  int srgb;
  float border[4];
  int normalized;
  uint32_t max_anisotropy;
  int mipmap_filter_mode;
  float mipmap_bias, min_mipmap, max_mipmap;
  int no_trilinear_optimization;
  int seamless_cubemap;
};

struct ViewDesc {  // cudaResourceViewDesc
  int format;
  size_t width, height, depth;
  uint32_t first_level, last_level, first_layer, last_layer;
  uint32_t reserved[16];
};

}  // namespace quern::cuda
