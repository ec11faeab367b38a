// Arrays and mipmapped arrays: making and freeing them, and what they are.
#include "cuda/runtime/array.h"

#include "cuda/api/entry.h"
#include "cuda/runtime/live.h"

namespace quern::cuda {
namespace {

Error cudaMalloc3DArray(Array** out, const ChannelDesc* channels, Extent extent, unsigned flags) {
  return entry([&] {
    if (!out || !channels) return Error::kInvalidValue;
    std::shared_ptr<Array> array;
    if (Error e = make_array(*channels, extent, flags, array); e != Error::kSuccess) return e;
    *out = Live<Array>::all().add(std::move(array));
    return Error::kSuccess;
  });
}

Error cudaMallocArray(Array** out, const ChannelDesc* channels, size_t width, size_t height, unsigned flags) {
  return cudaMalloc3DArray(out, channels, {width, height, 0}, flags);
}

Error cudaFreeArray(Array* handle) {
  return entry_when_done([&] {
    if (!handle) return Error::kSuccess;
    auto array = Live<Array>::all().find(handle);
    if (!array || !array->owned) return Error::kInvalidValue;
    free_array(*array);
    Live<Array>::all().remove(handle);
    return Error::kSuccess;
  });
}

Error cudaMallocMipmappedArray(MipmappedArray** out, const ChannelDesc* channels, Extent extent, unsigned levels,
                               unsigned flags) {
  return entry([&] {
    if (!out || !channels || !levels) return Error::kInvalidValue;
    auto all = std::make_shared<MipmappedArray>();
    bool layered = flags & (kArrayLayered | kArrayCubemap);
    for (unsigned i = 0; i < levels; ++i) {
      std::shared_ptr<Array> level;
      Error e = make_array(*channels, extent, flags, level);
      if (e != Error::kSuccess) {
        for (auto& made : all->levels) {
          Live<Array>::all().remove(made.get());
          free_array(*made);
        }
        return e;
      }
      level->owned = false;
      Live<Array>::all().add(level);
      all->levels.push_back(std::move(level));
      if (extent.width <= 1 && extent.height <= 1 && (layered || extent.depth <= 1)) break;
      auto half = [](size_t n) { return n ? std::max<size_t>(1, n / 2) : 0; };
      extent = {half(extent.width), half(extent.height), layered ? extent.depth : half(extent.depth)};
    }
    *out = Live<MipmappedArray>::all().add(std::move(all));
    return Error::kSuccess;
  });
}

Error cudaFreeMipmappedArray(MipmappedArray* handle) {
  return entry_when_done([&] {
    if (!handle) return Error::kSuccess;
    auto all = Live<MipmappedArray>::all().find(handle);
    if (!all) return Error::kInvalidResourceHandle;
    for (auto& level : all->levels) {
      Live<Array>::all().remove(level.get());
      free_array(*level);
    }
    Live<MipmappedArray>::all().remove(handle);
    return Error::kSuccess;
  });
}

Error cudaGetMipmappedArrayLevel(Array** out, const MipmappedArray* handle, unsigned level) {
  return entry([&] {
    auto all = Live<MipmappedArray>::all().find(handle);
    if (!all) return Error::kInvalidResourceHandle;
    if (!out || level >= all->levels.size()) return Error::kInvalidValue;
    *out = all->levels[level].get();
    return Error::kSuccess;
  });
}

Error cudaArrayGetInfo(ChannelDesc* channels, Extent* extent, unsigned* flags, Array* handle) {
  return entry([&] {
    auto array = Live<Array>::all().find(handle);
    if (!array) return Error::kInvalidResourceHandle;
    if (channels) *channels = array->channels;
    if (extent) *extent = array->extent;
    if (flags) *flags = array->flags;
    return Error::kSuccess;
  });
}

Error cudaGetChannelDesc(ChannelDesc* channels, const Array* handle) {
  return cudaArrayGetInfo(channels, nullptr, nullptr, const_cast<Array*>(handle));
}

ChannelDesc cudaCreateChannelDesc(int x, int y, int z, int w, ChannelKind kind) { return {x, y, z, w, kind}; }

}  // namespace

std::span<const Export> array_exports() {
  static const Export rows[] = {
      QUERN_EXPORT(cudaMalloc3DArray),      QUERN_EXPORT(cudaMallocArray),
      QUERN_EXPORT(cudaFreeArray),          QUERN_EXPORT(cudaMallocMipmappedArray),
      QUERN_EXPORT(cudaFreeMipmappedArray), QUERN_EXPORT(cudaGetMipmappedArrayLevel),
      QUERN_EXPORT(cudaArrayGetInfo),       QUERN_EXPORT(cudaGetChannelDesc),
      QUERN_EXPORT(cudaCreateChannelDesc),
  };
  return rows;
}

}  // namespace quern::cuda
