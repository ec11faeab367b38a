#include "base/scalar_type.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace quern {
namespace {

// A binary floating-point format below 32 bits, and how it treats the top of its range.
struct Format {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  enum Top { kIeee, kNanOnly, kFinite } top;  // inf and nan / S.1111.111 is nan / every code is finite
  bool saturates;
};

constexpr Format kF16{5, 10, 15, Format::kIeee, false};
constexpr Format kBf16{8, 7, 127, Format::kIeee, false};
constexpr Format kE4m3{4, 3, 7, Format::kNanOnly, true};
constexpr Format kE5m2{5, 2, 15, Format::kIeee, true};
constexpr Format kE2m1{2, 1, 1, Format::kFinite, true};

const Format* format_of(ScalarType type) {
  switch (type) {
    case ScalarType::f16: return &kF16;
    case ScalarType::bf16: return &kBf16;
    case ScalarType::f8e4m3: return &kE4m3;
    case ScalarType::f8e5m2: return &kE5m2;
    case ScalarType::f4e2m1: return &kE2m1;
    default: return nullptr;
  }
}

uint64_t sign_bit(const Format& f) { return uint64_t{1} << (f.exponent_bits + f.mantissa_bits); }

uint64_t nan_bits(const Format& f) {
  uint64_t exponent = ((uint64_t{1} << f.exponent_bits) - 1) << f.mantissa_bits;
  switch (f.top) {
    case Format::kIeee: return exponent | (uint64_t{1} << (f.mantissa_bits - 1));
    case Format::kNanOnly: return exponent | ((uint64_t{1} << f.mantissa_bits) - 1);
    // No NaN in this format: the largest value, as NVIDIA's cvt.satfinite.e2m1x2 gives (PTX ISA, cvt).
    case Format::kFinite: return exponent | ((uint64_t{1} << f.mantissa_bits) - 1);
  }
  return 0;
}

uint64_t largest_bits(const Format& f) {
  uint64_t exponent = (uint64_t{1} << f.exponent_bits) - 1;
  uint64_t mantissa = (uint64_t{1} << f.mantissa_bits) - 1;
  switch (f.top) {
    case Format::kIeee: return ((exponent - 1) << f.mantissa_bits) | mantissa;
    case Format::kNanOnly: return (exponent << f.mantissa_bits) | (mantissa - 1);
    case Format::kFinite: return (exponent << f.mantissa_bits) | mantissa;
  }
  return 0;
}

double power_of_two(int exponent) { return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52); }

double decode(const Format& f, uint64_t bits) {
  bool negative = bits & sign_bit(f);
  uint64_t magnitude = bits & (sign_bit(f) - 1);
  uint64_t exponent = magnitude >> f.mantissa_bits;
  uint64_t mantissa = magnitude & ((uint64_t{1} << f.mantissa_bits) - 1);
  double value;
  if (f.top == Format::kIeee && exponent == (uint64_t{1} << f.exponent_bits) - 1) {
    value = mantissa ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  } else if (f.top == Format::kNanOnly && magnitude == sign_bit(f) - 1) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else {
    // The numbers below the least normal one have its exponent, without the leading one.
    if (exponent > 0) mantissa |= uint64_t{1} << f.mantissa_bits;
    int weight = std::max(static_cast<int>(exponent), 1) - f.bias - f.mantissa_bits;
    value = static_cast<double>(mantissa) * power_of_two(weight);
  }
  return negative ? -value : value;
}

uint64_t encode(const Format& f, double value) {
  if (std::isnan(value)) return nan_bits(f);
  auto wide = std::bit_cast<uint64_t>(value);
  uint64_t sign = wide >> 63 ? sign_bit(f) : 0;
  uint64_t infinity = ((uint64_t{1} << f.exponent_bits) - 1) << f.mantissa_bits;
  uint64_t too_large = sign | (f.saturates ? largest_bits(f) : infinity);
  int field = static_cast<int>(wide >> 52 & 0x7ff);
  if (field == 0x7ff) return too_large;
  // value = mantissa * 2^(exponent - 52); doubles below the normal ones are far below every format's least number
  int exponent = field - 1023;
  uint64_t mantissa = (wide & ((uint64_t{1} << 52) - 1)) | uint64_t{1} << 52;
  int least = 1 - f.bias;
  int drop = 52 - f.mantissa_bits + std::max(least - exponent, 0);  // bits that are rounded away
  if (drop > 53) return sign;                                       // less than half the least number
  uint64_t units = mantissa >> drop;
  uint64_t rest = mantissa & ((uint64_t{1} << drop) - 1), half = uint64_t{1} << (drop - 1);
  if (rest > half || (rest == half && (units & 1))) ++units;
  // Adding `units` with its leading one to the exponent's field counts it up by one, and so does a carry.
  uint64_t code = (static_cast<uint64_t>(std::max(exponent, least) - least) << f.mantissa_bits) + units;
  return code > largest_bits(f) ? too_large : sign | code;
}

// f8e8m0: a power of two, 2^(byte - 127); 255 is NaN. No sign, no zero: those saturate at 2^-127.
uint64_t encode_e8m0(double value) {
  if (std::isnan(value)) return 255;
  if (!(value > 0)) return 0;
  if (std::isinf(value)) return 254;
  int exponent = 0;
  double mantissa = 2 * std::frexp(value, &exponent);  // 1 <= mantissa < 2, value = mantissa * 2^(exponent - 1)
  int byte = exponent - 1 + 127;
  if (mantissa > 1.5 || (mantissa == 1.5 && (byte & 1))) ++byte;
  return static_cast<uint64_t>(std::clamp(byte, 0, 254));
}

constexpr Kind real = Kind::kReal, integer = Kind::kInt, boolean = Kind::kBool;
constexpr TypeRow kRows[] = {
#define QUERN_TYPE(name, kind, bits, npy) \
  {ScalarType::name, ScalarType::name == ScalarType::boolean ? "bool" : #name, kind, bits, npy},
#include "base/scalar_type.def"
#undef QUERN_TYPE
};

}  // namespace

const std::vector<TypeRow>& type_rows() {
  static const std::vector<TypeRow> rows(std::begin(kRows), std::end(kRows));
  return rows;
}

const TypeRow& row(ScalarType type) { return kRows[static_cast<size_t>(type)]; }

std::optional<ScalarType> parse_type(std::string_view text) {
  for (const TypeRow& r : type_rows()) {
    if (r.name == text) return r.type;
  }
  return std::nullopt;
}

std::string_view name(Kind kind) {
  switch (kind) {
    case Kind::kInt: return "integer";
    case Kind::kReal: return "real";
    case Kind::kBool: return "bool";
    case Kind::kUnknown: break;
  }
  return "unknown";
}

int64_t byte_size(ScalarType type, int64_t elements) {
  int bits = row(type).bits;
  return bits < 8 ? (elements + 1) / 2 : elements * (bits / 8);
}

double decode_real(ScalarType type, uint64_t bits) {
  switch (type) {
    case ScalarType::f64: return std::bit_cast<double>(bits);
    case ScalarType::f32: return std::bit_cast<float>(static_cast<uint32_t>(bits));
    case ScalarType::f8e8m0:
      return bits == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, static_cast<int>(bits) - 127);
    default: return decode(*format_of(type), bits);
  }
}

int64_t decode_int(ScalarType type, uint64_t bits) {
  if (type == ScalarType::boolean) return bits != 0;
  return wrap_to(type, static_cast<int64_t>(bits));
}

uint64_t encode_real(ScalarType type, double value) {
  switch (type) {
    case ScalarType::f64: return std::bit_cast<uint64_t>(value);
    case ScalarType::f32: return std::bit_cast<uint32_t>(static_cast<float>(value));
    case ScalarType::f8e8m0: return encode_e8m0(value);
    default: return encode(*format_of(type), value);
  }
}

uint64_t encode_int(ScalarType type, int64_t value) {
  if (type == ScalarType::boolean) return value != 0;
  int bits = row(type).bits;
  uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  return static_cast<uint64_t>(value) & mask;
}

double round_to(ScalarType type, double value) {
  if (type == ScalarType::f64) return value;
  if (type == ScalarType::f32) return static_cast<float>(value);
  return decode_real(type, encode_real(type, value));
}

int64_t truncate_to(ScalarType type, double value) {
  if (type == ScalarType::boolean) return value != 0;  // NaN is not 0 either
  if (std::isnan(value)) return 0;
  double least = static_cast<double>(least_int(type));
  double greatest = static_cast<double>(greatest_int(type));  // 2^63 for i64: not representable below, so >= saturates
  if (value <= least) return least_int(type);
  if (value >= greatest) return greatest_int(type);
  return static_cast<int64_t>(value);
}

int64_t wrap_to(ScalarType type, int64_t value) {
  if (type == ScalarType::boolean) return value != 0;
  int bits = row(type).bits;
  if (bits == 64) return value;
  uint64_t low = static_cast<uint64_t>(value) & ((uint64_t{1} << bits) - 1);
  if (least_int(type) < 0 && (low >> (bits - 1))) low |= ~uint64_t{0} << bits;
  return static_cast<int64_t>(low);
}

double unit_roundoff(ScalarType type) {
  switch (type) {
    case ScalarType::f64: return 0;
    case ScalarType::f32: return 0x1p-24;
    case ScalarType::f8e8m0: return 0.5;
    default: return std::ldexp(1.0, -format_of(type)->mantissa_bits - 1);
  }
}

double underflow_error(ScalarType type) {
  switch (type) {
    case ScalarType::f64: return 0;
    case ScalarType::f32: return 0x1p-150;
    case ScalarType::f8e8m0: return 0x1p-127;
    default: return std::ldexp(1.0, -format_of(type)->bias - format_of(type)->mantissa_bits);
  }
}

double largest(ScalarType type) {
  switch (type) {
    case ScalarType::f64: return std::numeric_limits<double>::max();
    case ScalarType::f32: return std::numeric_limits<float>::max();
    case ScalarType::f8e8m0: return 0x1p127;
    default: return decode(*format_of(type), largest_bits(*format_of(type)));
  }
}

int64_t least_int(ScalarType type) {
  switch (type) {
    case ScalarType::u32:
    case ScalarType::u8:
    case ScalarType::u4:
    case ScalarType::boolean: return 0;
    default: return row(type).bits == 64 ? INT64_MIN : -(int64_t{1} << (row(type).bits - 1));
  }
}

int64_t greatest_int(ScalarType type) {
  switch (type) {
    case ScalarType::boolean: return 1;
    case ScalarType::u32:
    case ScalarType::u8:
    case ScalarType::u4: return (int64_t{1} << row(type).bits) - 1;
    default: return row(type).bits == 64 ? INT64_MAX : (int64_t{1} << (row(type).bits - 1)) - 1;
  }
}

uint64_t load_bits(ScalarType type, const void* data, int64_t index) {
  auto bytes = static_cast<const unsigned char*>(data);
  switch (row(type).bits) {
    case 4: return (bytes[index / 2] >> (index % 2 * 4)) & 15;
    case 8: return bytes[index];
    case 16: {
      uint16_t v;
      std::memcpy(&v, bytes + index * 2, 2);
      return v;
    }
    case 32: {
      uint32_t v;
      std::memcpy(&v, bytes + index * 4, 4);
      return v;
    }
    default: {
      uint64_t v;
      std::memcpy(&v, bytes + index * 8, 8);
      return v;
    }
  }
}

void store_bits(ScalarType type, void* data, int64_t index, uint64_t bits) {
  auto bytes = static_cast<unsigned char*>(data);
  switch (row(type).bits) {
    case 4: {
      unsigned char& byte = bytes[index / 2];
      byte = index % 2 ? static_cast<unsigned char>((byte & 0x0f) | (bits << 4))
                       : static_cast<unsigned char>((byte & 0xf0) | (bits & 15));
      break;
    }
    case 8: bytes[index] = static_cast<unsigned char>(bits); break;
    case 16: {
      auto v = static_cast<uint16_t>(bits);
      std::memcpy(bytes + index * 2, &v, 2);
      break;
    }
    case 32: {
      auto v = static_cast<uint32_t>(bits);
      std::memcpy(bytes + index * 4, &v, 4);
      break;
    }
    default: std::memcpy(bytes + index * 8, &bits, 8);
  }
}

}  // namespace quern
