#include "vgpu/texture/surface.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "vgpu/texture/texel.h"

namespace quern::vgpu {
namespace {

template <class T>
void reduce_in_memory(uint64_t address, Reduce how, T value) {
  std::atomic_ref<T> word(*reinterpret_cast<T*>(address));
  T old = word.load(std::memory_order_relaxed), now;
  do {
    switch (how) {
      case Reduce::kAdd: now = static_cast<T>(static_cast<uint64_t>(old) + static_cast<uint64_t>(value)); break;
      case Reduce::kMin: now = std::min(old, value); break;
      case Reduce::kMax: now = std::max(old, value); break;
      case Reduce::kAnd: now = old & value; break;
      default: now = old | value; break;
    }
  } while (!word.compare_exchange_weak(old, now, std::memory_order_relaxed));
}

}  // namespace

SurfacePlace place_on_surface(const Texture& surface, const TextureForm& form, SurfaceAt at,
                              const TexelAccess& access) {
  const TextureLevel& l = surface.levels[0];
  SurfacePlace out;
  int32_t element = surface.format.bytes();
  out.bytes = form.formatted && form.op == TextureOp::kStore ? element : form.bytes * form.count;
  if (form.formatted) at.x *= element;
  bool slices = form.layered || form.dimensions == 3;
  if (form.dimensions == 1) at.y = 0;
  if (!slices) at.z = 0;
  int64_t depth = surface.layers ? surface.layers : l.depth;
  int64_t last[3] = {static_cast<int64_t>(l.width) * element - out.bytes, static_cast<int64_t>(l.height) - 1,
                     depth - 1};
  int64_t* given[3] = {&at.x, &at.y, &at.z};
  for (size_t i = 0; i < 3; ++i) {
    if (*given[i] >= 0 && *given[i] <= last[i]) continue;
    if (form.beyond == Beyond::kZero && last[0] >= 0) return out;
    out.fault = SurfaceFault::kOutside;
    if (form.beyond == Beyond::kClamp && last[i] >= 0) {
      *given[i] = std::clamp<int64_t>(*given[i], 0, last[i]);
      out.fault = SurfaceFault::kNone;
      continue;
    }
    break;
  }
  out.address = l.address + static_cast<uint64_t>(at.x + at.y * l.pitch + at.z * l.slice);
  if (out.fault != SurfaceFault::kNone) return out;
  bool reads = form.op != TextureOp::kStore, writes = form.op != TextureOp::kLoad;
  if (*out.address & static_cast<uint64_t>(out.bytes - 1)) {
    out.fault = SurfaceFault::kMisaligned;
  } else if ((reads && !access.may_read(*out.address, out.bytes)) ||
             (writes && !access.may_write(*out.address, out.bytes))) {
    out.fault = SurfaceFault::kMemory;
  }
  return out;
}

void load_surface(const TextureForm& form, uint64_t address, uint64_t value[4]) {
  for (int32_t i = 0; i < form.count; ++i) {
    value[i] = 0;
    std::memcpy(&value[i], reinterpret_cast<const std::byte*>(address) + i * form.bytes, form.bytes);
  }
}

void store_surface(const Texture& surface, const TextureForm& form, uint64_t address, const uint64_t value[4]) {
  auto* to = reinterpret_cast<std::byte*>(address);
  if (form.formatted) {
    Texel texel;
    for (size_t i = 0; i < 4; ++i) texel[i] = static_cast<uint32_t>(value[i]);
    return write_texel(to, surface.format, texel);
  }
  for (int32_t i = 0; i < form.count; ++i) std::memcpy(to + i * form.bytes, &value[i], form.bytes);
}

void reduce_surface(const Texture& surface, const TextureForm& form, uint64_t address, uint64_t value) {
  bool sign = form.formatted ? surface.format.kind == ChannelKind::kSigned : form.sign;
  bool wide = form.bytes == 8;
  if (wide && sign) return reduce_in_memory(address, form.reduce, static_cast<int64_t>(value));
  if (wide) return reduce_in_memory(address, form.reduce, value);
  if (sign) return reduce_in_memory(address, form.reduce, static_cast<int32_t>(value));
  reduce_in_memory(address, form.reduce, static_cast<uint32_t>(value));
}

uint32_t query_texture(const Texture& t, const Sampler& s, TextureQuery query, int32_t level) {
  const TextureLevel& l = t.levels[static_cast<size_t>(std::clamp<int64_t>(level, 0, std::ssize(t.levels) - 1))];
  // Numbers of address modes and of OpenCL's types and orders: PTX ISA, section 5.3.
  auto mode = [&](size_t i) -> uint32_t {
    switch (s.address[i]) {
      case AddressMode::kWrap: return 0;
      case AddressMode::kMirror: return 1;
      case AddressMode::kClamp: return 3;
      default: return 4;
    }
  };
  switch (query) {
    case TextureQuery::kWidth: return l.width;
    case TextureQuery::kHeight: return l.height;
    case TextureQuery::kDepth: return l.depth;
    case TextureQuery::kArraySize: return t.cube ? t.layers / 6 : t.layers;
    case TextureQuery::kLevels: return static_cast<uint32_t>(t.levels.size());
    case TextureQuery::kSamples: return 1;
    case TextureQuery::kChannelOrder: return t.format.channels == 1 ? 0x10b0 : t.format.channels == 2 ? 0x10b2 : 0x10b5;
    case TextureQuery::kChannelType: {
      uint32_t size = t.format.bits == 8 ? 0 : t.format.bits == 16 ? 1 : 2;
      if (t.format.kind == ChannelKind::kFloat) return size == 1 ? 0x10dd : 0x10de;
      bool sign = t.format.kind == ChannelKind::kSigned;
      if (s.as_real && size < 2) return (sign ? 0x10d0 : 0x10d2) + size;
      return (sign ? 0x10d7 : 0x10da) + size;
    }
    case TextureQuery::kNormalized: return s.normalized;
    case TextureQuery::kUnnormalized: return !s.normalized;
    case TextureQuery::kFilter: return s.linear;
    case TextureQuery::kAddress0: return mode(0);
    case TextureQuery::kAddress1: return mode(1);
    case TextureQuery::kAddress2: return mode(2);
    case TextureQuery::kLayout: return t.linear_memory ? 0 : 1;
  }
  return 0;
}

}  // namespace quern::vgpu
