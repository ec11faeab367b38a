// Reservation, allocation and shadow. Pages are handed to allocations in slabs: small allocations share a slab with
// gaps of at least 256 bytes that nobody may access, larger ones have pages of their own.
#include "vgpu/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace quern::vgpu {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kSlab = 1 << 20;
constexpr uint64_t kGap = 256;
// Reserved: 2^44 bytes, room for 4 GiB each of 4,000 blocks' shared memory, and a guard of 64 GiB on either side, since
// a 32-bit index times 16 bytes reaches 32 GiB and an offset in an instruction 2 GiB. Where a limit on addresses
// forbids that, less.
constexpr int kLargest = 44, kLeast = 34;

uint64_t up(uint64_t x, uint64_t to) { return (x + to - 1) & ~(to - 1); }
uint64_t down(uint64_t x, uint64_t to) { return x & ~(to - 1); }

void* reserve(uint64_t at, uint64_t bytes, int access) {
  void* got = mmap(reinterpret_cast<void*>(at), bytes, access,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == MAP_FAILED) return nullptr;
  if (reinterpret_cast<uint64_t>(got) == at) return got;
  munmap(got, bytes);  // a kernel before 4.17 takes the address for a wish
  return nullptr;
}

// The range at one of a few fixed places, so that compiled code with the addresses in it can be kept on disk.
bool place(AddressSpace& space, int log2_bytes) {
  constexpr uint64_t kGuard = uint64_t{64} << 30;
  for (uint64_t first : {uint64_t{0x200000000000}, uint64_t{0x300000000000}, uint64_t{0x7a8000000000}}) {
    uint64_t bytes = uint64_t{1} << log2_bytes;
    uint64_t all = bytes + 2 * kGuard;
    if (!reserve(first - kGuard, all, PROT_READ)) continue;
    // The shadow follows right behind.
    uint64_t shadow = up(first + bytes + kGuard, uint64_t{1} << 30);
    if (reserve(shadow, all / 4, PROT_READ | PROT_WRITE)) {
      space = {first, bytes, kGuard, shadow - ((first - kGuard) >> 2)};
      return true;
    }
    munmap(reinterpret_cast<void*>(first - kGuard), all);
  }
  return false;
}

uint8_t first_bits(Holds holds) {
  switch (holds) {
    case Holds::kConstant: return kHasValue;
    case Holds::kParameter: return kHasValue;
    case Holds::kVariable: return kHasValue | kWritable;
    case Holds::kHost: return kHasValue | kWritable;
    default: return kWritable;
  }
}

// A launch's own memory: nobody outside has its address, so it may be given out again at once.
bool of_launch(Holds holds) {
  return holds == Holds::kParameter || holds == Holds::kShared || holds == Holds::kLocal || holds == Holds::kArguments;
}

}  // namespace

Result<std::shared_ptr<Memory>> Memory::create() {
  std::shared_ptr<Memory> memory(new Memory);
  for (int bits = kLargest; bits >= kLeast; --bits) {
    if (!place(memory->space_, bits)) continue;
    memory->fresh_ = memory->space_.first + kSlab;
    memory->fresh_end_ = memory->last_ = memory->space_.first + memory->space_.bytes;
    return memory;
  }
  return fail(diagnose(Code::E950, {}, {{"why", std::strerror(errno)}}));
}

Memory::~Memory() {
  if (!space_.bytes) return;
  uint64_t all = space_.bytes + 2 * space_.guard, start = space_.first - space_.guard;
  munmap(reinterpret_cast<void*>(start), all);
  munmap(reinterpret_cast<void*>((start >> 2) + space_.shadow_bias), all / 4);
}

uint8_t* Memory::shadow(uint64_t address) const {
  return reinterpret_cast<uint8_t*>((address >> 2) + space_.shadow_bias);
}

bool Memory::commit(uint64_t first, uint64_t last) {
  return mprotect(reinterpret_cast<void*>(first), last - first, PROT_READ | PROT_WRITE) == 0;
}

Result<uint64_t> Memory::allocate(int64_t bytes, int64_t align, Holds holds, std::string name, int device,
                                  int64_t reach) {
  std::lock_guard lock(mutex_);
  auto none = [&] { return fail(diagnose(Code::E951, {}, {{"bytes", std::to_string(bytes)}})); };
  if (bytes < 0 || static_cast<uint64_t>(bytes) > space_.bytes || reach < 0) return none();
  if (of_launch(holds)) {
    if (auto at = reused(bytes, holds)) return *at;
  }
  uint64_t size = std::max<uint64_t>(static_cast<uint64_t>(bytes), 1);
  uint64_t to = std::max<uint64_t>(static_cast<uint64_t>(align), 256);
  bool launch = reach > 0 || of_launch(holds) || holds == Holds::kHeap;
  auto at = launch ? from_end(size, to, static_cast<uint64_t>(reach)) : from_start(size, to);
  if (!at) return none();
  uint64_t number = launch ? ++launch_count_ : ++count_;
  all_[*at] = std::make_shared<Allocation>(Allocation{*at, bytes, holds, device, std::move(name), number, false});
  if (!of_launch(holds)) used_[device] += bytes;
  set(*at, bytes, 0, first_bits(holds));
  return *at;
}

std::optional<uint64_t> Memory::from_start(uint64_t size, uint64_t align) {
  bool own = size > kSlab / 8;  // pages of its own
  uint64_t at = up(slab_.next, align);
  if (own || at + size + kGap > slab_.end) {
    at = up(fresh_, std::max(align, kPage));
    uint64_t until = up(at + size + kGap, own ? kPage : kSlab);
    if (at < fresh_ || until < at || until > fresh_end_ || !commit(at, until)) return std::nullopt;
    fresh_ = until + kPage;
    if (!own) slab_.end = until;
  }
  if (!own) slab_.next = at + size + kGap;
  return at;
}

std::optional<uint64_t> Memory::from_end(uint64_t size, uint64_t align, uint64_t reach) {
  bool own = size > kSlab / 8 || reach > 0;
  uint64_t at = up(launch_slab_.next, align);
  if (own || at + size + kGap > launch_slab_.end) {
    uint64_t pages = up(size + kGap, own ? kPage : kSlab);
    align = std::max(align, kPage);
    // Neither lies where the other reaches.
    uint64_t room = fresh_end_ - fresh_, before = 2 * reach + align;
    if (pages > room || room - pages < before || last_ < fresh_ + before) return std::nullopt;
    at = down(std::min(fresh_end_ - pages, last_ - reach), align);
    if (!commit(at, at + pages)) return std::nullopt;
    last_ = at;
    fresh_end_ = at - reach;
    if (!own) launch_slab_.end = at + pages;
  }
  if (!own) launch_slab_.next = at + size + kGap;
  return at;
}

Result<uint64_t> Memory::reserve(int64_t bytes, int64_t align) {
  std::lock_guard lock(mutex_);
  uint64_t at = up(fresh_, std::max(static_cast<uint64_t>(align), kPage));
  auto size = static_cast<uint64_t>(bytes);
  if (bytes <= 0 || at < fresh_ || at > fresh_end_ || fresh_end_ - at < size + 2 * kPage) {
    return fail(diagnose(Code::E951, {}, {{"bytes", std::to_string(bytes)}}));
  }
  fresh_ = up(at + size, kPage) + kPage;
  return at;
}

bool Memory::map(uint64_t address, int64_t bytes, int file, int64_t offset, bool writable) {
  int access = writable ? PROT_READ | PROT_WRITE : PROT_READ;
  void* at = reinterpret_cast<void*>(address);
  return mmap(at, static_cast<size_t>(bytes), access, MAP_SHARED | MAP_FIXED, file, offset) == at;
}

bool Memory::unmap(uint64_t address, int64_t bytes) {
  constexpr int kOwn = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  void* at = reinterpret_cast<void*>(address);
  return mmap(at, static_cast<size_t>(bytes), PROT_READ, kOwn, -1, 0) == at;
}

void Memory::lay_out(uint64_t first, int64_t bytes, std::vector<Allocation> parts) {
  std::lock_guard lock(mutex_);
  auto from = all_.lower_bound(first), to = all_.lower_bound(first + static_cast<uint64_t>(bytes));
  for (auto old = from; old != to; ++old) set(old->first, old->second->bytes, 0, 0);
  all_.erase(from, to);
  for (Allocation& a : parts) {
    a.number = ++count_;
    set(a.address, a.bytes, 0, first_bits(a.holds == Holds::kConstant ? a.holds : Holds::kHost));
    uint64_t at = a.address;
    all_[at] = std::make_shared<Allocation>(std::move(a));
  }
}

void Memory::charge(int device, int64_t bytes) {
  std::lock_guard lock(mutex_);
  used_[device] += bytes;
}

std::optional<uint64_t> Memory::reused(int64_t bytes, Holds holds) {
  auto found = spare_.lower_bound({holds, bytes});
  if (found == spare_.end() || found->first.first != holds || found->first.second > 2 * bytes + 4096)
    return std::nullopt;
  uint64_t at = found->second;
  spare_.erase(found);
  auto again = std::make_shared<Allocation>(*all_[at]);
  again->released = false;
  again->bytes = bytes;
  again->number = ++launch_count_;
  all_[at] = std::move(again);
  set(at, bytes, 0, first_bits(holds));
  return at;
}

bool Memory::release(uint64_t address) {
  std::lock_guard lock(mutex_);
  auto found = all_.find(address);
  if (found == all_.end() || found->second->released) return false;
  auto gone = std::make_shared<Allocation>(*found->second);
  gone->released = true;
  if (of_launch(gone->holds)) {
    set(address, gone->bytes, 0, 0);
    spare_.emplace(std::pair(gone->holds, gone->bytes), address);
    found->second = std::move(gone);
    return true;
  }
  used_[gone->device] -= gone->bytes;
  set(address, gone->bytes, 0, 0);
  // Whole pages go back to the system and can't be written again; the rest of the first and last page stays.
  uint64_t first = up(address, kPage), last = down(address + static_cast<uint64_t>(gone->bytes), kPage);
  if (first < last) {
    madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
    mprotect(reinterpret_cast<void*>(first), last - first, PROT_READ);
  }
  found->second = std::move(gone);
  return true;
}

bool Memory::revive(uint64_t address) {
  std::lock_guard lock(mutex_);
  auto found = all_.find(address);
  if (found == all_.end() || of_launch(found->second->holds)) return false;
  if (!found->second->released) return true;
  auto again = std::make_shared<Allocation>(*found->second);
  again->released = false;
  uint64_t first = down(address, kPage), last = up(address + static_cast<uint64_t>(again->bytes), kPage);
  if (!commit(first, last)) return false;
  used_[again->device] += again->bytes;
  set(address, again->bytes, 0, first_bits(again->holds));
  found->second = std::move(again);
  return true;
}

std::shared_ptr<const Allocation> Memory::find(uint64_t address) const {
  std::lock_guard lock(mutex_);
  auto after = all_.upper_bound(address);
  if (after == all_.begin()) return nullptr;
  const auto& a = std::prev(after)->second;
  return address - a->address < static_cast<uint64_t>(a->bytes) ? a : nullptr;
}

bool Memory::contains(uint64_t address, int64_t bytes) const {
  auto a = find(address);
  return a && !a->released && bytes >= 0 &&
         static_cast<uint64_t>(bytes) <= static_cast<uint64_t>(a->bytes) - (address - a->address);
}

std::pair<std::shared_ptr<const Allocation>, std::shared_ptr<const Allocation>> Memory::around(uint64_t address) const {
  std::lock_guard lock(mutex_);
  auto after = all_.upper_bound(address);
  return {after == all_.begin() ? nullptr : std::prev(after)->second, after == all_.end() ? nullptr : after->second};
}

// Bits of the bytes [address, address + bytes): the low nibble's and the high nibble's alike. `and_bits` stay, then
// `or_bits` are added.
void Memory::set(uint64_t address, int64_t bytes, uint8_t and_bits, uint8_t or_bits) {
  if (bytes <= 0) return;
  auto edge = [&](uint64_t word, unsigned from, unsigned to) {
    uint8_t low = static_cast<uint8_t>(((1u << to) - 1) & ~((1u << from) - 1));
    uint8_t which = static_cast<uint8_t>(low | low << 4);
    uint8_t& s = *shadow(word);
    s = static_cast<uint8_t>((s & ~which) | (((s & and_bits) | or_bits) & which));
  };
  uint64_t last = address + static_cast<uint64_t>(bytes);
  if (down(address, 4) == down(last - 1, 4)) {
    edge(down(address, 4), address & 3, static_cast<unsigned>((last - 1) & 3) + 1);
    return;
  }
  if (address & 3) edge(down(address, 4), address & 3, 4);
  if (last & 3) edge(down(last, 4), 0, last & 3);
  uint8_t* from = shadow(up(address, 4));
  uint8_t* to = shadow(down(last, 4));
  if (!and_bits) {
    std::memset(from, or_bits, static_cast<size_t>(to - from));
  } else {
    for (; from < to; ++from) *from = static_cast<uint8_t>((*from & and_bits) | or_bits);
  }
}

void Memory::mark_written(uint64_t address, int64_t bytes) { set(address, bytes, 0xff, kHasValue); }

void Memory::mark_unwritten(uint64_t address, int64_t bytes) { set(address, bytes, kWritable, 0); }

uint64_t Memory::first_unwritten(uint64_t address, int64_t bytes) const {
  uint64_t last = address + static_cast<uint64_t>(std::max<int64_t>(bytes, 0));
  for (uint64_t a = address; a < last;) {
    uint8_t s = *shadow(a);
    if (!(a & 3) && a + 4 <= last && (s & kHasValue) == kHasValue) {
      a += 4;
      continue;
    }
    if (!(s >> (a & 3) & 1)) return a;
    ++a;
  }
  return last;
}

void Memory::copy_shadow(uint64_t to, uint64_t from, int64_t bytes) {
  if (bytes <= 0) return;
  if (!((to | from) & 3) && to != from) {
    int64_t words = bytes / 4;
    uint8_t* a = shadow(to);
    const uint8_t* b = shadow(from);
    auto word = [&](int64_t i) { a[i] = static_cast<uint8_t>((a[i] & kWritable) | (b[i] & kHasValue)); };
    if (to < from) {
      for (int64_t i = 0; i < words; ++i) word(i);
    } else {
      for (int64_t i = words; i-- > 0;) word(i);
    }
    to += static_cast<uint64_t>(words) * 4, from += static_cast<uint64_t>(words) * 4, bytes -= words * 4;
  }
  std::vector<bool> has(static_cast<size_t>(bytes));
  for (size_t i = 0; i < has.size(); ++i) has[i] = *shadow(from + i) >> ((from + i) & 3) & 1;
  for (size_t i = 0; i < has.size(); ++i) {
    uint8_t bit = static_cast<uint8_t>(1u << ((to + i) & 3));
    uint8_t& s = *shadow(to + i);
    s = static_cast<uint8_t>(has[i] ? s | bit : s & ~bit);
  }
}

int64_t Memory::used(int device) const {
  std::lock_guard lock(mutex_);
  auto found = used_.find(device);
  return found == used_.end() ? 0 : found->second;
}

}  // namespace quern::vgpu
