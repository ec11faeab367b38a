// What the fuzz targets of array/ share: the types each input is read as, and what must hold of any outcome.
//
// Built by clang alone, with all of src/array and src/base, since the readers must be instrumented too:
//   clang++-22 -std=c++23 -O1 -g -D_GLIBCXX_ASSERTIONS -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
//     -Isrc tests/fuzz/fuzz_npy.cc src/array/*.cc src/base/*.cc -lfmt -lzip -o fuzz_npy
//   ASAN_OPTIONS=allocator_may_return_null=1 ./fuzz_npy CORPUS -max_len=4096 -max_total_time=60 -malloc_limit_mb=64
// The readers ask for memory only as the input justifies it, so the last option is a check too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "array/array.h"
#include "array/bytes.h"
#include "base/text.h"

namespace quern::array {

inline constexpr std::optional<ScalarType> kFuzzTypes[] = {std::nullopt, ScalarType::u4, ScalarType::bf16,
                                                           ScalarType::f8e4m3};

// Reads every element; the sanitizers see where.
inline void touch(const Array& a) {
  for (int64_t i = 0; i < a.elements(); ++i) {
    volatile double value = real_at(a, i);
    (void)value;
  }
}

inline void check_inside(const Array& a, const Bytes& bytes) {
  const std::byte* first = bytes.first.get();
  if (a.data() < first || a.data() + a.byte_size() > first + bytes.size) __builtin_trap();
  touch(a);
}

// An error is one message, filled in, of printable UTF-8.
inline void check_error(const Diagnostics& error) {
  if (error.size() != 1 || blame(error[0].code) != Blame::kYours) __builtin_trap();
  std::string text = render(error);
  if (invalid_utf8(text) || text.find('\0') != std::string::npos || text.find('\x1b') != std::string::npos)
    __builtin_trap();
}

}  // namespace quern::array
