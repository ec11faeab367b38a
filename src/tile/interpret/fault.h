// What ends a run: a promise of the level that does not hold. Thrown inside interpret/ only.
#pragma once

#include <string>

#include "base/diagnostic.h"

namespace quern::tile {

struct Fault {
  Diagnostic diagnostic;
};

// B002 with `what`.
[[noreturn]] void fault(std::string what);
// E716: an array of so many elements.
[[noreturn]] void too_large(std::string what);

// Elements that one array may have.
inline constexpr int64_t kMostElements = int64_t{1} << 28;

}  // namespace quern::tile
