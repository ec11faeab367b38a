#include "cuda/runtime/virtual_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "cuda/runtime/device_memory.h"
#include "cuda/runtime/shared_memory.h"

namespace quern::cuda {
namespace {

constexpr int kRead = 1, kReadWrite = 3;

bool whole_grains(uint64_t n) { return n && n % kGranularity == 0 && n <= INT64_MAX; }

}  // namespace

VirtualMemory& VirtualMemory::get() {
  static VirtualMemory& only = *new VirtualMemory;
  return only;
}

VirtualMemory::Piece::~Piece() {
  if (file >= 0) ::close(file);
  if (own && file >= 0) Process::get().memory->charge(props.location.id, -static_cast<int64_t>(bytes));
}

int VirtualMemory::Mapping::flags() const {
  int out = 0;
  for (const auto& [where, f] : access) out |= f;
  return out;
}

Error VirtualMemory::reserve(uint64_t bytes, uint64_t align, uint64_t& address) {
  if (!whole_grains(bytes) || (align & (align - 1)) || align > INT64_MAX) return Error::kInvalidValue;
  auto got =
      Process::get().memory->reserve(static_cast<int64_t>(bytes), static_cast<int64_t>(std::max(align, kGranularity)));
  if (!got) return Error::kMemoryAllocation;
  address = *got;
  ranges_[address] = bytes;
  return Error::kSuccess;
}

Error VirtualMemory::free(uint64_t address, uint64_t bytes) {
  auto found = ranges_.find(address);
  if (found == ranges_.end() || found->second != bytes) return Error::kInvalidValue;
  auto first = mappings_.lower_bound(address);
  if (first != mappings_.end() && first->first < address + bytes) return Error::kInvalidValue;
  ranges_.erase(found);
  return Error::kSuccess;
}

uint64_t VirtualMemory::add(std::shared_ptr<Piece> piece) {
  handles_[next_] = {std::move(piece)};
  return next_++;
}

Error VirtualMemory::make(uint64_t bytes, const PhysicalProps& props, uint64_t& handle) {
  constexpr int kPinned = 1;
  bool known =
      props.type == kPinned && props.location.type == LocationType::kDevice && !(props.handle_types & ~kFileHandle);
  if (!known || !whole_grains(bytes)) return Error::kInvalidValue;
  if (!Process::get().has_device(props.location.id)) return Error::kInvalidDevice;
  if (static_cast<int64_t>(bytes) > free_bytes(props.location.id)) return Error::kMemoryAllocation;
  int file = ::memfd_create(kFileName, MFD_CLOEXEC);
  if (file < 0) return Error::kMemoryAllocation;
  if (::ftruncate(file, static_cast<off_t>(bytes)) != 0) {
    ::close(file);
    return Error::kMemoryAllocation;
  }
  Process::get().memory->charge(props.location.id, static_cast<int64_t>(bytes));
  handle = add(std::make_shared<Piece>(file, bytes, props, true));
  return Error::kSuccess;
}

Error VirtualMemory::release(uint64_t handle) {
  auto found = handles_.find(handle);
  if (found == handles_.end()) return Error::kInvalidValue;
  if (--found->second.count == 0) handles_.erase(found);
  return Error::kSuccess;
}

Error VirtualMemory::retain(uint64_t address, uint64_t& handle) {
  auto after = mappings_.upper_bound(address);
  if (after == mappings_.begin()) return Error::kInvalidValue;
  const auto& [first, mapping] = *std::prev(after);
  if (address - first >= mapping.bytes) return Error::kInvalidValue;
  for (auto& [number, h] : handles_) {
    if (h.piece != mapping.piece) continue;
    ++h.count;
    handle = number;
    return Error::kSuccess;
  }
  handle = add(mapping.piece);
  return Error::kSuccess;
}

const std::pair<const uint64_t, uint64_t>* VirtualMemory::range_of(uint64_t address, uint64_t bytes) const {
  auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return nullptr;
  const auto& range = *std::prev(after);
  uint64_t offset = address - range.first;
  return offset < range.second && bytes <= range.second - offset ? &range : nullptr;
}

Error VirtualMemory::map(uint64_t address, uint64_t bytes, uint64_t offset, uint64_t handle) {
  auto found = handles_.find(handle);
  bool aligned = whole_grains(bytes) && address % kGranularity == 0 && offset % kGranularity == 0;
  if (found == handles_.end() || !aligned || !range_of(address, bytes)) return Error::kInvalidValue;
  const auto& piece = found->second.piece;
  if (offset > piece->bytes || bytes > piece->bytes - offset) return Error::kInvalidValue;
  auto after = mappings_.lower_bound(address + bytes);
  if (after != mappings_.begin()) {
    const auto& [first, before] = *std::prev(after);
    if (first + before.bytes > address) return Error::kInvalidValue;
  }
  if (!Process::get().memory->map(address, static_cast<int64_t>(bytes), piece->file, static_cast<int64_t>(offset),
                                  true)) {
    return Error::kMemoryAllocation;
  }
  mappings_[address] = {bytes, piece, {}};
  return Error::kSuccess;
}

std::optional<std::pair<VirtualMemory::Mappings::iterator, VirtualMemory::Mappings::iterator>> VirtualMemory::whole(
    uint64_t address, uint64_t bytes) {
  auto first = mappings_.find(address), last = first;
  uint64_t at = address, end = address + bytes;
  for (; last != mappings_.end() && last->first == at && at < end; ++last) at += last->second.bytes;
  if (first == mappings_.end() || at != end || end < address) return std::nullopt;
  return std::pair(first, last);
}

Error VirtualMemory::unmap(uint64_t address, uint64_t bytes) {
  auto all = whole(address, bytes);
  if (!all) return Error::kInvalidValue;
  auto range = *range_of(address, bytes);
  mappings_.erase(all->first, all->second);
  describe(range.first, range.second);
  return Process::get().memory->unmap(address, static_cast<int64_t>(bytes)) ? Error::kSuccess
                                                                            : Error::kMemoryAllocation;
}

Error VirtualMemory::set_access(uint64_t address, uint64_t bytes, const AccessDesc* access, size_t count) {
  auto all = whole(address, bytes);
  if (!all || !access || !count) return Error::kInvalidValue;
  for (size_t i = 0; i < count; ++i) {
    const AccessDesc& a = access[i];
    if (a.flags != 0 && a.flags != kRead && a.flags != kReadWrite) return Error::kInvalidValue;
    if (a.location.type == LocationType::kDevice && !Process::get().has_device(a.location.id))
      return Error::kInvalidDevice;
  }
  for (auto at = all->first; at != all->second; ++at) {
    for (size_t i = 0; i < count; ++i) {
      at->second.access[{static_cast<int>(access[i].location.type), access[i].location.id}] = access[i].flags;
    }
  }
  auto range = *range_of(address, bytes);
  describe(range.first, range.second);
  return Error::kSuccess;
}

Error VirtualMemory::access(uint64_t address, const Location& location, unsigned long long& flags) const {
  auto after = mappings_.upper_bound(address);
  if (after == mappings_.begin()) return Error::kInvalidValue;
  const auto& [first, mapping] = *std::prev(after);
  if (address - first >= mapping.bytes) return Error::kInvalidValue;
  auto found = mapping.access.find({static_cast<int>(location.type), location.id});
  flags = found == mapping.access.end() ? 0 : static_cast<unsigned long long>(found->second);
  return Error::kSuccess;
}

// Neighbours with the same access are one allocation: programs copy and index across them.
void VirtualMemory::describe(uint64_t first, uint64_t bytes) const {
  std::vector<vgpu::Allocation> parts;
  for (auto at = mappings_.lower_bound(first); at != mappings_.end() && at->first < first + bytes; ++at) {
    int flags = at->second.flags();
    if (!flags) continue;
    auto holds = flags == kReadWrite ? vgpu::Holds::kGlobal : vgpu::Holds::kConstant;
    bool next = !parts.empty() && parts.back().holds == holds &&
                parts.back().address + static_cast<uint64_t>(parts.back().bytes) == at->first;
    auto size = static_cast<int64_t>(at->second.bytes);
    if (next) {
      parts.back().bytes += size;
    } else {
      parts.push_back({at->first, size, holds, at->second.piece->props.location.id, kNameMapped});
    }
  }
  Process::get().memory->lay_out(first, static_cast<int64_t>(bytes), std::move(parts));
}

Error VirtualMemory::properties(uint64_t handle, PhysicalProps& out) const {
  auto found = handles_.find(handle);
  if (found == handles_.end()) return Error::kInvalidValue;
  out = found->second.piece->props;
  return Error::kSuccess;
}

Error VirtualMemory::export_file(uint64_t handle, int& out) const {
  auto found = handles_.find(handle);
  if (found == handles_.end() || !(found->second.piece->props.handle_types & kFileHandle)) return Error::kInvalidValue;
  out = ::fcntl(found->second.piece->file, F_DUPFD_CLOEXEC, 0);
  return out >= 0 ? Error::kSuccess : Error::kMemoryAllocation;
}

Error VirtualMemory::import_file(int file, int device, uint64_t& handle) {
  uint64_t inode = 0;
  int64_t bytes = 0;
  if (!is_our_file(file, inode, bytes) || !whole_grains(static_cast<uint64_t>(bytes))) return Error::kInvalidValue;
  int own = ::fcntl(file, F_DUPFD_CLOEXEC, 0);
  if (own < 0) return Error::kMemoryAllocation;
  PhysicalProps props{};
  props.type = 1;
  props.handle_types = kFileHandle;
  props.location = {LocationType::kDevice, device};
  handle = add(std::make_shared<Piece>(own, static_cast<uint64_t>(bytes), props, false));
  return Error::kSuccess;
}

}  // namespace quern::cuda
