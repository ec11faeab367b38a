// Random modules that are well formed and mean nothing: for the laws of printing and parsing.
#pragma once

#include <cstdint>

#include "expr/module.h"

namespace quern::fuzz {

// Every kind of node, item and comment; the same for the same seed.
expr::Module random_syntax(uint64_t seed);

}  // namespace quern::fuzz
