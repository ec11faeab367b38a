#include "cuda/runtime/pool.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "cuda/runtime/device_memory.h"
#include "cuda/runtime/live.h"
#include "cuda/runtime/shared_memory.h"

namespace quern::cuda {
namespace {

struct Piece {
  std::shared_ptr<Pool> pool;
  size_t bytes;
};

std::map<void*, Piece>& pieces() {
  static auto& all = *new std::map<void*, Piece>;
  return all;
}

// What a stream has still to release.
std::set<void*>& leaving() {
  static auto& all = *new std::set<void*>;
  return all;
}

struct OfDevice {
  std::shared_ptr<Pool> first, current;
};

OfDevice& of_device(int device) {
  static auto& all = *new std::map<int, OfDevice>;
  OfDevice& d = all[device];
  if (!d.first) {
    d.first = std::make_shared<Pool>();
    d.first->device = device;
    d.first->props.allocation_type = 1;  // cudaMemAllocationTypePinned
    d.first->props.location = {LocationType::kDevice, device};
    d.current = d.first;
    Live<Pool>::all().add(d.first);
  }
  return d;
}

void* take(const Pool& pool, int64_t bytes) {
  uint64_t address = 0;
  if (pool.file >= 0) {
    bool fits = bytes <= free_bytes(pool.device);
    if (!fits || allocate_shared(pool.file, bytes, kNameAsync, pool.device, address) != Error::kSuccess) return nullptr;
    return reinterpret_cast<void*>(address);
  }
  bool host = pool.props.location.type == LocationType::kHost;
  return allocate(bytes, host ? vgpu::Holds::kHost : vgpu::Holds::kGlobal, host ? kNameHost : kNameAsync, pool.device);
}

}  // namespace

std::shared_ptr<Pool> default_pool(int device) { return of_device(device).first; }
std::shared_ptr<Pool> current_pool(int device) { return of_device(device).current; }
void set_current_pool(int device, std::shared_ptr<Pool> pool) { of_device(device).current = std::move(pool); }

Pool::~Pool() {
  if (file >= 0) ::close(file);
}

std::shared_ptr<Pool> pool_of(void* pointer) {
  auto found = pieces().find(pointer);
  return found == pieces().end() ? nullptr : found->second.pool;
}

Error allocate_from(std::shared_ptr<Pool> pool, size_t bytes, void*& out) {
  if (pool->imported) return Error::kInvalidValue;
  if (pool->props.max_size && bytes > pool->props.max_size - std::min(pool->used, pool->props.max_size)) {
    return Error::kMemoryAllocation;
  }
  out = bytes > INT64_MAX ? nullptr : take(*pool, static_cast<int64_t>(bytes));
  if (!out) return Error::kMemoryAllocation;
  pool->used += bytes;
  pool->used_high = std::max(pool->used_high, pool->used);
  pieces()[out] = {std::move(pool), bytes};
  return Error::kSuccess;
}

bool give_back(void* pointer) {
  auto found = pieces().find(pointer);
  if (found == pieces().end()) return false;
  found->second.pool->used -= found->second.bytes;
  pieces().erase(found);
  if (!release_shared(reinterpret_cast<uint64_t>(pointer))) release(pointer);
  return true;
}

bool begin_release(const vgpu::Allocation& a) {
  auto* pointer = reinterpret_cast<void*>(a.address);
  return (pieces().contains(pointer) || is_freeable(a)) && leaving().insert(pointer).second;
}

void cancel_release(void* pointer) { leaving().erase(pointer); }

bool end_release(void* pointer) {
  leaving().erase(pointer);
  return give_back(pointer) || release_shared(reinterpret_cast<uint64_t>(pointer)) || release(pointer);
}

}  // namespace quern::cuda
