// Texture and surface objects: what a program described, by the number that its kernels get. Numbers count from 1, so
// that a kernel's number leads to nothing but this table.
#pragma once

#include <cstdint>
#include <map>

#include "cuda/abi/texture_types.h"

namespace quern::cuda {

struct TextureObject {
  ResourceDesc resource{};
  TextureDesc texture{};
  ViewDesc view{};
  bool has_view = false;
  bool surface = false;
};

// Whoever uses it holds the process's lock.
class TextureTable {
 public:
  static TextureTable& get();

  uint64_t add(const TextureObject& object);
  bool remove(uint64_t number);
  const TextureObject* find(uint64_t number) const;  // null: none

 private:
  std::map<uint64_t, TextureObject> objects_;
  uint64_t next_ = 1;
};

// Does what the resource names exist, and is it described as it is? kInvalidValue, kInvalidResourceHandle.
Error check_resource(const ResourceDesc& resource, bool surface);

}  // namespace quern::cuda
