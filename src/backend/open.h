// Finds and opens the library of the back half, once.
#pragma once

#include "backend/backend.h"

namespace quern::backend {

// Looked for in this order: $QUERN_COMPILER (a path), beside the program and in the library folder next to it (as the
// build and the installation lay it out), where this build put it, and where the system's loader looks. N908 says what
// is wrong: it isn't there, can't be loaded, or is of another version. It is never closed.
Result<const Backend*> open();

}  // namespace quern::backend
