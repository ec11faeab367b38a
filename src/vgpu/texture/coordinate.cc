#include "vgpu/texture/coordinate.h"

#include <algorithm>
#include <cmath>

namespace quern::vgpu {
namespace {

// The greatest integer not above; coordinates that are no numbers, or far away, stay outside of any texture.
int64_t floor_of(double x) {
  constexpr double kFar = 1e12;
  if (!(x > -kFar)) return static_cast<int64_t>(-kFar);
  return static_cast<int64_t>(std::floor(std::min(x, kFar)));
}

}  // namespace

int64_t addressed(int64_t index, int64_t size, AddressMode mode) {
  if (index >= 0 && index < size) return index;
  switch (mode) {
    case AddressMode::kBorder: return kBorderTexel;
    case AddressMode::kWrap: return (index % size + size) % size;
    case AddressMode::kMirror:
    case AddressMode::kClamp: break;
  }
  return std::clamp<int64_t>(index, 0, size - 1);
}

float in_elements(float x, int64_t size, AddressMode& mode, bool normalized) {
  if (!normalized) {
    if (mode == AddressMode::kWrap || mode == AddressMode::kMirror) mode = AddressMode::kClamp;
    return x;
  }
  if (mode == AddressMode::kWrap) x -= std::floor(x);
  if (mode == AddressMode::kMirror) {
    float whole = std::floor(x), part = x - whole;
    x = std::fmod(whole, 2.0f) != 0 ? 1 - part : part;
  }
  return x * static_cast<float>(size);
}

Taps nearest(float x, int64_t offset) {
  int64_t i = floor_of(x) + offset;
  return {{i, i}, 0};
}

Taps neighbours(float x, int64_t offset) {
  int64_t fixed = floor_of((static_cast<double>(x) - 0.5) * 256 + 0.5);
  int64_t i = (fixed >> 8) + offset;
  return {{i, i + 1}, static_cast<double>(fixed & 255) / 256};
}

FacePoint on_cube(float x, float y, float z) {
  float ax = std::abs(x), ay = std::abs(y), az = std::abs(z);
  float s, t, m;
  int32_t face;
  if (ax >= ay && ax >= az) {
    face = x >= 0 ? 0 : 1;
    m = ax, s = x >= 0 ? -z : z, t = -y;
  } else if (ay >= az) {
    face = y >= 0 ? 2 : 3;
    m = ay, s = x, t = y >= 0 ? z : -z;
  } else {
    face = z >= 0 ? 4 : 5;
    m = az, s = z >= 0 ? x : -x, t = -y;
  }
  return {face, (s / m + 1) / 2, (t / m + 1) / 2};
}

std::array<double, 3> off_cube(int32_t face, double s, double t) {
  switch (face) {
    case 0: return {1, -t, -s};
    case 1: return {-1, -t, s};
    case 2: return {s, 1, t};
    case 3: return {s, -1, -t};
    case 4: return {s, -t, 1};
    default: return {-s, -t, -1};
  }
}

}  // namespace quern::vgpu
