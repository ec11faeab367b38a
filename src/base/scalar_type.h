// Element types and their exact conversions: how bits become numbers, and how numbers round into bits.
// Rules are those of the notation, section 6: to f16, bf16 and f32 round to nearest even, overflow to infinity; to
// 8-bit and 4-bit floats round to nearest even and saturate; real to integer truncates toward zero and saturates, NaN
// gives 0; integer to integer keeps the low bits. 8-bit and 4-bit formats follow the OCP OFP8 (rev 1.0) and MX (v1.0)
// specifications.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace quern {

enum class Kind : uint8_t { kUnknown, kInt, kReal, kBool };

enum class ScalarType : uint8_t {
#define QUERN_TYPE(name, kind, bits, npy) name,
#include "base/scalar_type.def"
#undef QUERN_TYPE
};

struct TypeRow {
  ScalarType type;
  std::string_view name;  // as the notation writes it ("bool", not "boolean")
  Kind kind;
  int bits;
  std::string_view npy;
};

const std::vector<TypeRow>& type_rows();
const TypeRow& row(ScalarType type);
inline std::string_view name(ScalarType type) { return row(type).name; }
inline Kind kind(ScalarType type) { return row(type).kind; }
std::optional<ScalarType> parse_type(std::string_view name);
std::string_view name(Kind kind);  // "integer", "real", "bool"

// Bytes that `elements` consecutive elements take; elements * bits must not overflow (callers check sizes first).
int64_t byte_size(ScalarType type, int64_t elements);

// One element from its bits (right-aligned in the word). Reals: exact in double.
double decode_real(ScalarType type, uint64_t bits);
int64_t decode_int(ScalarType type, uint64_t bits);

// One element to bits, by the conversion rules above. `type` must be of the right kind.
uint64_t encode_real(ScalarType type, double value);
uint64_t encode_int(ScalarType type, int64_t value);  // keeps low bits

// The value a cast t(x) or a store yields.
double round_to(ScalarType type, double value);      // real type
int64_t truncate_to(ScalarType type, double value);  // real to integer: truncates, saturates, NaN to 0; to bool: != 0
int64_t wrap_to(ScalarType type, int64_t value);     // integer type: low bits, sign-extended where signed

// Unit roundoff of a real type, half an ulp relative: 2^-24 for f32. 0 for f64 in this model (the truth is f64).
double unit_roundoff(ScalarType type);
// Half the least subnormal: the absolute error that rounding near zero may add.
double underflow_error(ScalarType type);
double largest(ScalarType type);  // largest finite value of a real type
int64_t least_int(ScalarType type);
int64_t greatest_int(ScalarType type);

// Element `index` of packed memory, any type up to 64 bits.
uint64_t load_bits(ScalarType type, const void* data, int64_t index);
void store_bits(ScalarType type, void* data, int64_t index, uint64_t bits);

}  // namespace quern
