// The processor that code is made for: what target/x86 asks before it emits, and what jit/ hands to LLVM. Levels are
// those of the x86-64 ABI (psABI 3.2, table 3.1): sse2 is its baseline, avx2 x86-64-v3, avx512 x86-64-v4.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quern::jit {

enum class VectorLevel : uint8_t { kSse2, kAvx2, kAvx512 };

struct CpuTarget {
  VectorLevel level = VectorLevel::kSse2;
  std::string cpu = "x86-64";  // LLVM's name
  std::string features;        // LLVM's list, "+avx2,-avx512f"
  // Bytes of the vectors that are emitted. Any power of two is right, since LLVM splits what is wider than a register.
  int vector_bytes = 16;
  bool fma = false;
  bool f16c = false;
  bool bf16_dot = false;  // vdpbf16ps on 512 bits
  bool int8_dot = false;  // vpdpbusd on 512 bits
};

// This machine, with all that it has.
CpuTarget host_cpu();
// A level by itself; avx512 includes vdpbf16ps and vpdpbusd (Zen 4, Cooper Lake and Sapphire Rapids have both).
CpuTarget cpu_of(VectorLevel level);
// "sse2", "avx2", "avx512"
std::optional<VectorLevel> parse_level(std::string_view name);
std::string_view name(VectorLevel level);
// Whether this machine can run what is made for `target`.
bool runs_here(const CpuTarget& target);
// All that machine code depends on, for keys of caches.
std::string key(const CpuTarget& target);

}  // namespace quern::jit
