// What a kernel's texture and surface handles lead to: a table that the caller fills before a launch. A handle is a
// number of the caller's; what isn't in the table is no object.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace quern::vgpu {

enum class ChannelKind : uint8_t { kSigned, kUnsigned, kFloat };

struct TexelFormat {
  ChannelKind kind = ChannelKind::kFloat;
  int32_t bits = 32;     // of a channel: 8, 16 or 32
  int32_t channels = 1;  // 1, 2 or 4

  int32_t bytes() const { return bits / 8 * channels; }
};

enum class AddressMode : uint8_t { kWrap, kClamp, kMirror, kBorder };

struct Sampler {
  std::array<AddressMode, 3> address = {AddressMode::kClamp, AddressMode::kClamp, AddressMode::kClamp};
  bool linear = false;
  bool normalized = false;  // coordinates
  bool as_real = false;     // integers of 8 and 16 bits are read as numbers of 0 … 1 or -1 … 1
  bool srgb = false;        // 8-bit colours are sRGB's, read as linear ones
  bool seamless = false;    // filtering goes across the edges of a cube
  bool mip_linear = false;  // between levels
  float bias = 0, least_level = 0, most_level = 0;
  std::array<uint32_t, 4> border = {};  // bits of floats, or integers
};

// Rows of elements with a pitch, slices of rows.
struct TextureLevel {
  uint64_t address = 0;
  uint32_t width = 1, height = 1, depth = 1;  // in elements
  int64_t pitch = 0, slice = 0;               // bytes
};

struct Texture {
  bool surface = false;
  bool linear_memory = false;  // one row of elements; what lies outside reads as zero
  bool array = false;          // a CUDA array, or levels of them
  bool cube = false;
  TexelFormat format;
  Sampler sampler;
  uint32_t layers = 0;  // of a layered one, faces of a cube counted; 0: it has none
  std::vector<TextureLevel> levels;
};

using TextureTable = std::unordered_map<uint64_t, Texture>;

}  // namespace quern::vgpu
