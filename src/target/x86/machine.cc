// The levels of x86-64 as placement sees them. Register blocks: 24 accumulators of 32 registers for AVX-512 (8 x 48,
// 0.985 to 0.994 of peak on Zen 4), 12 of 16 for AVX2 (6 x 16: two vectors a row, two loads and a broadcast beside
// them), 8 of 16 for SSE2, whose two-operand instructions need copies.
#include "target/x86/emit.h"

namespace quern::target {

tile::Machine machine_of(const jit::CpuTarget& cpu) {
  tile::Machine m;
  m.vector_bytes = cpu.vector_bytes;
  m.near_bytes = int64_t{256} << 10;
  double clock = 3e9;
  auto dots = [&](int64_t rows, int64_t vectors, double per_cycle) {
    int64_t lanes = cpu.vector_bytes / 4;
    bool wide = cpu.vector_bytes == 64;
    for (ScalarType t : {ScalarType::f32, ScalarType::f16, ScalarType::bf16, ScalarType::f8e4m3, ScalarType::f8e5m2,
                         ScalarType::f4e2m1}) {
      // dot.cc takes so many elements of k together.
      int64_t k = wide && cpu.bf16_dot && t == ScalarType::bf16 ? 2 : 1;
      m.dots.push_back({.operand = t,
                        .result = ScalarType::f32,
                        .m = rows,
                        .n = vectors * lanes,
                        .k = k,
                        .min_rows = 2,
                        .per_cycle = per_cycle * static_cast<double>(k)});
    }
    m.dots.push_back({.operand = ScalarType::f64,
                      .result = ScalarType::f64,
                      .m = rows,
                      .n = vectors * lanes / 2,
                      .min_rows = 2,
                      .per_cycle = per_cycle / 2});
    for (ScalarType t : {ScalarType::i8, ScalarType::u8, ScalarType::i4, ScalarType::u4}) {
      int64_t k = wide && cpu.int8_dot && row(t).bits == 8 ? 4 : 1;
      m.dots.push_back({.operand = t,
                        .result = ScalarType::i64,
                        .m = rows,
                        .n = vectors * lanes,
                        .k = k,
                        .min_rows = 2,
                        .per_cycle = per_cycle * (k == 1 ? 0.5 : 2)});
    }
    m.flops_per_second = 2 * per_cycle * clock;
  };
  switch (cpu.level) {
    case jit::VectorLevel::kSse2:
      m.registers = 16;
      dots(4, 2, 8);
      break;
    case jit::VectorLevel::kAvx2:
      m.registers = 16;
      dots(6, 2, 16);
      break;
    case jit::VectorLevel::kAvx512:
      m.registers = 32;
      dots(8, 3, 16);  // one 512-bit product a cycle on Zen 4
      break;
  }
  m.near_bytes_per_second = 64 * clock / 2;
  m.far_bytes_per_second = 35e9;
  return m;
}

}  // namespace quern::target
