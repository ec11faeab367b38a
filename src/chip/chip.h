// A processor as numbers, each with where it comes from. A number without a source doesn't exist: 0 means not known,
// and whoever needs it says so instead of guessing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace quern::chip {

enum class Kind : uint8_t { kCpu, kGpu };

struct Figure {
  double value = 0;
  std::string source;  // "assumed", "sysfs", "measured", a document

  bool known() const { return value > 0; }
};

// What only GPUs have. Sizes in bytes.
struct Gpu {
  Figure compute_capability;  // 90: 9.0
  Figure registers;           // 32-bit ones of a multiprocessor
  Figure threads;             // that a multiprocessor holds at most
  Figure blocks;              // likewise
  Figure shared_bytes;        // of a multiprocessor
  Figure shared_block_bytes;  // of a block that asks for more than 48 KiB
  Figure memory_bytes;
  Figure memory_clock;  // Hz, as the driver tells it
  Figure memory_bits;   // width of the bus
};

struct Chip {
  std::string name;  // as messages and --on say it
  Kind kind = Kind::kCpu;
  std::string model;          // as its maker calls it; empty: a class of machines
  Figure units;               // cores that this process may use; multiprocessors of a GPU
  Figure vector_bytes;        // of one register
  Figure registers;           // vector registers of a core
  Figure line_bytes;          // of the caches
  Figure l1_bytes, l2_bytes;  // of a core, data
  Figure l3_bytes;            // shared by all cores
  Figure clock;               // Hz
  Figure fma_per_cycle;       // vector multiply-adds a core
  Figure flops;               // f32 operations a second, all units, as can be reached
  Figure bandwidth;           // bytes a second from far memory, all units, as can be reached
  Gpu gpu;                    // of kGpu
};

const std::vector<Chip>& chips();  // processors
const std::vector<Chip>& gpus();
Result<const Chip*> find_gpu(const std::string& name);  // E975
const Chip* find(std::string_view name);                // of both; null if there is no such row

}  // namespace quern::chip
