// Memory of the caller: any strides, any alignment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/scalar_type.h"

namespace quern::internal {

// A view in one normal form: `begin` is the lowest byte that it touches, offsets of elements from there are 0 or more.
struct Strided {
  std::byte* begin = nullptr;
  ScalarType type = ScalarType::f32;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  // in elements
  int64_t first = 0;             // offset of the element at subscripts 0, in elements
  int64_t bytes = 0;             // from begin to the end of the last element
};

// nullopt if an offset needs more than 63 bits. `strides` empty: row-major. The shape has no negative sizes.
std::optional<Strided> strided(void* data, ScalarType type, const std::vector<int64_t>& shape,
                               std::vector<int64_t> strides);

bool contiguous(const Strided& view);  // row-major without gaps

int64_t elements(const std::vector<int64_t>& shape);

// Row-major copies, element by element.
std::vector<std::byte> gather(const Strided& view);
void scatter(const Strided& view, const std::byte* data);

// Is there a byte that both touch? Exact: columns of one matrix don't overlap.
bool overlap(const Strided& a, const Strided& b);

// Do two elements of the view share memory?
bool overlaps_itself(const Strided& view);

}  // namespace quern::internal
