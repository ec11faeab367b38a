#include "jit/cpu_target.h"

#include <fmt/format.h>

namespace quern::jit {

CpuTarget cpu_of(VectorLevel level) {
  CpuTarget out{.level = level};
  switch (level) {
    case VectorLevel::kSse2:
      // No part of the baseline, but every processor since 2006 swaps 128 bits.
      out.features = "+cx16";
      break;
    case VectorLevel::kAvx2:
      out.cpu = "x86-64-v3", out.vector_bytes = 32;
      out.fma = out.f16c = true;
      break;
    case VectorLevel::kAvx512:
      out.cpu = "x86-64-v4", out.vector_bytes = 64;
      // Without the last, LLVM cuts some of its own vectors to 256 bits.
      out.features = "+avx512bf16,+avx512vnni,-prefer-256-bit";
      out.fma = out.f16c = out.bf16_dot = out.int8_dot = true;
      break;
  }
  return out;
}

std::optional<VectorLevel> parse_level(std::string_view text) {
  for (VectorLevel level : {VectorLevel::kSse2, VectorLevel::kAvx2, VectorLevel::kAvx512}) {
    if (name(level) == text) return level;
  }
  return std::nullopt;
}

std::string_view name(VectorLevel level) {
  switch (level) {
    case VectorLevel::kSse2: return "sse2";
    case VectorLevel::kAvx2: return "avx2";
    case VectorLevel::kAvx512: break;
  }
  return "avx512";
}

bool runs_here(const CpuTarget& target) {
  CpuTarget host = host_cpu();
  return target.level <= host.level && target.fma <= host.fma && target.f16c <= host.f16c &&
         target.bf16_dot <= host.bf16_dot && target.int8_dot <= host.int8_dot;
}

std::string key(const CpuTarget& t) {
  return fmt::format("{} {} {} {}{}{}{} {}", name(t.level), t.cpu, t.vector_bytes, t.fma ? 'f' : '-',
                     t.f16c ? 'h' : '-', t.bf16_dot ? 'b' : '-', t.int8_dot ? 'i' : '-', t.features);
}

}  // namespace quern::jit
