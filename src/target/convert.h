// Casts between element types as IR, by the notation's rules and bit for bit as base/scalar_type.h does them (a NaN is
// any NaN). How an element lies in a register:
//   f64, f32            as themselves
//   f16, bf16           i16, f8 and f4 i8: the bits
//   i64                 i64, or i32 where its value is known to fit (vectors)
//   i32 u32 i16 i8 u8   integers of that width; i4, u4 the nibble in an i8, high bits zero
//   bool                i1 (in memory a byte)
#pragma once

#include "base/scalar_type.h"
#include "target/features.h"
#include "target/ir_text.h"

namespace quern::target {

Base register_base(ScalarType type);
Base memory_base(ScalarType type);  // 4-bit types: i8

// `value` has element type `from` and the form above; so has the result. A result of type i64 in lanes is i32 where
// `from` fits that.
Value convert(Writer& w, const Features& has, const Value& value, ScalarType from, ScalarType to);
// An i64 value as i32 or i64 lanes; the caller knows that it fits.
Value as_integer(Writer& w, const Value& value, Base base);
// A constant of any element type.
Value element_constant(ScalarType type, double real, int64_t integer, int lanes);

}  // namespace quern::target
