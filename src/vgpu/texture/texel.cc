#include "vgpu/texture/texel.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace quern::vgpu {
namespace {

template <class T>
T load(const std::byte* from) {
  T v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

// A channel's bits, widened with its sign.
uint32_t channel(const std::byte* from, const TexelFormat& f) {
  bool sign = f.kind == ChannelKind::kSigned;
  switch (f.bits) {
    case 8: return sign ? static_cast<uint32_t>(load<int8_t>(from)) : load<uint8_t>(from);
    case 16: return sign ? static_cast<uint32_t>(load<int16_t>(from)) : load<uint16_t>(from);
    default: return load<uint32_t>(from);
  }
}

// IEC 61966-2-1.
double linear_of_srgb(double v) { return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4); }

double srgb_byte(uint32_t byte) {
  static const std::array<double, 256> table = [] {
    std::array<double, 256> out{};
    for (size_t i = 0; i < out.size(); ++i) out[i] = linear_of_srgb(static_cast<double>(i) / 255);
    return out;
  }();
  return table[byte];
}

double number(uint32_t bits, const TexelFormat& f, const Sampler& s, bool alpha) {
  if (f.kind == ChannelKind::kFloat) {
    if (f.bits == 16) return static_cast<double>(std::bit_cast<_Float16>(static_cast<uint16_t>(bits)));
    return std::bit_cast<float>(bits);
  }
  if (f.kind == ChannelKind::kUnsigned) {
    if (s.srgb && f.bits == 8 && !alpha) return srgb_byte(bits);
    return bits / (f.bits == 8 ? 255.0 : 65535.0);
  }
  // The least number has no opposite: it is -1 as its neighbour is.
  return std::max(static_cast<int32_t>(bits) / (f.bits == 8 ? 127.0 : 32767.0), -1.0);
}

template <class T>
void put(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

}  // namespace

uint16_t half_of(float value) { return std::bit_cast<uint16_t>(static_cast<_Float16>(value)); }

Colour read_any_colour(const std::byte* from, const TexelFormat& f, const Sampler& s) {
  Colour out = {0, 0, 0, 1};
  for (int32_t c = 0; c < f.channels; ++c) {
    out[static_cast<size_t>(c)] = number(channel(from + c * f.bits / 8, f), f, s, c == 3);
  }
  return out;
}

Texel read_any_texel(const std::byte* from, const TexelFormat& f, const Sampler& s) {
  bool real = reads_real(f, s);
  Texel out = {0, 0, 0, real ? std::bit_cast<uint32_t>(1.0f) : 1};
  for (int32_t c = 0; c < f.channels; ++c) {
    uint32_t bits = channel(from + c * f.bits / 8, f);
    // Floats pass as they are, NaNs too.
    if (real && !(f.kind == ChannelKind::kFloat && f.bits == 32)) {
      bits = std::bit_cast<uint32_t>(static_cast<float>(number(bits, f, s, c == 3)));
    }
    out[static_cast<size_t>(c)] = bits;
  }
  return out;
}

void write_texel(std::byte* to, const TexelFormat& f, const Texel& value) {
  for (int32_t c = 0; c < f.channels; ++c) {
    uint32_t bits = value[static_cast<size_t>(c)];
    if (f.kind == ChannelKind::kFloat && f.bits == 16) bits = half_of(std::bit_cast<float>(bits));
    if (f.kind == ChannelKind::kUnsigned && f.bits < 32) bits = std::min(bits, (1u << f.bits) - 1);
    if (f.kind == ChannelKind::kSigned && f.bits < 32) {
      int32_t most = (1 << (f.bits - 1)) - 1;
      bits = static_cast<uint32_t>(std::clamp(static_cast<int32_t>(bits), -most - 1, most));
    }
    std::byte* at = to + c * f.bits / 8;
    if (f.bits == 8) put(at, static_cast<uint8_t>(bits));
    if (f.bits == 16) put(at, static_cast<uint16_t>(bits));
    if (f.bits == 32) put(at, bits);
  }
}

}  // namespace quern::vgpu
