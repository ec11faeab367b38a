// Pools of memory. What is freed goes back at once, so a pool holds what is in use and remembers the most that ever
// was.
#pragma once

#include <cstdint>
#include <memory>

#include "cuda/abi/types.h"
#include "vgpu/memory.h"

namespace quern::cuda {

struct Pool {
  int device = 0;
  PoolProps props{};
  int reuse[3] = {1, 1, 1};
  uint64_t release_threshold = 0;
  uint64_t used = 0, used_high = 0;
  int file = -1;  // where its memory is, if others may have it; -1: nowhere
  bool imported = false;

  ~Pool();
};

// The pool that the device had from the start, and the one it uses now.
std::shared_ptr<Pool> default_pool(int device);
std::shared_ptr<Pool> current_pool(int device);
void set_current_pool(int device, std::shared_ptr<Pool> pool);

Error allocate_from(std::shared_ptr<Pool> pool, size_t bytes, void*& out);
// False: it is from no pool.
bool give_back(void* pointer);
// The pool that a pointer is from; null: none.
std::shared_ptr<Pool> pool_of(void* pointer);

// A release that happens in its turn: false where it can't be, or was begun before. At its end, false: it is gone.
bool begin_release(const vgpu::Allocation& allocation);
void cancel_release(void* pointer);
bool end_release(void* pointer);

}  // namespace quern::cuda
