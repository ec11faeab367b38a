#include "array/bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace quern::array {
namespace {

constexpr std::byte kNothing{};  // what an empty file's first byte would be; never read

std::shared_ptr<const std::byte> unowned(const std::byte* first) { return {std::shared_ptr<void>(), first}; }

}  // namespace

Bytes borrow(std::span<const std::byte> memory) {
  if (memory.empty()) return {unowned(&kNothing), 0};
  return {unowned(memory.data()), static_cast<int64_t>(memory.size())};
}

Result<Bytes> map_file(const std::string& path) {
  auto refuse = [&](std::string why) {
    return fail(diagnose(Code::E720, {}, {{"path", path}, {"why", std::move(why)}}));
  };
  // Without O_NONBLOCK, opening a pipe that nobody writes would wait for ever.
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return refuse(std::strerror(errno));
  struct stat info {};
  std::string why;
  void* memory = nullptr;
  if (::fstat(file, &info) != 0) {
    why = std::strerror(errno);
  } else if (S_ISDIR(info.st_mode)) {
    why = "it is a directory";
  } else if (!S_ISREG(info.st_mode)) {
    why = "it is not a regular file";
  } else if (info.st_size > 0) {
    memory = ::mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE, file, 0);
    if (memory == MAP_FAILED) why = std::strerror(errno);
  }
  ::close(file);  // the mapping stays
  if (!why.empty()) return refuse(why);
  if (!memory) return borrow({});
  auto size = static_cast<size_t>(info.st_size);
  auto owner = std::shared_ptr<void>(memory, [size](void* m) { ::munmap(m, size); });
  return Bytes{{std::move(owner), static_cast<const std::byte*>(memory)}, info.st_size};
}

}  // namespace quern::array
