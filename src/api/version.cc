#include "quern/version.h"

namespace quern {

// QUERN_VERSION comes from project() in the top CMakeLists.txt, the one place that holds it.
const char* version() { return QUERN_VERSION; }

}  // namespace quern
