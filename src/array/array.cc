#include "array/array.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/text.h"

namespace quern::array {
namespace {

constexpr size_t kAlignment = 64;  // a cache line, and the widest vector of x86

bool is_packed(ScalarType type) { return row(type).bits < 8; }

}  // namespace

int64_t Array::elements() const {
  int64_t product = 1;
  for (int64_t d : shape) product *= d;
  return product;
}

int64_t Array::byte_size() const { return quern::byte_size(type, elements()); }

std::optional<int64_t> checked_byte_size(ScalarType type, std::span<const int64_t> shape) {
  int64_t product = 1;
  bool empty = false;
  for (int64_t d : shape) {
    if (d < 0) return std::nullopt;
    empty |= d == 0;
    if (__builtin_mul_overflow(product, std::max<int64_t>(d, 1), &product)) return std::nullopt;
  }
  if (is_packed(type)) return empty ? 0 : product / 2 + product % 2;
  if (__builtin_mul_overflow(product, int64_t{row(type).bits / 8}, &product)) return std::nullopt;
  return empty ? 0 : product;
}

int64_t memory_limit() {
  static const int64_t limit = [] {
    int64_t pages = ::sysconf(_SC_PHYS_PAGES), size = ::sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? pages * size : int64_t{1} << 40;
  }();
  return limit;
}

Result<Array> make(ScalarType type, std::vector<int64_t> shape, std::string_view what) {
  auto refuse = [&](std::string amount, std::string limit) {
    return fail(diagnose(Code::E716, {}, {{"what", type_text(type, shape)}, {"v", amount}, {"limit", limit}}));
  };
  for (int64_t d : shape) {
    if (d < 0) {
      return fail(
          diagnose(Code::E711, {}, {{"e", "a dimension of " + type_text(type, shape)}, {"v", std::to_string(d)}}));
    }
  }
  if (shape.size() > kMaxRank) {
    auto refused = refuse(fmt::format("{} dimensions", shape.size()), std::to_string(kMaxRank));
    refused.error()[0].remedy = "fewer dimensions";
    return refused;
  }
  if (is_packed(type) && (shape.empty() || shape.back() % 2 != 0)) {
    std::string found = shape.empty() ? "none" : std::to_string(shape.back());
    return fail(diagnose(Code::E512, {}, {{"x", std::string(what)}, {"v", found}}));
  }
  auto bytes = checked_byte_size(type, shape);
  if (!bytes) return fail(diagnose(Code::E710, {}, {{"e", type_text(type, shape)}}));
  std::string amount = human_bytes(static_cast<uint64_t>(*bytes));
  if (*bytes > memory_limit()) return refuse(amount, human_bytes(static_cast<uint64_t>(memory_limit())));
  // calloc asks the kernel for zero pages where the size is large, which costs nothing until they are touched.
  void* base = std::calloc(static_cast<size_t>(*bytes) + kAlignment, 1);
  if (!base) return refuse(amount, "what is free");
  auto owner = std::shared_ptr<void>(base, &std::free);
  size_t skip = (kAlignment - reinterpret_cast<uintptr_t>(base) % kAlignment) % kAlignment;
  std::byte* first = static_cast<std::byte*>(base) + skip;
  return Array{type, std::move(shape), std::shared_ptr<const std::byte>(std::move(owner), first), first};
}

Result<Array> clone(const Array& array) {
  auto copy = make(array.type, array.shape);
  if (copy && array.byte_size() > 0) {
    std::memcpy(copy->owned, array.data(), static_cast<size_t>(array.byte_size()));
  }
  return copy;
}

uint64_t bits_at(const Array& array, int64_t index) { return load_bits(array.type, array.data(), index); }

double real_at(const Array& array, int64_t index) {
  if (kind(array.type) != Kind::kReal) return static_cast<double>(int_at(array, index));
  return decode_real(array.type, bits_at(array, index));
}

int64_t int_at(const Array& array, int64_t index) { return decode_int(array.type, bits_at(array, index)); }

void set_bits(Array& array, int64_t index, uint64_t bits) { store_bits(array.type, array.owned, index, bits); }

void set_real(Array& array, int64_t index, double value) {
  if (kind(array.type) != Kind::kReal) return set_int(array, index, truncate_to(array.type, value));
  set_bits(array, index, encode_real(array.type, value));
}

void set_int(Array& array, int64_t index, int64_t value) {
  if (kind(array.type) == Kind::kReal) return set_real(array, index, static_cast<double>(value));
  set_bits(array, index, encode_int(array.type, value));
}

bool identical(const Array& a, const Array& b) {
  if (a.type != b.type || a.shape != b.shape) return false;
  return a.byte_size() == 0 || std::memcmp(a.data(), b.data(), static_cast<size_t>(a.byte_size())) == 0;
}

std::string shape_text(std::span<const int64_t> shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

std::string type_text(ScalarType type, std::span<const int64_t> shape) {
  return fmt::format("{}[{}]", name(type), fmt::join(shape, ", "));
}

}  // namespace quern::array
