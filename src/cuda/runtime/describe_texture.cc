// Texture and surface objects as the virtual GPU wants them: addresses, sizes and modes, out of the program's
// descriptions and the arrays that these name.
#include <bit>

#include "cuda/runtime/array.h"
#include "cuda/runtime/live.h"
#include "cuda/runtime/texture.h"

namespace quern::cuda {
namespace {

using vgpu::TexelFormat;
using vgpu::Texture;
using vgpu::TextureLevel;

bool set_format(const ChannelDesc& c, Texture& out) {
  if (!element_bytes(c)) return false;
  out.format.bits = c.x;
  out.format.channels = static_cast<int32_t>(element_bytes(c)) * 8 / c.x;
  auto kind = static_cast<int>(c.kind);
  switch (c.kind) {
    case ChannelKind::kSigned: out.format.kind = vgpu::ChannelKind::kSigned; return true;
    case ChannelKind::kUnsigned: out.format.kind = vgpu::ChannelKind::kUnsigned; return true;
    case ChannelKind::kFloat: out.format.kind = vgpu::ChannelKind::kFloat; return true;
    default: break;
  }
  if (kind < kFirstNormalized || kind > kLastNormalized) return false;
  out.format.kind = kind < kFirstSignedNormalized ? vgpu::ChannelKind::kUnsigned : vgpu::ChannelKind::kSigned;
  out.sampler.as_real = true;
  return true;
}

// cudaResourceViewFormat: seven kinds, each with 1, 2 and 4 channels.
bool set_view_format(int format, Texture& out) {
  using K = vgpu::ChannelKind;
  constexpr std::pair<K, int32_t> kKinds[] = {{K::kUnsigned, 8}, {K::kSigned, 8},    {K::kUnsigned, 16},
                                              {K::kSigned, 16},  {K::kUnsigned, 32}, {K::kSigned, 32},
                                              {K::kFloat, 16},   {K::kFloat, 32}};
  if (!format) return true;
  auto which = static_cast<size_t>(format - 1);
  if (format < 0 || which / 3 >= std::size(kKinds)) return false;
  TexelFormat wanted{kKinds[which / 3].first, kKinds[which / 3].second, 1 << which % 3};
  if (wanted.bytes() != out.format.bytes()) return false;
  out.format = wanted;
  return true;
}

TextureLevel level_of(const Array& a, bool layered) {
  TextureLevel l;
  l.address = a.address;
  l.width = static_cast<uint32_t>(a.extent.width);
  l.height = static_cast<uint32_t>(a.rows);
  l.depth = layered ? 1 : static_cast<uint32_t>(a.slices);
  l.pitch = static_cast<int64_t>(a.pitch);
  l.slice = static_cast<int64_t>(a.slice_bytes());
  return l;
}

void add_array(const Array& a, Texture& out) {
  bool layered = a.flags & (kArrayLayered | kArrayCubemap);
  out.array = true;
  out.cube = a.flags & kArrayCubemap;
  if (layered) out.layers = static_cast<uint32_t>(a.slices);
  out.levels.push_back(level_of(a, layered));
}

Error set_view(const ViewDesc& view, Texture& out) {
  if (!set_view_format(view.format, out)) return Error::kInvalidValue;
  if (view.last_level < view.first_level || view.last_level >= out.levels.size()) return Error::kInvalidValue;
  out.levels.erase(out.levels.begin() + view.last_level + 1, out.levels.end());
  out.levels.erase(out.levels.begin(), out.levels.begin() + view.first_level);
  if (!out.layers) return Error::kSuccess;
  if (view.last_layer < view.first_layer || view.last_layer >= out.layers) return Error::kInvalidValue;
  out.layers = view.last_layer - view.first_layer + 1;
  for (TextureLevel& l : out.levels) l.address += view.first_layer * static_cast<uint64_t>(l.slice);
  return Error::kSuccess;
}

Error set_sampler(const TextureDesc& t, vgpu::Sampler& out) {
  for (size_t i = 0; i < 3; ++i) {
    if (t.address_mode[i] < 0 || t.address_mode[i] > 3) return Error::kInvalidValue;
    out.address[i] = static_cast<vgpu::AddressMode>(t.address_mode[i]);
  }
  out.linear = t.filter_mode == kFilterLinear;
  out.normalized = t.normalized != 0;
  out.as_real |= t.read_mode == kReadReal;
  out.srgb = t.srgb != 0;
  out.seamless = t.seamless_cubemap != 0;
  out.mip_linear = t.mipmap_filter_mode == kFilterLinear;
  out.bias = t.mipmap_bias;
  out.least_level = t.min_mipmap;
  out.most_level = t.max_mipmap;
  for (size_t i = 0; i < 4; ++i) out.border[i] = std::bit_cast<uint32_t>(t.border[i]);
  return Error::kSuccess;
}

}  // namespace

std::optional<ChannelDesc> channels_of(const ResourceDesc& r) {
  switch (r.type) {
    case ResourceType::kArray: {
      auto array = Live<Array>::all().find(r.array);
      return array ? std::optional(array->channels) : std::nullopt;
    }
    case ResourceType::kMipmappedArray: {
      auto all = Live<MipmappedArray>::all().find(r.mipmap);
      return all ? std::optional(all->levels[0]->channels) : std::nullopt;
    }
    case ResourceType::kLinear: return r.linear.channels;
    case ResourceType::kPitch2D: return r.pitch2d.channels;
  }
  return std::nullopt;
}

Error describe(TextureObject& o) {
  Texture& out = o.described;
  const ResourceDesc& r = o.resource;
  out.surface = o.surface;
  auto channels = channels_of(r);
  if (!channels || !set_format(*channels, out)) return Error::kInvalidChannelDescriptor;
  TextureLevel memory;
  switch (r.type) {
    case ResourceType::kArray: add_array(*Live<Array>::all().find(r.array), out); break;
    case ResourceType::kMipmappedArray:
      for (const auto& level : Live<MipmappedArray>::all().find(r.mipmap)->levels) add_array(*level, out);
      break;
    case ResourceType::kLinear: {
      size_t width = r.linear.bytes / static_cast<size_t>(out.format.bytes());
      if (!width || width > kMostLinearElements) return Error::kInvalidValue;
      out.linear_memory = true;
      memory.address = reinterpret_cast<uint64_t>(r.linear.pointer);
      memory.width = static_cast<uint32_t>(width);
      out.levels.push_back(memory);
      break;
    }
    case ResourceType::kPitch2D:
      if (r.pitch2d.width > UINT32_MAX || r.pitch2d.height > UINT32_MAX) return Error::kInvalidValue;
      memory.address = reinterpret_cast<uint64_t>(r.pitch2d.pointer);
      memory.width = static_cast<uint32_t>(r.pitch2d.width);
      memory.height = static_cast<uint32_t>(r.pitch2d.height);
      memory.pitch = static_cast<int64_t>(r.pitch2d.pitch);
      out.levels.push_back(memory);
      break;
  }
  if (out.levels[0].address % static_cast<uint64_t>(out.format.bytes())) return Error::kInvalidValue;
  if (o.surface) return Error::kSuccess;
  if (Error e = set_sampler(o.texture, out.sampler); e != Error::kSuccess) return e;
  return o.has_view ? set_view(o.view, out) : Error::kSuccess;
}

}  // namespace quern::cuda
