#include "cuda/runtime/shared_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <set>

#include "cuda/runtime/process.h"

namespace quern::cuda {
namespace {

constexpr uint64_t kPage = 4096;

struct Mapped {
  uint64_t first;  // of its pages
  int64_t bytes;
  int device, file;  // -1: another process's
};

std::map<uint64_t, Mapped>& mapped() {
  static auto& all = *new std::map<uint64_t, Mapped>;
  return all;
}

// What is exported of other memory is in this one.
int shared_file() {
  static const int file = make_shared_file();
  return file;
}

int64_t offset_of(uint64_t address) { return static_cast<int64_t>(address - Process::get().memory->space().first); }

// Pages that are in the file, by their addresses.
std::set<uint64_t>& shared_pages() {
  static auto& all = *new std::set<uint64_t>;
  return all;
}

// What a page holds goes to the file, then the file's takes its place.
bool share_page(uint64_t page) {
  if (shared_pages().contains(page)) return true;
  vgpu::Memory& memory = *Process::get().memory;
  int64_t offset = offset_of(page);
  auto* bytes = reinterpret_cast<const void*>(page);
  if (::pwrite(shared_file(), bytes, kPage, offset) != static_cast<ssize_t>(kPage)) return false;
  if (!memory.map(page, kPage, shared_file(), offset, true)) return false;
  shared_pages().insert(page);
  return true;
}

}  // namespace

bool is_our_file(int file, uint64_t& inode, int64_t& bytes) {
  struct stat info = {};
  char name[64] = {};
  if (file < 0 || ::fstat(file, &info) != 0) return false;
  ssize_t size = ::readlink(fmt::format("/proc/self/fd/{}", file).c_str(), name, sizeof name - 1);
  inode = info.st_ino;
  bytes = info.st_size;
  return size > 0 && std::string_view(name).starts_with(std::string("/memfd:") + kFileName);
}

int make_shared_file() {
  int made = ::memfd_create(kFileName, MFD_CLOEXEC);
  auto bytes = static_cast<off_t>(Process::get().memory->space().bytes);
  if (made >= 0 && ::ftruncate(made, bytes) == 0) return made;
  if (made >= 0) ::close(made);
  return -1;
}

SharedHandle handle_of(int file, uint64_t address, int64_t bytes, uint64_t kind) {
  SharedHandle out;
  int64_t size = 0;
  if (!is_our_file(file, out.inode, size)) return {};
  out.kind = kind;
  out.process = ::getpid();
  out.file = file;
  out.offset = static_cast<uint64_t>(offset_of(address));
  out.bytes = bytes;
  return out;
}

Error export_memory(uint64_t address, int64_t bytes, uint64_t kind, SharedHandle& out) {
  uint64_t last = address + static_cast<uint64_t>(bytes);
  for (uint64_t page = address / kPage * kPage; page < last; page += kPage) {
    if (!share_page(page)) return Error::kMapBufferObjectFailed;
  }
  // Others write there too, unseen.
  Process::get().memory->mark_written(address, bytes);
  out = handle_of(shared_file(), address, bytes, kind);
  return out.kind ? Error::kSuccess : Error::kMapBufferObjectFailed;
}

Error allocate_shared(int file, int64_t bytes, const char* name, int device, uint64_t& address) {
  vgpu::Memory& memory = *Process::get().memory;
  auto page = static_cast<int64_t>(kPage);
  if (bytes <= 0 || bytes > INT64_MAX - page) return Error::kMemoryAllocation;
  int64_t pages = (bytes + page - 1) / page * page;
  auto first = memory.reserve(pages, page);
  if (!first || !memory.map(*first, pages, file, offset_of(*first), true)) return Error::kMemoryAllocation;
  address = *first;
  memory.lay_out(address, pages, {{address, bytes, vgpu::Holds::kGlobal, device, name}});
  memory.charge(device, pages);
  mapped()[address] = {address, pages, device, file};
  return Error::kSuccess;
}

Error import_memory(const SharedHandle& h, uint64_t kind, int file, const char* name, vgpu::Holds holds, int device,
                    uint64_t& address) {
  if (h.kind != kind || h.bytes <= 0) return Error::kInvalidValue;
  bool opened = file < 0;
  if (opened) file = ::open(fmt::format("/proc/{}/fd/{}", h.process, h.file).c_str(), O_RDWR | O_CLOEXEC);
  uint64_t inode = 0;
  int64_t size = 0;
  bool good = is_our_file(file, inode, size) && inode == h.inode && h.offset <= static_cast<uint64_t>(size) &&
              h.bytes <= size - static_cast<int64_t>(h.offset);
  vgpu::Memory& memory = *Process::get().memory;
  uint64_t within = h.offset % kPage;
  int64_t bytes =
      good ? static_cast<int64_t>((within + static_cast<uint64_t>(h.bytes) + kPage - 1) / kPage * kPage) : 0;
  Error e = good ? Error::kSuccess : Error::kInvalidValue;
  auto first = good ? memory.reserve(bytes, kPage) : Result<uint64_t>(0);
  if (!first) e = Error::kMemoryAllocation;
  if (e == Error::kSuccess && !memory.map(*first, bytes, file, static_cast<int64_t>(h.offset - within), true)) {
    e = Error::kMapBufferObjectFailed;
  }
  if (opened && file >= 0) ::close(file);
  if (e != Error::kSuccess) return e;
  address = *first + within;
  memory.lay_out(*first, bytes, {{address, h.bytes, holds, device, name}});
  mapped()[address] = {*first, bytes, device, -1};
  return Error::kSuccess;
}

bool release_shared(uint64_t address) {
  auto found = mapped().find(address);
  if (found == mapped().end()) return false;
  const Mapped& m = found->second;
  vgpu::Memory& memory = *Process::get().memory;
  memory.lay_out(m.first, m.bytes, {});
  memory.unmap(m.first, m.bytes);
  if (m.file >= 0) {
    memory.charge(m.device, -m.bytes);
    ::fallocate(m.file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset_of(m.first), m.bytes);
  }
  mapped().erase(found);
  return true;
}

}  // namespace quern::cuda
