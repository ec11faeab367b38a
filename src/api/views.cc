#include "api/views.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <utility>

namespace quern::internal {
namespace {

// Calls visit(offset) for each element in row-major order, offsets in elements from `begin`.
template <class F>
void each(const Strided& v, F visit) {
  int64_t count = elements(v.shape);
  if (count == 0) return;
  std::vector<int64_t> at(v.shape.size(), 0);
  int64_t offset = v.first;
  for (int64_t i = 0; i < count; ++i) {
    visit(offset);
    for (size_t d = v.shape.size(); d-- > 0;) {
      offset += v.strides[d];
      if (++at[d] < v.shape[d]) break;
      offset -= v.strides[d] * v.shape[d];
      at[d] = 0;
    }
  }
}

int bits(const Strided& v) { return row(v.type).bits; }

}  // namespace

int64_t elements(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (int64_t n : shape) count *= n;
  return count;
}

std::optional<Strided> strided(void* data, ScalarType type, const std::vector<int64_t>& shape,
                               std::vector<int64_t> strides) {
  Strided out{.type = type, .shape = shape, .strides = std::move(strides)};
  if (out.strides.empty() && !shape.empty()) {
    out.strides.assign(shape.size(), 1);
    for (size_t d = shape.size() - 1; d-- > 0;) {
      if (__builtin_mul_overflow(out.strides[d + 1], std::max<int64_t>(shape[d + 1], 1), &out.strides[d])) {
        return std::nullopt;
      }
    }
  }
  int64_t low = 0, high = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    int64_t reach = 0;
    if (shape[d] > 0 && __builtin_mul_overflow(out.strides[d], shape[d] - 1, &reach)) return std::nullopt;
    int64_t& end = reach < 0 ? low : high;
    if (__builtin_add_overflow(end, reach, &end)) return std::nullopt;
  }
  if (bits(out) < 8) low -= low % 2 != 0;  // begin at a whole byte
  int64_t span = 0;
  if (__builtin_sub_overflow(high, low, &span) || span > INT64_MAX / 8 - 1) return std::nullopt;
  out.first = -low;
  out.begin = static_cast<std::byte*>(data) + low * bits(out) / 8;
  out.bytes = elements(shape) == 0 ? 0 : byte_size(type, span + 1);
  return out;
}

bool contiguous(const Strided& v) {
  int64_t expected = 1;
  for (size_t d = v.shape.size(); d-- > 0;) {
    if (v.shape[d] != 1 && v.strides[d] != expected) return false;
    expected *= v.shape[d];
  }
  return v.first == 0;
}

std::vector<std::byte> gather(const Strided& v) {
  std::vector<std::byte> out(static_cast<size_t>(byte_size(v.type, elements(v.shape))));
  int64_t i = 0;
  each(v, [&](int64_t offset) { store_bits(v.type, out.data(), i++, load_bits(v.type, v.begin, offset)); });
  return out;
}

void scatter(const Strided& v, const std::byte* data) {
  int64_t i = 0;
  each(v, [&](int64_t offset) { store_bits(v.type, v.begin, offset, load_bits(v.type, data, i++)); });
}

bool overlap(const Strided& a, const Strided& b) {
  std::less<const std::byte*> before;
  const std::byte* begin = std::max<const std::byte*>(a.begin, b.begin, before);
  const std::byte* end = std::min<const std::byte*>(a.begin + a.bytes, b.begin + b.bytes, before);
  if (!before(begin, end)) return false;
  if (contiguous(a) && contiguous(b)) return true;
  std::vector<bool> touched(static_cast<size_t>(end - begin));
  auto bytes = [&](const Strided& v, auto visit) {
    int64_t width = std::max(bits(v) / 8, 1);
    each(v, [&](int64_t offset) {
      const std::byte* at = v.begin + offset * bits(v) / 8;
      for (int64_t k = 0; k < width; ++k) {
        if (!before(at + k, begin) && before(at + k, end)) visit(static_cast<size_t>(at + k - begin));
      }
    });
  };
  bytes(a, [&](size_t k) { touched[k] = true; });
  bool found = false;
  bytes(b, [&](size_t k) { found |= touched[k]; });
  return found;
}

bool overlaps_itself(const Strided& v) {
  if (elements(v.shape) < 2) return false;
  // Almost all views nest: each stride steps over all that the smaller ones reach.
  std::vector<std::pair<int64_t, int64_t>> axes;  // stride, size
  for (size_t d = 0; d < v.shape.size(); ++d) {
    if (v.shape[d] > 1) axes.emplace_back(std::abs(v.strides[d]), v.shape[d]);
  }
  std::ranges::sort(axes);
  if (axes.front().first == 0) return true;
  int64_t reach = 0;
  bool nested = true;
  for (auto [stride, size] : axes) {
    nested &= stride > reach;
    reach += stride * (size - 1);
  }
  if (nested) return false;
  std::vector<bool> touched(static_cast<size_t>(reach) + 1 + static_cast<size_t>(v.first));
  bool found = false;
  each(v, [&](int64_t offset) {
    found |= touched[static_cast<size_t>(offset)];
    touched[static_cast<size_t>(offset)] = true;
  });
  return found;
}

}  // namespace quern::internal
