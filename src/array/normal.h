// The inverse of the standard normal distribution in arithmetic that every IEEE machine does alike.
#pragma once

#include <cstdint>

namespace quern::array {

// x such that a normal number is below x with probability p, 0 < p < 1; relative error below 1e-14.
double normal_quantile(double p);

// The quantile at (word + 1/2) * 2^-32: within +-6.34, symmetric, never 0.
double normal_from_word(uint32_t word);

}  // namespace quern::array
