#include "cuda/runtime/texture.h"

#include "cuda/runtime/array.h"
#include "cuda/runtime/live.h"
#include "cuda/runtime/process.h"

namespace quern::cuda {
namespace {

bool holds(const void* pointer, size_t bytes) {
  return pointer && bytes <= INT64_MAX &&
         Process::get().memory->contains(reinterpret_cast<uint64_t>(pointer), static_cast<int64_t>(bytes));
}

Error check_pitched(const ResourceDesc& r) {
  const auto& p = r.pitch2d;
  size_t element = element_bytes(p.channels), before;
  if (!element || !p.width || !p.height || p.pitch % 32 || p.width * element > p.pitch) return Error::kInvalidValue;
  if (__builtin_mul_overflow(p.pitch, p.height - 1, &before)) return Error::kInvalidValue;
  return holds(p.pointer, before + p.width * element) ? Error::kSuccess : Error::kInvalidValue;
}

}  // namespace

TextureTable& TextureTable::get() {
  static TextureTable& only = *new TextureTable;
  return only;
}

uint64_t TextureTable::add(const TextureObject& object) {
  objects_[next_] = object;
  described_.reset();
  return next_++;
}

bool TextureTable::remove(uint64_t number) {
  described_.reset();
  return objects_.erase(number) > 0;
}

std::shared_ptr<const vgpu::TextureTable> TextureTable::described() {
  if (!described_) {
    auto all = std::make_shared<vgpu::TextureTable>();
    for (const auto& [number, object] : objects_) all->emplace(number, object.described);
    described_ = std::move(all);
  }
  return described_;
}

const TextureObject* TextureTable::find(uint64_t number) const {
  auto found = objects_.find(number);
  return found == objects_.end() ? nullptr : &found->second;
}

Error check_resource(const ResourceDesc& r, bool surface) {
  switch (r.type) {
    case ResourceType::kArray: {
      auto array = Live<Array>::all().find(r.array);
      if (!array) return Error::kInvalidResourceHandle;
      return surface && !(array->flags & kArraySurface) ? Error::kInvalidValue : Error::kSuccess;
    }
    case ResourceType::kMipmappedArray:
      if (surface) return Error::kInvalidValue;
      return Live<MipmappedArray>::all().find(r.mipmap) ? Error::kSuccess : Error::kInvalidResourceHandle;
    case ResourceType::kLinear:
      if (surface || !element_bytes(r.linear.channels)) return Error::kInvalidValue;
      return holds(r.linear.pointer, r.linear.bytes) ? Error::kSuccess : Error::kInvalidValue;
    case ResourceType::kPitch2D: return surface ? Error::kInvalidValue : check_pitched(r);
  }
  return Error::kInvalidValue;
}

}  // namespace quern::cuda
