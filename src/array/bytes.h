// A run of bytes that is read and never written: a file mapped into memory, or memory of the caller. Readers of files
// take one, so that they can be tested and fuzzed without a disk, and cut it into arrays without copying.
//
// A mapping sees the file itself. Quern's own writers replace files and never change them in place; a foreign program
// that shortens a file while it is mapped makes the kernel send SIGBUS to whoever touches the lost part, as with every
// program that maps files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace quern::array {

struct Bytes {
  std::shared_ptr<const std::byte> first;  // keeps the memory alive; with `borrow` the caller does
  int64_t size = 0;

  std::string_view text() const { return {reinterpret_cast<const char*>(first.get()), static_cast<size_t>(size)}; }
  // The byte at `offset` (at most `size`), kept alive with the whole.
  std::shared_ptr<const std::byte> at(int64_t offset) const { return {first, first.get() + offset}; }
};

// The whole file, read-only. E720 if it can't be opened or mapped, or is not a regular file.
Result<Bytes> map_file(const std::string& path);

// Memory of the caller, which must outlive the Bytes and every array read from them.
Bytes borrow(std::span<const std::byte> memory);

}  // namespace quern::array
