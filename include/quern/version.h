// Which Quern this is, asked of the library that was linked.
#pragma once

namespace quern {

// "0.1.0": major, minor, patch, as in the package that find_package(quern) found. Lives as long as the process.
const char* version();

}  // namespace quern
