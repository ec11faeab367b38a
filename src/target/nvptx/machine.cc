// A multiprocessor as placement sees it: a warp is a vector of 32 lanes, whatever the element's type, and a thread has
// 64 registers for sums of products.
#include "target/nvptx/emit.h"

namespace quern::target {

tile::Machine machine_of(const jit::GpuTarget& gpu) {
  tile::Machine m;
  m.vector_bytes = 128;
  m.warp = 32;
  m.registers = 64;
  m.near_bytes = gpu.shared_block_bytes / 2;
  m.line_bytes = 128;
  m.units = gpu.multiprocessors;
  m.real_block_loops = false;
  for (ScalarType t : {ScalarType::f32, ScalarType::f16, ScalarType::bf16, ScalarType::f8e4m3, ScalarType::f8e5m2,
                       ScalarType::f4e2m1}) {
    m.dots.push_back({.operand = t, .result = ScalarType::f32, .m = 8, .n = 64, .min_rows = 2, .per_cycle = 128});
  }
  m.dots.push_back(
      {.operand = ScalarType::f64, .result = ScalarType::f64, .m = 8, .n = 32, .min_rows = 2, .per_cycle = 32});
  for (ScalarType t : {ScalarType::i8, ScalarType::u8, ScalarType::i4, ScalarType::u4}) {
    m.dots.push_back({.operand = t, .result = ScalarType::i64, .m = 8, .n = 64, .min_rows = 2, .per_cycle = 64});
  }
  m.flops_per_second = 2 * 128 * gpu.clock;
  m.near_bytes_per_second = 128 * gpu.clock;
  m.far_bytes_per_second = gpu.bandwidth;
  return m;
}

}  // namespace quern::target
