#include "cuda/runtime/foreign_bytes.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "fatbin/container.h"
#include "fatbin/damaged.h"

namespace quern::cuda {
namespace {

constexpr uint32_t kContainerMagic = 0xba55ed50, kWrapperMagic = 0x466243b1;

// As much as can be read; the system call says what can't, where a load would end the program.
std::string read(uint64_t address, size_t bytes) {
  std::string out(bytes, '\0');
  size_t done = 0;
  constexpr size_t kPage = 4096;
  while (done < bytes) {
    // To the end of a page: the next may not be there.
    size_t piece = std::min(bytes - done, kPage - (address + done) % kPage);
    iovec to{out.data() + done, piece}, from{reinterpret_cast<void*>(address + done), piece};
    ssize_t n = ::process_vm_readv(::getpid(), &to, 1, &from, 1, 0);
    if (n <= 0) break;
    done += static_cast<size_t>(n);
  }
  out.resize(done);
  return out;
}

Result<std::string> copy_text(uint64_t address, const std::string& what) {
  std::string out;
  constexpr size_t kPiece = 65536;
  while (out.size() < fatbin::kMaxUnpacked) {
    std::string more = read(address + out.size(), kPiece);
    size_t end = more.find('\0');
    out += more.substr(0, end);
    if (end != std::string::npos) return out;
    if (more.size() < kPiece) break;
  }
  return fatbin::damaged(what, "its text has no end");
}

}  // namespace

Result<std::string> copy_code(const void* pointer, const std::string& what) {
  auto address = reinterpret_cast<uint64_t>(pointer);
  std::string first = read(address, 24);
  uint32_t magic = 0;
  if (first.size() < sizeof magic) return copy_text(address, what);
  std::memcpy(&magic, first.data(), sizeof magic);
  if (magic == kWrapperMagic && first.size() == 24) {
    uint64_t inner = 0;
    std::memcpy(&inner, first.data() + 8, sizeof inner);
    address = inner;
    first = read(address, 24);
    if (first.size() < sizeof magic) return fatbin::damaged(what, "its wrapper leads nowhere");
    std::memcpy(&magic, first.data(), sizeof magic);
  }
  if (magic != kContainerMagic)
    return first.starts_with(
               "\x7f"
               "ELF")
               ? first
               : copy_text(address, what);
  uint64_t entries = 0;
  uint16_t header = 0;
  if (first.size() < fatbin::kContainerHeader) return fatbin::damaged(what, "it ends inside its header");
  std::memcpy(&header, first.data() + 6, sizeof header);
  std::memcpy(&entries, first.data() + 8, sizeof entries);
  if (entries > fatbin::kMaxUnpacked) return fatbin::damaged(what, "it says that it has more than a gigabyte");
  return read(address, header + entries);
}

}  // namespace quern::cuda
