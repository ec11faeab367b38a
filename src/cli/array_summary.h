// What a person wants to see of an array first: its extremes and a few elements.
#pragma once

#include <string>
#include <vector>

#include "array/array.h"

namespace quern::cli {

struct ArraySummary {
  int64_t elements = 0;
  int64_t nans = 0;
  // Of what is not NaN; -1 and NaN if there is nothing.
  int64_t min_at = -1, max_at = -1;
  double mean = 0;
};

ArraySummary summarise(const array::Array& array);

// "min -1.2, max 0.9, mean 0.013", ", 3 nan"
std::string summary_text(const array::Array& array, const ArraySummary& summary);

// Rows in brackets as NumPy prints them, elements aligned; long axes show their ends. `indent` blanks before each line,
// a line break after the last.
std::string elements_text(const array::Array& array, size_t indent);

}  // namespace quern::cli
