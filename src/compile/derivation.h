// What `quern derive` prints: for each definition of a kernel, how its chains of reductions become passes.
#pragma once

#include <string>

#include "backend/backend.h"

namespace quern::compile {

// The algebra step by step, a paragraph for each index over which a definition has two reductions or more; where there
// is none it says so. What can't be derived is told with its reason.
Result<std::string> derivation(const backend::Request& request);

}  // namespace quern::compile
