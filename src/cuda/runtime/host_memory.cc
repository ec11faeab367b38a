#include "cuda/runtime/host_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <map>

#include "cuda/runtime/device_memory.h"

namespace quern::cuda {
namespace {

struct Registered {
  uint8_t* first = nullptr;  // whole pages
  size_t bytes = 0;
  uint8_t* device = nullptr;
  uint32_t flags = 0;
};

// By the address as it was registered.
std::map<uint8_t*, Registered>& registered() {
  static auto& all = *new std::map<uint8_t*, Registered>;
  return all;
}

std::map<void*, uint32_t>& pinned_flags() {
  static auto& all = *new std::map<void*, uint32_t>;
  return all;
}

bool overlaps(const uint8_t* first, size_t bytes) {
  for (const auto& [address, r] : registered()) {
    if (first < r.first + r.bytes && r.first < first + bytes) return true;
  }
  return false;
}

// Both views get the pages of a file that holds what the program's pages held.
bool share(const Registered& r) {
  int file = ::memfd_create("quern", MFD_CLOEXEC);
  if (file < 0) return false;
  bool good = ::ftruncate(file, static_cast<off_t>(r.bytes)) == 0;
  for (size_t done = 0; good && done < r.bytes;) {
    ssize_t n = ::pwrite(file, r.first + done, r.bytes - done, static_cast<off_t>(done));
    good = n > 0;
    done += good ? static_cast<size_t>(n) : 0;
  }
  constexpr int kAccess = PROT_READ | PROT_WRITE;
  good = good && ::mmap(r.device, r.bytes, kAccess, MAP_SHARED | MAP_FIXED, file, 0) == r.device;
  good = good && ::mmap(r.first, r.bytes, kAccess, MAP_SHARED | MAP_FIXED, file, 0) == r.first;
  ::close(file);
  return good;
}

// Private pages again, with what they hold. False: there is no memory to hold it meanwhile.
bool make_private(uint8_t* first, size_t bytes) {
  void* copy = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy == MAP_FAILED) return false;
  std::memcpy(copy, first, bytes);
  return ::mremap(copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, first) == first;
}

}  // namespace

Error register_host(void* pointer, size_t bytes, uint32_t flags) {
  if (!pointer || !bytes || bytes > INT64_MAX / 2) return Error::kInvalidValue;
  if (is_device_address(pointer)) return Error::kHostMemoryAlreadyRegistered;
  auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  auto at = reinterpret_cast<uintptr_t>(pointer);
  Registered r;
  r.first = reinterpret_cast<uint8_t*>(at / page * page);
  r.bytes = (at % page + bytes + page - 1) / page * page;
  r.flags = flags;
  // The stack that this runs on can't be moved while it runs.
  auto* frame = static_cast<uint8_t*>(__builtin_frame_address(0));
  if (frame + page > r.first && frame < r.first + r.bytes + page) return Error::kNotSupported;
  if (overlaps(r.first, r.bytes)) return Error::kHostMemoryAlreadyRegistered;
  void* device = allocate(static_cast<int64_t>(r.bytes), vgpu::Holds::kHost, kNameRegistered, thread_state().device,
                          static_cast<int64_t>(page));
  if (!device) return Error::kMemoryAllocation;
  r.device = static_cast<uint8_t*>(device);
  if (!share(r)) {
    release(device);
    return Error::kInvalidValue;
  }
  registered()[static_cast<uint8_t*>(pointer)] = r;
  return Error::kSuccess;
}

Error unregister_host(void* pointer) {
  auto found = registered().find(static_cast<uint8_t*>(pointer));
  if (found == registered().end()) return Error::kHostMemoryNotRegistered;
  Registered r = found->second;
  if (!make_private(r.first, r.bytes) || !make_private(r.device, r.bytes)) return Error::kMemoryAllocation;
  registered().erase(found);
  release(r.device);
  return Error::kSuccess;
}

void* device_view(void* pointer) {
  auto* at = static_cast<uint8_t*>(pointer);
  for (const auto& [address, r] : registered()) {
    if (at >= r.first && at < r.first + r.bytes) return r.device + (at - r.first);
  }
  return nullptr;
}

bool host_flags(void* pointer, uint32_t& flags) {
  auto found = allocation_of(pointer);
  if (found && found->holds == vgpu::Holds::kHost && !is_managed(*found)) {
    flags = pinned_flags()[reinterpret_cast<void*>(found->address)] | kHostMapped;
    return true;
  }
  auto* at = static_cast<uint8_t*>(pointer);
  for (const auto& [address, r] : registered()) {
    if (at >= r.first && at < r.first + r.bytes) return flags = r.flags | kHostMapped, true;
  }
  return false;
}

void keep_host_flags(void* pointer, uint32_t flags) { pinned_flags()[pointer] = flags; }
void forget_host_flags(void* pointer) { pinned_flags().erase(pointer); }

}  // namespace quern::cuda
