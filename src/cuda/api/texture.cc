// Texture and surface objects.
#include "cuda/runtime/texture.h"

#include "cuda/api/entry.h"
#include "cuda/runtime/array.h"

namespace quern::cuda {
namespace {

// Filters are for what is read as floats, and integers of 32 bits are not.
Error check_reading(const ResourceDesc& resource, const TextureDesc& texture) {
  auto channels = channels_of(resource);
  if (!channels) return Error::kInvalidValue;
  bool integer = channels->kind == ChannelKind::kSigned || channels->kind == ChannelKind::kUnsigned;
  if (integer && texture.read_mode == kReadReal && channels->x == 32) return Error::kInvalidNormSetting;
  bool memory = resource.type == ResourceType::kLinear;
  if (integer && !memory && texture.read_mode != kReadReal && texture.filter_mode == kFilterLinear)
    return Error::kInvalidFilterSetting;
  return Error::kSuccess;
}

Error make(unsigned long long* out, const ResourceDesc* resource, const TextureDesc* texture, const ViewDesc* view,
           bool surface) {
  return entry([&] {
    if (!out || !resource || (!texture && !surface)) return Error::kInvalidValue;
    if (Error e = check_resource(*resource, surface); e != Error::kSuccess) return e;
    TextureObject object;
    object.resource = *resource;
    if (texture) {
      if (Error e = check_reading(*resource, *texture); e != Error::kSuccess) return e;
      object.texture = *texture;
    }
    if (view) object.view = *view;
    object.has_view = view != nullptr;
    object.surface = surface;
    if (Error e = describe(object); e != Error::kSuccess) return e;
    *out = TextureTable::get().add(object);
    return Error::kSuccess;
  });
}

template <class F>
Error ask(unsigned long long number, bool surface, F give) {
  return entry([&] {
    const TextureObject* object = TextureTable::get().find(number);
    return object && object->surface == surface ? give(*object) : Error::kInvalidValue;
  });
}

template <class T>
Error give(T* out, const T& value) {
  if (!out) return Error::kInvalidValue;
  *out = value;
  return Error::kSuccess;
}

Error cudaCreateTextureObject(unsigned long long* out, const ResourceDesc* resource, const TextureDesc* texture,
                              const ViewDesc* view) {
  return make(out, resource, texture, view, false);
}

Error cudaCreateSurfaceObject(unsigned long long* out, const ResourceDesc* resource) {
  return make(out, resource, nullptr, nullptr, true);
}

Error cudaDestroyTextureObject(unsigned long long number) {
  return entry([&] { return !number || TextureTable::get().remove(number) ? Error::kSuccess : Error::kInvalidValue; });
}

Error cudaDestroySurfaceObject(unsigned long long number) { return cudaDestroyTextureObject(number); }

Error cudaGetTextureObjectResourceDesc(ResourceDesc* out, unsigned long long number) {
  return ask(number, false, [&](const TextureObject& o) { return give(out, o.resource); });
}

Error cudaGetTextureObjectTextureDesc(TextureDesc* out, unsigned long long number) {
  return ask(number, false, [&](const TextureObject& o) { return give(out, o.texture); });
}

Error cudaGetTextureObjectResourceViewDesc(ViewDesc* out, unsigned long long number) {
  return ask(number, false,
             [&](const TextureObject& o) { return o.has_view ? give(out, o.view) : Error::kInvalidValue; });
}

Error cudaGetSurfaceObjectResourceDesc(ResourceDesc* out, unsigned long long number) {
  return ask(number, true, [&](const TextureObject& o) { return give(out, o.resource); });
}

Error cudaDeviceGetTexture1DLinearMaxWidth(size_t* out, const ChannelDesc* channels, int device) {
  return entry([&] {
    if (!out || !channels || !element_bytes(*channels)) return Error::kInvalidValue;
    return Process::get().has_device(device) ? give(out, kMostLinearElements) : Error::kInvalidDevice;
  });
}

}  // namespace

std::span<const Export> texture_exports() {
  static const Export rows[] = {
      QUERN_EXPORT(cudaCreateTextureObject),
      QUERN_EXPORT(cudaCreateSurfaceObject),
      QUERN_EXPORT(cudaDestroyTextureObject),
      QUERN_EXPORT(cudaDestroySurfaceObject),
      QUERN_EXPORT(cudaGetTextureObjectResourceDesc),
      QUERN_EXPORT(cudaGetTextureObjectTextureDesc),
      QUERN_EXPORT(cudaGetTextureObjectResourceViewDesc),
      QUERN_EXPORT(cudaGetSurfaceObjectResourceDesc),
      QUERN_EXPORT(cudaDeviceGetTexture1DLinearMaxWidth),
  };
  return rows;
}

}  // namespace quern::cuda
