// Scalars of a kernel, from the command line or from their defaults, as arrays of one element.
#pragma once

#include <string>

#include "array/array.h"
#include "expr/program.h"

namespace quern::cli {

// Decimal or hexadecimal whole numbers for integers, anything strtod takes (also inf, nan) for reals, true and false
// (or 1 and 0) for bools; E714 for anything else, and for numbers that the type doesn't hold.
Result<array::Array> scalar_from_text(const expr::Tensor& tensor, ScalarType type, const std::string& text);

bool is_number(const std::string& text);

// The default's value.
Result<array::Array> scalar_from_default(const expr::Tensor& tensor, ScalarType type);

// Six digits; a NaN has no sign, which would depend on the machine.
std::string real_text(double value);

// As it is shown: "0.5", "7", "true".
std::string element_text(const array::Array& array, int64_t index);

}  // namespace quern::cli
