// Which elements a coordinate means (CUDA C++ programming guide, texture fetching): addressing modes, and the two
// neighbours of a linear filter with a weight of eight fraction bits.
#pragma once

#include <array>
#include <cstdint>

#include "vgpu/texture/texture.h"

namespace quern::vgpu {

inline constexpr int64_t kBorderTexel = -1;  // an index that means the border's colour

// An element after the addressing mode; `index` is any number.
int64_t addressed(int64_t index, int64_t size, AddressMode mode);

struct Taps {
  std::array<int64_t, 2> index = {};
  double weight = 0;  // of the second; the first has the rest
};

// A coordinate in elements: x of the guide. Modes that need normalized coordinates count as clamp without them.
float in_elements(float x, int64_t size, AddressMode& mode, bool normalized);
// Before any addressing mode; `offset` is in elements.
Taps nearest(float x, int64_t offset);
Taps neighbours(float x, int64_t offset);

// A direction's face, and the coordinates on it, 0 … 1.
struct FacePoint {
  int32_t face = 0;
  float x = 0, y = 0;
};
FacePoint on_cube(float x, float y, float z);
// The direction of a place on (or beyond) a face, -1 … 1.
std::array<double, 3> off_cube(int32_t face, double s, double t);

}  // namespace quern::vgpu
