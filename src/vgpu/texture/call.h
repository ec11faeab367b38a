// What emitted code hands over for an instruction about textures or surfaces: all that is known when code is made, and
// 32 lanes of each operand.
#pragma once

#include <cstdint>

namespace quern::vgpu {

enum class TextureOp : uint8_t { kSample, kGather, kQuery, kLoad, kStore, kReduce, kIsType };
enum class LevelBy : uint8_t { kBase, kLevel, kGradient };
enum class Beyond : uint8_t { kTrap, kClamp, kZero };  // what a surface access outside does
enum class Reduce : uint8_t { kAdd, kMin, kMax, kAnd, kOr };
enum class TextureQuery : uint8_t {
  kWidth,
  kHeight,
  kDepth,
  kArraySize,
  kLevels,
  kSamples,
  kChannelType,
  kChannelOrder,
  kNormalized,
  kUnnormalized,
  kFilter,
  kAddress0,
  kAddress1,
  kAddress2,
  kLayout,
};

struct TextureForm {
  TextureOp op = TextureOp::kSample;
  uint8_t dimensions = 1;  // of a cube 2
  bool layered = false, cube = false;
  bool integer = false;  // coordinates
  LevelBy level = LevelBy::kBase;
  bool offset = false;
  uint8_t component = 0;  // that is gathered
  Beyond beyond = Beyond::kTrap;
  bool formatted = false;        // .p: elements, not bytes
  uint8_t bytes = 4, count = 1;  // of an access to a surface: of an element, and how many
  Reduce reduce = Reduce::kAdd;  // of kReduce
  bool sign = false;             // its type
  TextureQuery query = TextureQuery::kWidth;
  uint8_t kind = 0;  // kIsType: 0 texture, 1 surface, 2 sampler
};
static_assert(sizeof(TextureForm) == 16);

struct TextureCall {
  TextureForm form;
  uint64_t object[32];
  uint64_t value[4][32];       // stored, or the result
  uint32_t coordinate[4][32];  // bits; the layer first
  uint32_t level[6][32];       // floats: the level; or the three of dPdx, then of dPdy
  int32_t offset[3][32];
};

}  // namespace quern::vgpu
