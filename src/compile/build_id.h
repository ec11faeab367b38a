// Which build of the compiler this is: code that another build has left in the cache is not taken for its own.
#pragma once

#include <string>

namespace quern::compile {

// The linker's build id of the program or library that holds this code (the ELF note NT_GNU_BUILD_ID), in hexadecimal;
// empty if it was linked without one.
std::string build_id();

}  // namespace quern::compile
