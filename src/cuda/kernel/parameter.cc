#include "cuda/kernel/parameter.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>

#include "base/scalar_type.h"
#include "base/text.h"

namespace quern::cuda {
namespace {

// The whole text as a T.
template <class T>
std::optional<T> whole(const std::string& text, int base = 10) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> real(const std::string& text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Bits of a whole number in so many bytes, signed or not; empty where it doesn't fit.
std::optional<uint64_t> integer_bits(const std::string& text, size_t bytes) {
  int bits = static_cast<int>(bytes) * 8;
  if (text.starts_with("0x")) {
    auto value = whole<uint64_t>(text.substr(2), 16);
    if (!value || (bits < 64 && *value >> bits)) return std::nullopt;
    return value;
  }
  if (text.starts_with('-')) {
    auto value = whole<int64_t>(text);
    if (!value || *value < -(int64_t{1} << (bits - 1))) return std::nullopt;
    return static_cast<uint64_t>(*value);
  }
  auto value = whole<uint64_t>(text);
  if (!value || (bits < 64 && *value >> bits)) return std::nullopt;
  return value;
}

std::optional<uint64_t> float_bits(const std::string& text, size_t bytes, bool bf16) {
  auto value = real(text);
  if (!value) return std::nullopt;
  uint64_t bits = 0;
  if (bytes == 8) {
    std::memcpy(&bits, &*value, 8);
  } else if (bytes == 4) {
    float narrow = static_cast<float>(*value);
    std::memcpy(&bits, &narrow, 4);
  } else {
    bits = encode_real(bf16 ? ScalarType::bf16 : ScalarType::f16, *value);
  }
  return bits;
}

}  // namespace

Result<void> put_number(const ptx::Variable& parameter, const std::string& text, std::span<std::byte> out,
                        const std::string& kernel, size_t index) {
  const ptx::TypeRow& type = ptx::row(parameter.type);
  auto refuse = [&](std::string why) {
    return fail(diagnose(Code::E976, {}, {{"kernel", kernel}, {"why", std::move(why)}}));
  };
  if (!parameter.dims.empty() || parameter.vector > 1 || out.size() > sizeof(uint64_t)) {
    return refuse(fmt::format("argument {} is a struct of {} bytes, which no number is", index, out.size()));
  }
  bool is_float = type.kind == ptx::TypeKind::kFloat;
  std::optional<uint64_t> bits;
  if (!is_float) bits = integer_bits(text, out.size());
  bool may_be_real = is_float || (type.kind == ptx::TypeKind::kBits && out.size() >= 4);
  if (!bits && may_be_real) bits = float_bits(text, out.size(), type.name == "bf16");
  if (!bits) return refuse(fmt::format("argument {} is a {}, '{}' is none", index, type.name, printable(text)));
  std::memcpy(out.data(), &*bits, out.size());
  return {};
}

}  // namespace quern::cuda
