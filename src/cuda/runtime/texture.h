// Texture and surface objects: what a program described, by the number that its kernels get. Numbers count from 1, so
// that a kernel's number leads to nothing but this table.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "cuda/abi/texture_types.h"
#include "vgpu/texture/texture.h"

namespace quern::cuda {

inline constexpr size_t kMostLinearElements = size_t{1} << 28;  // of a texture in linear memory

struct TextureObject {
  ResourceDesc resource{};
  TextureDesc texture{};
  ViewDesc view{};
  bool has_view = false;
  bool surface = false;
  vgpu::Texture described;  // the same for the virtual GPU
};

// Whoever uses it holds the process's lock.
class TextureTable {
 public:
  static TextureTable& get();

  uint64_t add(const TextureObject& object);
  bool remove(uint64_t number);
  const TextureObject* find(uint64_t number) const;  // null: none
  // All objects, for a launch; later changes don't show in it.
  std::shared_ptr<const vgpu::TextureTable> described();

 private:
  std::map<uint64_t, TextureObject> objects_;
  uint64_t next_ = 1;
  std::shared_ptr<const vgpu::TextureTable> described_;  // null: to be made anew
};

// Does what the resource names exist, and is it described as it is? kInvalidValue, kInvalidResourceHandle.
Error check_resource(const ResourceDesc& resource, bool surface);
// The channels of what the resource names; null if it doesn't exist.
std::optional<ChannelDesc> channels_of(const ResourceDesc& resource);
// Fills TextureObject::described from the rest, of which check_resource has approved. Errors: what no texture has.
Error describe(TextureObject& object);

}  // namespace quern::cuda
