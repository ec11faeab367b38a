// Random kernels that are right: every name bound, every range known, kinds that fit. For the laws of checking.
#pragma once

#include <cstdint>
#include <string>

namespace quern::fuzz {

// The text of a file with one kernel that the checker has to accept, and functions for it to call.
std::string random_kernel(uint64_t seed);

}  // namespace quern::fuzz
