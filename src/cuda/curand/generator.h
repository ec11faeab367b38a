// A generator as programs of cuRAND have one: its kind, where its sequence stands, and where its numbers go.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "cuda/abi/curand_types.h"
#include "cuda/runtime/stream.h"
#include "random/engine.h"

namespace quern::cuda {

struct Generator {
  RandomType type = RandomType::kXorwow;
  bool on_host = false;  // it writes to the host's memory
  Stream* stream = nullptr;
  uint64_t seed = 0;
  uint64_t offset = 0;
  uint32_t dimensions = 1;
  std::unique_ptr<random::Engine> engine;  // null until numbers are asked for: at the offset then
  uint64_t drawn = 0;                      // of each quasi-random dimension, since the offset

  bool is_quasi() const { return type >= RandomType::kSobol32; }
  bool is_64() const { return type == RandomType::kSobol64 || type == RandomType::kScrambledSobol64; }
  bool is_scrambled() const { return type == RandomType::kScrambledSobol32 || type == RandomType::kScrambledSobol64; }

  // The next `count` words, of a quasi-random one dimension by dimension: each gives count / dimensions. 32-bit
  // numbers are the high half of 64.
  void words(std::span<uint32_t> out);
  void words(std::span<uint64_t> out);
};

}  // namespace quern::cuda
