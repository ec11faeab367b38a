#include "device/cpu/workspace.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/text.h"

namespace quern::device::cpu {

Result<Memory> allocate(int64_t bytes, std::string_view what) {
  if (bytes <= 0) return Memory();
  int64_t limit = int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
  auto refuse = [&] {
    return fail(diagnose(Code::E716, {},
                         {{"what", std::string(what)},
                          {"v", human_bytes(static_cast<uint64_t>(bytes))},
                          {"limit", human_bytes(static_cast<uint64_t>(limit))}}));
  };
  if (bytes > limit) return refuse();
  auto size = static_cast<size_t>(bytes);
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return refuse();
  // Large pages save a tenth of the time of large kernels; where there are none nothing changes.
  if (size >= size_t{4} << 20) ::madvise(memory, size, MADV_HUGEPAGE);
  return Memory(static_cast<std::byte*>(memory), [size](std::byte* p) { ::munmap(p, size); });
}

std::unique_ptr<Workspace> WorkspacePool::take() {
  std::lock_guard lock(mutex_);
  if (free_.empty()) return std::make_unique<Workspace>();
  auto out = std::move(free_.back());
  free_.pop_back();
  return out;
}

void WorkspacePool::give(std::unique_ptr<Workspace> workspace) {
  std::lock_guard lock(mutex_);
  if (free_.size() < kKept) free_.push_back(std::move(workspace));
}

}  // namespace quern::device::cpu
