#include "vgpu/texture/sample.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "vgpu/texture/coordinate.h"

namespace quern::vgpu {
namespace {

class Fetch {
 public:
  Fetch(const Texture& texture, const Sampler& sampler, const TextureCall& call, size_t lane, const TexelAccess& access)
      : texture_(texture), sampler_(sampler), call_(call), form_(call.form), lane_(lane), access_(access) {
    real_ = reads_real(texture.format, sampler);
    seamless_ = form_.cube && texture.cube && sampler.seamless;
  }

  Sampled run() {
    Sampled out;
    if (form_.op == TextureOp::kGather) {
      out.texel = gather();
    } else if (sampler_.linear && real_ && !form_.integer && !texture_.linear_memory) {
      out.texel = filtered();
    } else {
      out.texel = point();
    }
    out.bad = bad_;
    return out;
  }

 private:
  struct Place {
    const TextureLevel* level = nullptr;
    std::array<Taps, 3> taps;
    uint32_t layer = 0;
  };

  // --- operands ---

  uint32_t bits(size_t i) const { return call_.coordinate[i + form_.layered][lane_]; }
  float coordinate(size_t i) const { return std::bit_cast<float>(bits(i)); }
  float level_operand(size_t i) const { return std::bit_cast<float>(call_.level[i][lane_]); }
  FacePoint face() const { return on_cube(coordinate(0), coordinate(1), coordinate(2)); }

  // --- levels ---

  // Log2 of the longest step to the next pixel, in elements.
  float gradient_level() const {
    const TextureLevel& l = texture_.levels[0];
    double size[3] = {static_cast<double>(l.width), static_cast<double>(l.height), static_cast<double>(l.depth)};
    double longest = 0;
    for (size_t way = 0; way < 6; way += 3) {
      const float d[3] = {level_operand(way), level_operand(way + 1), level_operand(way + 2)};
      double square = 0;
      if (form_.cube) {
        square = cube_step(d, size[0]);
      } else {
        for (int i = 0; i < form_.dimensions; ++i) {
          double step = d[i] * (sampler_.normalized ? size[i] : 1);
          square += step * step;
        }
      }
      longest = std::max(longest, square);
    }
    return static_cast<float>(std::log2(longest) / 2);
  }

  // The square of a step on the face that the direction hits: (s / m)' = (s' - (s / m) m') / m, of length 2 a face.
  double cube_step(const float* d, double size) const {
    FacePoint p = face();
    std::array<double, 3> s = off_cube(p.face, 1, 0), t = off_cube(p.face, 0, 1), m = off_cube(p.face, 0, 0);
    double along[3] = {0, 0, 0}, major = 0;
    for (size_t i = 0; i < 3; ++i) {
      along[0] += (s[i] - m[i]) * d[i];
      along[1] += (t[i] - m[i]) * d[i];
      along[2] += m[i] * d[i];
      major += m[i] * coordinate(i);
    }
    double ds = (along[0] - (2 * p.x - 1.0) * along[2]) / major * size / 2;
    double dt = (along[1] - (2 * p.y - 1.0) * along[2]) / major * size / 2;
    return ds * ds + dt * dt;
  }

  // The levels to read, and the weight of the second.
  Taps levels() const {
    auto count = static_cast<int64_t>(texture_.levels.size());
    if (count == 1) return {};
    float level = form_.level == LevelBy::kLevel      ? level_operand(0) + sampler_.bias
                  : form_.level == LevelBy::kGradient ? gradient_level() + sampler_.bias
                                                      : 0;
    if (!(level > sampler_.least_level)) level = sampler_.least_level;
    level = std::min(level, sampler_.most_level);
    // Elements lie at whole levels, so the neighbours are those of a coordinate that is half an element on.
    Taps out = sampler_.mip_linear ? neighbours(level + 0.5f, 0) : nearest(level + 0.5f, 0);
    for (int64_t& index : out.index) index = addressed(index, count, AddressMode::kClamp);
    return out;
  }

  // --- places ---

  Place place(const TextureLevel& level, bool two) const {
    Place out;
    out.level = &level;
    uint32_t layer = form_.layered ? call_.coordinate[0][lane_] : 0;
    FacePoint p;
    if (form_.cube) {
      p = face();
      uint32_t cubes = std::max(texture_.layers / 6, 1u);
      layer = std::min(layer, cubes - 1) * 6 + static_cast<uint32_t>(p.face);
    }
    out.layer = std::min(layer, std::max(texture_.layers, 1u) - 1);
    int64_t size[3] = {level.width, level.height, level.depth};
    for (size_t i = 0; i < form_.dimensions; ++i) {
      AddressMode mode = form_.cube ? AddressMode::kClamp : sampler_.address[i];
      // What lies outside of linear memory is zero, whatever the mode says.
      if (texture_.linear_memory) mode = AddressMode::kBorder;
      int64_t offset = form_.offset ? call_.offset[i][lane_] : 0;
      if (form_.integer) {
        in_elements(0, size[i], mode, false);
        int64_t index = addressed(static_cast<int32_t>(bits(i)) + offset, size[i], mode);
        out.taps[i] = {{index, index}, 0};
        continue;
      }
      float x = !form_.cube ? coordinate(i) : i ? p.y : p.x;
      float e = in_elements(x, size[i], mode, sampler_.normalized || form_.cube);
      out.taps[i] = two ? neighbours(e, offset) : nearest(e, offset);
      if (seamless_ && two) continue;  // what lies beyond a face is another's: across()
      for (int64_t& index : out.taps[i].index) index = addressed(index, size[i], mode);
    }
    return out;
  }

  // --- elements ---

  // Null: the border, or what may not be read.
  const std::byte* element(const Place& p, int64_t x, int64_t y, int64_t z) {
    if (x < 0 || y < 0 || z < 0) return nullptr;
    const TextureLevel& l = *p.level;
    uint64_t at = l.address + static_cast<uint64_t>(x * texture_.format.bytes() + y * l.pitch +
                                                    (z + static_cast<int64_t>(p.layer)) * l.slice);
    if (!access_.may_read(at, texture_.format.bytes())) {
      if (!bad_.bytes) bad_ = {at, texture_.format.bytes()};
      return nullptr;
    }
    return reinterpret_cast<const std::byte*>(at);
  }

  Texel border() const { return texture_.linear_memory ? Texel{} : sampler_.border; }

  Texel texel(const Place& p, int64_t x, int64_t y, int64_t z) {
    const std::byte* from = element(p, x, y, z);
    return from ? read_texel(from, texture_.format, sampler_) : border();
  }

  Colour colour(const Place& p, int64_t x, int64_t y, int64_t z) {
    if (seamless_) return across(p, x, y);
    if (const std::byte* from = element(p, x, y, z)) return read_colour(from, texture_.format, sampler_);
    Colour out;
    for (size_t c = 0; c < 4; ++c) out[c] = std::bit_cast<float>(sampler_.border[c]);
    return out;
  }

  // A texel next to a face is that of the face it borders on; at a corner there is none, and the three that meet there
  // are averaged.
  Colour across(const Place& p, int64_t x, int64_t y) {
    int64_t size = std::min(p.level->width, p.level->height);
    auto outside = [&](int64_t i) { return i < 0 || i >= size; };
    auto clamped = [&](int64_t i) { return std::clamp<int64_t>(i, 0, size - 1); };
    if (outside(x) && outside(y)) {
      Colour out = {};
      const int64_t three[3][2] = {{clamped(x), clamped(y)}, {x, clamped(y)}, {clamped(x), y}};
      for (const auto& [i, j] : three) {
        Colour one = across(p, i, j);
        for (size_t c = 0; c < 4; ++c) out[c] += one[c] / 3;
      }
      return out;
    }
    Place there = p;
    if (outside(x) || outside(y)) {
      auto side = [&](int64_t i) { return (2 * static_cast<double>(i) + 1) / static_cast<double>(size) - 1; };
      auto d = off_cube(static_cast<int32_t>(p.layer % 6), side(x), side(y));
      FacePoint q = on_cube(static_cast<float>(d[0]), static_cast<float>(d[1]), static_cast<float>(d[2]));
      there.layer = p.layer / 6 * 6 + static_cast<uint32_t>(q.face);
      x = clamped(static_cast<int64_t>(q.x * static_cast<float>(size)));
      y = clamped(static_cast<int64_t>(q.y * static_cast<float>(size)));
    }
    const std::byte* from = element(there, x, y, 0);
    return from ? read_colour(from, texture_.format, sampler_) : Colour{};
  }

  // --- what is asked ---

  Texel point() {
    Taps which = levels();
    if (which.weight != 0 && real_) {
      Colour sum = {};
      for (size_t i = 0; i < 2; ++i) {
        Place p = place(texture_.levels[static_cast<size_t>(which.index[i])], false);
        Colour c = colour(p, p.taps[0].index[0], p.taps[1].index[0], p.taps[2].index[0]);
        add(sum, c, i ? which.weight : 1 - which.weight);
      }
      return rounded(sum);
    }
    Place p = place(texture_.levels[static_cast<size_t>(which.index[0])], false);
    return texel(p, p.taps[0].index[0], p.taps[1].index[0], p.taps[2].index[0]);
  }

  Texel filtered() {
    Taps which = levels();
    Colour sum = {};
    for (size_t i = 0; i < 2; ++i) {
      double weight = i ? which.weight : 1 - which.weight;
      if (weight == 0) continue;
      const TextureLevel& level = texture_.levels[static_cast<size_t>(which.index[i])];
      if (form_.dimensions == 1) filter<1>(sum, level, weight);
      if (form_.dimensions == 2) filter<2>(sum, level, weight);
      if (form_.dimensions == 3) filter<3>(sum, level, weight);
    }
    return rounded(sum);
  }

  // An element with no weight isn't read.
  template <int kDimensions>
  void filter(Colour& sum, const TextureLevel& level, double of_level) {
    Place p = place(level, true);
    for (int corner = 0; corner < 1 << kDimensions; ++corner) {
      double weight = of_level;
      int64_t index[3] = {0, 0, 0};
      for (int i = 0; i < kDimensions; ++i) {
        const Taps& taps = p.taps[static_cast<size_t>(i)];
        bool second = corner >> i & 1;
        weight *= second ? taps.weight : 1 - taps.weight;
        index[i] = taps.index[second];
      }
      if (weight != 0) add(sum, colour(p, index[0], index[1], index[2]), weight);
    }
  }

  static void add(Colour& sum, const Colour& c, double weight) {
    for (size_t i = 0; i < 4; ++i) sum[i] += c[i] * weight;
  }

  static Texel rounded(const Colour& sum) {
    Texel out;
    for (size_t i = 0; i < 4; ++i) out[i] = std::bit_cast<uint32_t>(static_cast<float>(sum[i]));
    return out;
  }

  // One component of the four that a linear filter would read, against the clock from the lower left.
  Texel gather() {
    Place p = place(texture_.levels[0], true);
    const size_t corners[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
    Texel out;
    for (size_t i = 0; i < 4; ++i) {
      int64_t x = p.taps[0].index[corners[i][0]], y = p.taps[1].index[corners[i][1]];
      if (seamless_) {
        out[i] = std::bit_cast<uint32_t>(static_cast<float>(across(p, x, y)[form_.component]));
      } else {
        out[i] = texel(p, x, y, 0)[form_.component];
      }
    }
    return out;
  }

  const Texture& texture_;
  const Sampler& sampler_;
  const TextureCall& call_;
  const TextureForm& form_;
  size_t lane_;
  const TexelAccess& access_;
  bool real_ = false;
  bool seamless_ = false;
  BadTexel bad_;
};

}  // namespace

Sampled sample(const Texture& texture, const Sampler& sampler, const TextureCall& call, size_t lane,
               const TexelAccess& access) {
  return Fetch(texture, sampler, call, lane, access).run();
}

}  // namespace quern::vgpu
