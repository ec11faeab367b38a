// Textures and surfaces with anything for coordinates, and with instructions that don't fit them: no access ever leaves
// the image.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <random>

#include "vgpu/texture/coordinate.h"
#include "vgpu/texture/sample.h"
#include "vgpu/texture/surface.h"

namespace quern::vgpu {
namespace {

constexpr float kInside = 1, kOutside = 1e30f;

class Textures : public testing::Test {
 protected:
  void SetUp() override {
    memory_ = Memory::create().value();
    address_ = memory_->allocate(kBytes, 256, Holds::kGlobal).value();
    memory_->mark_written(address_, kBytes);
  }

  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }

  // An image in the middle of memory whose other elements can be told from its own.
  Texture texture() {
    Texture out;
    out.linear_memory = below(8) == 0;
    out.cube = !out.linear_memory && below(4) == 0;
    uint32_t side = 1 + below(5);
    TextureLevel l;
    l.width = side, l.height = out.cube ? side : 1 + below(5), l.depth = 1 + below(3);
    if (out.linear_memory) l.height = l.depth = 1;
    if (out.cube) l.depth = 1, out.layers = 6 * (1 + below(2));
    if (!out.cube && !out.linear_memory && below(3) == 0) l.depth = 1, out.layers = 1 + below(4);
    l.pitch = 4 * (l.width + below(3));
    l.slice = l.pitch * l.height;
    uint64_t at = address_ + kBytes / 2;
    auto* floats = reinterpret_cast<float*>(address_);
    std::fill(floats, floats + kBytes / 4, kOutside);
    for (uint32_t level = 0; level < 1 + (out.linear_memory ? 0 : below(3)); ++level) {
      l.address = at;
      uint32_t slices = std::max(out.layers, l.depth);
      for (uint32_t z = 0; z < slices; ++z) {
        for (uint32_t y = 0; y < l.height; ++y) {
          auto* row = reinterpret_cast<float*>(l.address + z * static_cast<uint64_t>(l.slice) +
                                               y * static_cast<uint64_t>(l.pitch));
          std::fill(row, row + l.width, kInside);
        }
      }
      out.levels.push_back(l);
      at += static_cast<uint64_t>(l.slice) * slices;
      l.width = std::max(l.width / 2, 1u), l.height = std::max(l.height / 2, 1u), l.depth = std::max(l.depth / 2, 1u);
    }
    Sampler& s = out.sampler;
    for (AddressMode& m : s.address) m = static_cast<AddressMode>(below(4));
    s.linear = below(2), s.normalized = below(2), s.seamless = below(2), s.mip_linear = below(2);
    s.most_level = static_cast<float>(below(4));
    s.border = {0x3f800000, 0, 0, 0};  // what is inside is as well
    return out;
  }

  float coordinate() {
    constexpr float kSpecial[] = {0,
                                  -0.0f,
                                  1,
                                  0.5f,
                                  1e30f,
                                  -1e30f,
                                  3.4e38f,
                                  std::numeric_limits<float>::infinity(),
                                  -std::numeric_limits<float>::infinity(),
                                  std::numeric_limits<float>::quiet_NaN(),
                                  0.99999994f,
                                  4.9999995f,
                                  1e-40f,
                                  -1e-40f,
                                  2147483648.0f,
                                  9.3e18f};
    if (below(2)) return kSpecial[below(std::size(kSpecial))];
    return static_cast<float>(static_cast<int32_t>(below(2000)) - 1000) / 100;
  }

  int32_t whole() {
    constexpr int32_t kSpecial[] = {INT32_MIN, INT32_MAX, -1, 0, 1, INT32_MIN + 1, INT32_MAX - 3, -4};
    return below(2) ? kSpecial[below(std::size(kSpecial))] : static_cast<int32_t>(below(40)) - 10;
  }

  static constexpr int64_t kBytes = 1 << 16;
  std::mt19937 random_{20240601};
  std::shared_ptr<Memory> memory_;
  uint64_t address_ = 0;
};

TEST_F(Textures, SamplesStayInTheImage) {
  for (int round = 0; round < 2000; ++round) {
    Texture t = texture();
    TexelAccess access(memory_->space(), {});
    for (int i = 0; i < 50; ++i) {
      TextureCall call{};
      TextureForm& form = call.form;
      form.op = below(4) ? TextureOp::kSample : TextureOp::kGather;
      form.dimensions = static_cast<uint8_t>(1 + below(3));
      form.cube = form.dimensions == 2 && below(2);
      form.layered = form.dimensions < 3 && below(2);
      form.integer = !form.cube && form.op == TextureOp::kSample && below(3) == 0;
      form.level = static_cast<LevelBy>(below(3));
      form.offset = below(2);
      size_t lane = below(32);
      for (auto& x : call.coordinate)
        x[lane] = form.integer ? static_cast<uint32_t>(whole()) : std::bit_cast<uint32_t>(coordinate());
      if (form.layered) call.coordinate[0][lane] = below(2) ? below(20) : UINT32_MAX - below(3);
      for (auto& x : call.level) x[lane] = std::bit_cast<uint32_t>(coordinate());
      for (auto& x : call.offset) x[lane] = whole();
      Sampled got = sample(t, t.sampler, call, lane, access);
      ASSERT_EQ(got.bad.bytes, 0);
      float value = std::bit_cast<float>(got.texel[0]);
      // A corner's three thirds needn't be one.
      ASSERT_TRUE(value == 0 || std::abs(value - kInside) < 1e-6f) << value << ", round " << round;
    }
  }
}

TEST_F(Textures, SurfacesStayInTheImage) {
  for (int round = 0; round < 2000; ++round) {
    Texture t = texture();
    t.surface = true;
    TexelAccess access(memory_->space(), {});
    for (int i = 0; i < 50; ++i) {
      TextureForm form;
      form.op = static_cast<TextureOp>(static_cast<int>(TextureOp::kLoad) + static_cast<int>(below(3)));
      form.dimensions = static_cast<uint8_t>(1 + below(3));
      form.layered = form.dimensions < 3 && below(2);
      form.beyond = static_cast<Beyond>(below(3));
      form.formatted = form.op != TextureOp::kLoad && below(2);
      form.bytes = static_cast<uint8_t>(1 << below(4));
      form.count = static_cast<uint8_t>(form.op == TextureOp::kReduce ? 1 : 1 << below(3));
      if (form.bytes * form.count > 16) continue;
      SurfacePlace place = place_on_surface(t, form, {whole(), whole(), whole()}, access);
      if (!place.address || place.fault != SurfaceFault::kNone) continue;
      for (int32_t b = 0; b < place.bytes; b += 4) {
        float there;
        std::memcpy(&there, reinterpret_cast<const void*>((*place.address + static_cast<uint64_t>(b)) & ~uint64_t{3}),
                    4);
        ASSERT_EQ(there, kInside) << "round " << round << ", byte " << *place.address - t.levels[0].address << " + "
                                  << b << " of " << t.levels[0].width << " x " << t.levels[0].height << " x "
                                  << t.levels[0].depth << ", layers " << t.layers << ", pitch " << t.levels[0].pitch;
      }
    }
  }
}

TEST(TextureCoordinates, CubesComeBack) {
  for (int32_t face = 0; face < 6; ++face) {
    for (double s : {-0.75, 0.0, 0.5}) {
      for (double t : {-0.25, 0.0, 0.875}) {
        auto d = off_cube(face, s, t);
        FacePoint p = on_cube(static_cast<float>(d[0]), static_cast<float>(d[1]), static_cast<float>(d[2]));
        EXPECT_EQ(p.face, face);
        EXPECT_EQ(p.x, (s + 1) / 2);
        EXPECT_EQ(p.y, (t + 1) / 2);
      }
    }
  }
}

}  // namespace
}  // namespace quern::vgpu
