// An array as kernels take it: element type, shape, and row-major bytes without gaps. Copying one copies no bytes: the
// memory (a buffer, or a file mapped read-only) is shared and lives as long as the last array on it.
//
// 4-bit types have their logical shape here: two elements share a byte along the last dimension, the even one in the
// low half, so that dimension is even. Bytes that come from a file may begin anywhere: read elements through load_bits
// or the functions below, which copy, and never through a pointer to the element type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/scalar_type.h"

namespace quern::array {

inline constexpr int kMaxRank = 32;  // NumPy's limit before 2.0

struct Array {
  ScalarType type = ScalarType::f32;
  std::vector<int64_t> shape = {0};        // rank 0 is one element
  std::shared_ptr<const std::byte> bytes;  // the first byte; may be null only if there are no elements
  std::byte* owned = nullptr;              // the same byte if the memory may be written (made here, not mapped)

  const std::byte* data() const { return bytes.get(); }
  // Null for an array that maps a file; `clone` gives one that can be written. Copies see what is written.
  std::byte* mutable_data() { return owned; }
  int64_t elements() const;
  int64_t byte_size() const;  // of all elements
};

struct Named {
  std::string name;
  Array array;
};

// What type an array of a file is wanted as, by its name; nullopt leaves it to the file. An empty function always does.
using Wanted = std::function<std::optional<ScalarType>(std::string_view name)>;

// Bytes that an array of this type and shape takes; nullopt where a dimension is negative, or where the bytes, counting
// empty dimensions as one, need more than 63 bits. An odd last dimension of a 4-bit type is rounded up.
std::optional<int64_t> checked_byte_size(ScalarType type, std::span<const int64_t> shape);

// Memory of this machine in bytes: more than that is never allocated (E716).
int64_t memory_limit();

// A zeroed array that can be written, 64-byte aligned; the operating system gives its pages when they are first
// touched. E711 negative dimension, E710 more than 63 bits, E512 odd last dimension (or none) of a 4-bit type, E716
// more than memory_limit() or kMaxRank dimensions. `what` is the array's name in E512.
Result<Array> make(ScalarType type, std::vector<int64_t> shape, std::string_view what = "the array");

// A copy with its own bytes, that can be written; E716.
Result<Array> clone(const Array& array);

// Element `index` in row-major order, 0 <= index < elements(). `real_at` also converts integers and bools; `int_at` is
// for integers and bools.
uint64_t bits_at(const Array& array, int64_t index);
double real_at(const Array& array, int64_t index);
int64_t int_at(const Array& array, int64_t index);

// Writes one element, rounding as a store does; the array must be writable. `set_int` is for integers and bools,
// `set_real` for every type (reals into integers truncate and saturate).
void set_bits(Array& array, int64_t index, uint64_t bits);
void set_real(Array& array, int64_t index, double value);
void set_int(Array& array, int64_t index, int64_t value);

// Equal type, shape and bits (so NaN equals itself, and 0 is not -0).
bool identical(const Array& a, const Array& b);

std::string shape_text(std::span<const int64_t> shape);                  // "(2, 3)", "(3,)", "()": as Python writes it
std::string type_text(ScalarType type, std::span<const int64_t> shape);  // "f32[2, 3]"

}  // namespace quern::array
