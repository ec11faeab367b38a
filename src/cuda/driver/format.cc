#include "cuda/driver/format.h"

namespace quern::cuda {
namespace {

struct Row {
  int format;
  ChannelKind kind;
  int bits;
};

constexpr Row kRows[] = {
    {kFormatUnsigned8, ChannelKind::kUnsigned, 8},   {kFormatUnsigned16, ChannelKind::kUnsigned, 16},
    {kFormatUnsigned32, ChannelKind::kUnsigned, 32}, {kFormatSigned8, ChannelKind::kSigned, 8},
    {kFormatSigned16, ChannelKind::kSigned, 16},     {kFormatSigned32, ChannelKind::kSigned, 32},
    {kFormatHalf, ChannelKind::kFloat, 16},          {kFormatFloat, ChannelKind::kFloat, 32},
};

// Of 1, 2 and 4 channels of 8 bits, then of 16, without and with a sign: the runtime's kinds are in the same order.
constexpr int kNormalizedKinds = kLastNormalized - kFirstNormalized + 1;

ChannelDesc channels_of_bits(ChannelKind kind, int bits, unsigned count) {
  return {bits, count > 1 ? bits : 0, count > 2 ? bits : 0, count > 3 ? bits : 0, kind};
}

unsigned count_of(const ChannelDesc& c) { return c.w ? 4 : c.z ? 3 : c.y ? 2 : 1; }

}  // namespace

std::optional<ChannelDesc> channels_of(int format, unsigned channels) {
  if (channels != 1 && channels != 2 && channels != 4) return std::nullopt;
  for (const Row& r : kRows) {
    if (r.format == format) return channels_of_bits(r.kind, r.bits, channels);
  }
  int which = format - kFormatNormalized;
  if (which < 0 || which >= kNormalizedKinds || channels != 1u << which % 3) return std::nullopt;
  return channels_of_bits(static_cast<ChannelKind>(kFirstNormalized + which), which / 3 % 2 ? 16 : 8, channels);
}

void set_flags(unsigned flags, TextureDesc& out) {
  out.read_mode = flags & kReadAsInteger ? 0 : kReadReal;
  out.normalized = (flags & kNormalizedCoordinates) != 0;
  out.srgb = (flags & kSrgb) != 0;
  out.no_trilinear_optimization = (flags & kNoTrilinearOptimization) != 0;
  out.seamless_cubemap = (flags & kSeamlessCubemap) != 0;
}

DriverFormat format_of(const ChannelDesc& c) {
  for (const Row& r : kRows) {
    if (r.kind == c.kind && r.bits == c.x) return {r.format, count_of(c)};
  }
  return {kFormatNormalized + static_cast<int>(c.kind) - kFirstNormalized, count_of(c)};
}

}  // namespace quern::cuda
