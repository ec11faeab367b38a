// The types of functions.def, for g++ and for nvcc. Reals of 16 and 8 bits are their codes.
#pragma once

#include <cstdint>

namespace quern::oracle {

using s8 = int8_t;
using s16 = int16_t;
using s32 = int32_t;
using s64 = int64_t;
using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using f32 = float;
using f64 = double;

struct f16 {
  u16 bits;
};
struct bf16 {
  u16 bits;
};
struct f16x2 {
  u32 bits;
};
struct bf16x2 {
  u32 bits;
};
struct e4m3 {
  u8 bits;
};
struct e5m2 {
  u8 bits;
};
// A rounding that is chosen while running, by its low bits: to nearest, to zero, down, up.
struct way {
  u8 bits;
};

}  // namespace quern::oracle
