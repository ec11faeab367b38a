#include "cuda/runtime/device_memory.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace quern::cuda {

int64_t total_bytes(int) { return static_cast<int64_t>(Process::get().config.chip->gpu.memory_bytes.value); }

int64_t free_bytes(int device) {
  return std::max<int64_t>(0, total_bytes(device) - Process::get().memory->used(device));
}

void* allocate(int64_t bytes, vgpu::Holds holds, const char* name, int device, int64_t align) {
  Process& p = Process::get();
  if (bytes < 0 || (holds != vgpu::Holds::kHost && bytes > free_bytes(device))) return nullptr;
  auto address = p.memory->allocate(bytes, align, holds, name, device);
  if (!address) return nullptr;
  p.device(device).allocations.insert(*address);
  return reinterpret_cast<void*>(*address);
}

bool release(void* pointer) {
  Process& p = Process::get();
  auto address = reinterpret_cast<uint64_t>(pointer);
  for (Device& d : p.devices) d.allocations.erase(address);
  return p.memory->release(address);
}

void release_all(int device) {
  Process& p = Process::get();
  for (uint64_t address : std::exchange(p.device(device).allocations, {})) p.memory->release(address);
}

bool is_device_address(const void* pointer) {
  const vgpu::AddressSpace& space = Process::get().memory->space();
  return reinterpret_cast<uint64_t>(pointer) - space.first < space.bytes;
}

std::shared_ptr<const vgpu::Allocation> allocation_of(const void* pointer) {
  if (!is_device_address(pointer)) return nullptr;
  auto found = Process::get().memory->find(reinterpret_cast<uint64_t>(pointer));
  return found && !found->released ? found : nullptr;
}

bool is_freeable(const vgpu::Allocation& a) {
  bool named = a.name == kNameMalloc || a.name == kNameAsync || a.name == kNameImported;
  return is_managed(a) || (a.holds == vgpu::Holds::kGlobal && named);
}

bool is_managed(const vgpu::Allocation& a) {
  return a.holds == vgpu::Holds::kHost &&
         (a.name == kNameManaged || (a.name != kNameHost && a.name != kNameRegistered));
}

}  // namespace quern::cuda
