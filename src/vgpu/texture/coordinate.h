// Which elements a coordinate means (CUDA C++ programming guide, texture fetching): addressing modes, and the two
// neighbours of a linear filter with a weight of eight fraction bits.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "vgpu/texture/texture.h"

namespace quern::vgpu {

inline constexpr int64_t kBorderTexel = -1;  // an index that means the border's colour

// The greatest integer not above; coordinates that are no numbers, or far away, stay outside of any texture.
inline int64_t floor_of(double x) {
  constexpr double kFar = 1e12;
  if (!(x > -kFar)) return static_cast<int64_t>(-kFar);
  auto cut = static_cast<int64_t>(std::min(x, kFar));
  return cut - (x < static_cast<double>(cut));
}

// An element after the addressing mode; `index` is any number.
inline int64_t addressed(int64_t index, int64_t size, AddressMode mode) {
  if (index >= 0 && index < size) [[likely]]
    return index;
  if (mode == AddressMode::kBorder) return kBorderTexel;
  if (mode == AddressMode::kWrap) return (index % size + size) % size;
  return std::clamp<int64_t>(index, 0, size - 1);
}

struct Taps {
  std::array<int64_t, 2> index = {};
  double weight = 0;  // of the second; the first has the rest
};

// A coordinate in elements: x of the guide. Modes that need normalized coordinates count as clamp without them.
inline float in_elements(float x, int64_t size, AddressMode& mode, bool normalized) {
  if (!normalized) {
    if (mode != AddressMode::kBorder) mode = AddressMode::kClamp;
    return x;
  }
  if (mode == AddressMode::kWrap) x -= std::floor(x);
  if (mode == AddressMode::kMirror) {
    float whole = std::floor(x), part = x - whole;
    x = std::fmod(whole, 2.0f) != 0 ? 1 - part : part;
  }
  return x * static_cast<float>(size);
}

// Before any addressing mode; `offset` is in elements.
inline Taps nearest(float x, int64_t offset) {
  int64_t i = floor_of(x) + offset;
  return {{i, i}, 0};
}
inline Taps neighbours(float x, int64_t offset) {
  int64_t fixed = floor_of((static_cast<double>(x) - 0.5) * 256 + 0.5);
  int64_t i = (fixed >> 8) + offset;
  return {{i, i + 1}, static_cast<double>(fixed & 255) / 256};
}

// A direction's face, and the coordinates on it, 0 … 1.
struct FacePoint {
  int32_t face = 0;
  float x = 0, y = 0;
};
FacePoint on_cube(float x, float y, float z);
// The direction of a place on (or beyond) a face, -1 … 1.
std::array<double, 3> off_cube(int32_t face, double s, double t);

}  // namespace quern::vgpu
