// Texture and surface references: variables of a module that textures are bound to while the program runs. They went
// with CUDA 12 but for the driver, which still takes modules that were compiled before. Such a variable holds the
// handle of an object, which is made anew whenever the reference changes.
#include <algorithm>
#include <cstring>

#include "cuda/api/entry.h"
#include "cuda/driver/format.h"
#include "cuda/runtime/live.h"
#include "cuda/runtime/registry.h"
#include "cuda/runtime/texture.h"

namespace quern::cuda {
namespace {

struct TextureReference {
  uint64_t variable = 0;
  TextureObject object;
  bool bound = false;
  DriverFormat format = {kFormatFloat, 1};  // of linear memory
  uint64_t handle = 0;                      // of the object that the variable names; 0: none
};

// What the reference is now, for kernels launched from here on.
Error bind(TextureReference& r) {
  vgpu::Memory& memory = *Process::get().memory;
  if (!memory.contains(r.variable, sizeof r.handle)) return Error::kInvalidResourceHandle;  // its module is gone
  if (r.handle) TextureTable::get().remove(r.handle);
  r.handle = 0;
  Error e = Error::kSuccess;
  if (r.bound) {
    r.object.described = {};
    e = check_resource(r.object.resource, r.object.surface);
    if (e == Error::kSuccess) e = describe(r.object);
    if (e == Error::kSuccess) r.handle = TextureTable::get().add(r.object);
  }
  std::memcpy(reinterpret_cast<void*>(r.variable), &r.handle, sizeof r.handle);
  return e;
}

template <class F>
Error change(TextureReference* handle, F f) {
  return entry_when_done([&] {
    auto r = Live<TextureReference>::all().find(handle);
    if (!r) return Error::kInvalidResourceHandle;
    f(*r);
    return bind(*r);
  });
}

Error find_reference(TextureReference** out, Image* handle, const char* name, bool surface) {
  return entry([&] {
    Image* image = Registry::get().image(handle);
    if (!image) return Error::kInvalidResourceHandle;
    if (!out || !name) return Error::kInvalidValue;
    auto program = image->program(thread_state().device);
    if (!program) return Error::kSymbolNotFound;
    const auto& variables = (*program)->module().variables;
    auto wanted = surface ? ptx::Type::k_surfref : ptx::Type::k_texref;
    auto found = std::ranges::find_if(variables, [&](const auto& v) { return v.name == name && v.type == wanted; });
    auto placed = found == variables.end() ? std::nullopt : (*program)->variable(name);
    if (!placed) return Error::kSymbolNotFound;
    // A name stands for one reference, however often it is asked for.
    *out = nullptr;
    Live<TextureReference>::all().each([&](TextureReference& other) {
      if (other.variable == placed->address) *out = &other;
    });
    if (*out) return Error::kSuccess;
    auto made = std::make_shared<TextureReference>();
    made->variable = placed->address;
    made->object.surface = surface;
    std::fill_n(made->object.texture.address_mode, 3, static_cast<int>(vgpu::AddressMode::kClamp));
    made->object.texture.read_mode = kReadReal;
    *out = Live<TextureReference>::all().add(std::move(made));
    return Error::kSuccess;
  });
}

void set_linear_channels(TextureReference& r) {
  auto c = channels_of(r.format.format, r.format.channels);
  PlainChannels plain = {c->x, c->y, c->z, c->w, c->kind};
  if (r.object.resource.type == ResourceType::kLinear) r.object.resource.linear.channels = plain;
  if (r.object.resource.type == ResourceType::kPitch2D) r.object.resource.pitch2d.channels = plain;
}

Error cuModuleGetTexRef(TextureReference** out, Image* image, const char* name) {
  return find_reference(out, image, name, false);
}
Error cuModuleGetSurfRef(TextureReference** out, Image* image, const char* name) {
  return find_reference(out, image, name, true);
}

Error cuTexRefSetArray(TextureReference* r, Array* array, unsigned) {
  return change(r, [&](TextureReference& t) {
    t.object.resource.type = ResourceType::kArray;
    t.object.resource.array = array;
    t.bound = array != nullptr;
  });
}

Error cuTexRefSetMipmappedArray(TextureReference* r, MipmappedArray* array, unsigned) {
  return change(r, [&](TextureReference& t) {
    t.object.resource.type = ResourceType::kMipmappedArray;
    t.object.resource.mipmap = array;
    t.bound = array != nullptr;
  });
}

Error cuTexRefSetAddress_v2(size_t* offset, TextureReference* r, uint64_t address, size_t bytes) {
  if (offset) *offset = 0;
  return change(r, [&](TextureReference& t) {
    t.object.resource.type = ResourceType::kLinear;
    t.object.resource.linear = {reinterpret_cast<void*>(address), {}, bytes};
    t.bound = address != 0;
    set_linear_channels(t);
  });
}

Error cuTexRefSetAddress2D_v3(TextureReference* r, const ArrayDescriptor* d, uint64_t address, size_t pitch) {
  if (!d || !channels_of(d->format, d->channels)) return remember(Error::kInvalidValue);
  return change(r, [&](TextureReference& t) {
    t.object.resource.type = ResourceType::kPitch2D;
    t.object.resource.pitch2d = {reinterpret_cast<void*>(address), {}, d->width, d->height, pitch};
    t.format = {d->format, d->channels};
    t.bound = address != 0;
    set_linear_channels(t);
  });
}

Error cuTexRefSetFormat(TextureReference* r, int format, int channels) {
  if (!channels_of(format, static_cast<unsigned>(channels))) return remember(Error::kInvalidValue);
  return change(r, [&](TextureReference& t) {
    t.format = {format, static_cast<unsigned>(channels)};
    set_linear_channels(t);
  });
}

Error cuTexRefSetAddressMode(TextureReference* r, int direction, int mode) {
  if (direction < 0 || direction > 2 || mode < 0 || mode > 3) return remember(Error::kInvalidValue);
  return change(r, [&](TextureReference& t) { t.object.texture.address_mode[direction] = mode; });
}

Error cuTexRefSetFilterMode(TextureReference* r, int mode) {
  return change(r, [&](TextureReference& t) { t.object.texture.filter_mode = mode; });
}

Error cuTexRefSetFlags(TextureReference* r, unsigned flags) {
  return change(r, [&](TextureReference& t) { set_flags(flags, t.object.texture); });
}

Error cuTexRefSetBorderColor(TextureReference* r, const float* colour) {
  if (!colour) return remember(Error::kInvalidValue);
  return change(r, [&](TextureReference& t) { std::copy_n(colour, 4, t.object.texture.border); });
}

Error cuTexRefSetMipmapFilterMode(TextureReference* r, int mode) {
  return change(r, [&](TextureReference& t) { t.object.texture.mipmap_filter_mode = mode; });
}

Error cuTexRefSetMipmapLevelBias(TextureReference* r, float bias) {
  return change(r, [&](TextureReference& t) { t.object.texture.mipmap_bias = bias; });
}

Error cuTexRefSetMipmapLevelClamp(TextureReference* r, float least, float most) {
  return change(r,
                [&](TextureReference& t) { t.object.texture.min_mipmap = least, t.object.texture.max_mipmap = most; });
}

Error cuTexRefSetMaxAnisotropy(TextureReference* r, unsigned most) {
  return change(r, [&](TextureReference& t) { t.object.texture.max_anisotropy = most; });
}

Error cuTexRefGetArray(Array** out, TextureReference* handle) {
  return entry([&] {
    auto r = Live<TextureReference>::all().find(handle);
    if (!r || !out || !r->bound || r->object.resource.type != ResourceType::kArray) return Error::kInvalidValue;
    *out = r->object.resource.array;
    return Error::kSuccess;
  });
}

// Every reference of a kernel's module is its own, so there is nothing to say of one.
Error cuParamSetTexRef(Kernel*, int, TextureReference*) {
  return entry([] { return Error::kSuccess; });
}

}  // namespace

std::span<const Export> driver_texture_reference_exports() {
  static const Export rows[] = {
      QUERN_EXPORT(cuModuleGetTexRef),
      QUERN_EXPORT(cuModuleGetSurfRef),
      QUERN_EXPORT(cuTexRefSetArray),
      QUERN_EXPORT_AS(cuSurfRefSetArray, cuTexRefSetArray, 0),
      QUERN_EXPORT(cuTexRefSetMipmappedArray),
      QUERN_EXPORT(cuTexRefSetAddress_v2),
      QUERN_EXPORT(cuTexRefSetAddress2D_v3),
      QUERN_EXPORT_AS(cuTexRefSetAddress2D_v2, cuTexRefSetAddress2D_v3, 0),
      QUERN_EXPORT(cuTexRefSetFormat),
      QUERN_EXPORT(cuTexRefSetAddressMode),
      QUERN_EXPORT(cuTexRefSetFilterMode),
      QUERN_EXPORT(cuTexRefSetFlags),
      QUERN_EXPORT(cuTexRefSetBorderColor),
      QUERN_EXPORT(cuTexRefSetMipmapFilterMode),
      QUERN_EXPORT(cuTexRefSetMipmapLevelBias),
      QUERN_EXPORT(cuTexRefSetMipmapLevelClamp),
      QUERN_EXPORT(cuTexRefSetMaxAnisotropy),
      QUERN_EXPORT(cuTexRefGetArray),
      QUERN_EXPORT_AS(cuSurfRefGetArray, cuTexRefGetArray, 0),
      QUERN_EXPORT(cuParamSetTexRef),
  };
  return rows;
}

}  // namespace quern::cuda
