// Texture and surface objects by the driver's descriptions, which are kept as the runtime has them.
#include "cuda/runtime/texture.h"

#include <algorithm>

#include "cuda/api/entry.h"
#include "cuda/driver/format.h"

namespace quern::cuda {
namespace {

bool from_driver(const DriverResourceDesc& d, ResourceDesc& out) {
  out.type = d.type;
  out.flags = d.flags;
  switch (d.type) {
    case ResourceType::kArray: out.array = d.array; return true;
    case ResourceType::kMipmappedArray: out.mipmap = d.mipmap; return true;
    case ResourceType::kLinear: {
      auto c = channels_of(d.linear.format, d.linear.channels);
      if (!c) return false;
      out.linear = {reinterpret_cast<void*>(d.linear.pointer), {c->x, c->y, c->z, c->w, c->kind}, d.linear.bytes};
      return true;
    }
    case ResourceType::kPitch2D: {
      auto c = channels_of(d.pitch2d.format, d.pitch2d.channels);
      if (!c) return false;
      out.pitch2d = {reinterpret_cast<void*>(d.pitch2d.pointer),
                     {c->x, c->y, c->z, c->w, c->kind},
                     d.pitch2d.width,
                     d.pitch2d.height,
                     d.pitch2d.pitch};
      return true;
    }
  }
  return false;
}

DriverResourceDesc to_driver(const ResourceDesc& r) {
  DriverResourceDesc out{};
  out.type = r.type;
  out.flags = r.flags;
  switch (r.type) {
    case ResourceType::kArray: out.array = r.array; break;
    case ResourceType::kMipmappedArray: out.mipmap = r.mipmap; break;
    case ResourceType::kLinear: {
      DriverFormat f = format_of(r.linear.channels);
      out.linear = {reinterpret_cast<uint64_t>(r.linear.pointer), f.format, f.channels, r.linear.bytes};
      break;
    }
    case ResourceType::kPitch2D: {
      DriverFormat f = format_of(r.pitch2d.channels);
      out.pitch2d = {reinterpret_cast<uint64_t>(r.pitch2d.pointer),
                     f.format,
                     f.channels,
                     r.pitch2d.width,
                     r.pitch2d.height,
                     r.pitch2d.pitch};
      break;
    }
  }
  return out;
}

TextureDesc from_driver(const DriverTextureDesc& d) {
  TextureDesc out{};
  std::copy(d.address_mode, d.address_mode + 3, out.address_mode);
  std::copy(d.border, d.border + 4, out.border);
  out.filter_mode = d.filter_mode;
  set_flags(d.flags, out);
  out.max_anisotropy = d.max_anisotropy;
  out.mipmap_filter_mode = d.mipmap_filter_mode;
  out.mipmap_bias = d.mipmap_bias, out.min_mipmap = d.min_mipmap, out.max_mipmap = d.max_mipmap;
  return out;
}

DriverTextureDesc to_driver(const TextureDesc& t) {
  DriverTextureDesc out{};
  std::copy(t.address_mode, t.address_mode + 3, out.address_mode);
  std::copy(t.border, t.border + 4, out.border);
  out.filter_mode = t.filter_mode;
  auto flag = [](bool is, unsigned bit) { return is ? bit : 0; };
  out.flags = flag(t.read_mode != kReadReal, kReadAsInteger) | flag(t.normalized, kNormalizedCoordinates) |
              flag(t.srgb, kSrgb) | flag(t.no_trilinear_optimization, kNoTrilinearOptimization) |
              flag(t.seamless_cubemap, kSeamlessCubemap);
  out.max_anisotropy = t.max_anisotropy;
  out.mipmap_filter_mode = t.mipmap_filter_mode;
  out.mipmap_bias = t.mipmap_bias, out.min_mipmap = t.min_mipmap, out.max_mipmap = t.max_mipmap;
  return out;
}

Error make(unsigned long long* out, const DriverResourceDesc* resource, const DriverTextureDesc* texture,
           const ViewDesc* view, bool surface) {
  return entry([&] {
    TextureObject object;
    if (!out || !resource || (!texture && !surface)) return Error::kInvalidValue;
    if (!from_driver(*resource, object.resource)) return Error::kInvalidValue;
    if (Error e = check_resource(object.resource, surface); e != Error::kSuccess) return e;
    if (texture) object.texture = from_driver(*texture);
    if (view) object.view = *view;
    object.has_view = view != nullptr;
    object.surface = surface;
    if (Error e = describe(object); e != Error::kSuccess) return Error::kInvalidValue;
    *out = TextureTable::get().add(object);
    return Error::kSuccess;
  });
}

template <class T, class F>
Error ask(T* out, unsigned long long number, bool surface, F give) {
  return entry([&] {
    const TextureObject* object = TextureTable::get().find(number);
    if (!out || !object || object->surface != surface) return Error::kInvalidValue;
    *out = give(*object);
    return Error::kSuccess;
  });
}

Error cuTexObjectCreate(unsigned long long* out, const DriverResourceDesc* resource, const DriverTextureDesc* texture,
                        const ViewDesc* view) {
  return make(out, resource, texture, view, false);
}

Error cuSurfObjectCreate(unsigned long long* out, const DriverResourceDesc* resource) {
  return make(out, resource, nullptr, nullptr, true);
}

Error cuTexObjectGetResourceDesc(DriverResourceDesc* out, unsigned long long number) {
  return ask(out, number, false, [](const TextureObject& o) { return to_driver(o.resource); });
}

Error cuSurfObjectGetResourceDesc(DriverResourceDesc* out, unsigned long long number) {
  return ask(out, number, true, [](const TextureObject& o) { return to_driver(o.resource); });
}

Error cuTexObjectGetTextureDesc(DriverTextureDesc* out, unsigned long long number) {
  return ask(out, number, false, [](const TextureObject& o) { return to_driver(o.texture); });
}

Error cuDeviceGetTexture1DLinearMaxWidth(size_t* out, int format, unsigned channels, int device) {
  return entry([&] {
    if (!out || !channels_of(format, channels)) return Error::kInvalidValue;
    if (!Process::get().has_device(device)) return Error::kInvalidDevice;
    *out = kMostLinearElements;
    return Error::kSuccess;
  });
}

}  // namespace

std::span<const Export> driver_texture_exports() {
  static const Export rows[] = {
      QUERN_EXPORT(cuTexObjectCreate),          QUERN_EXPORT(cuSurfObjectCreate),
      QUERN_EXPORT(cuTexObjectGetResourceDesc), QUERN_EXPORT(cuSurfObjectGetResourceDesc),
      QUERN_EXPORT(cuTexObjectGetTextureDesc),  QUERN_EXPORT(cuDeviceGetTexture1DLinearMaxWidth),
  };
  return rows;
}

}  // namespace quern::cuda
