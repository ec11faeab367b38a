// Numbers of source locations.
#pragma once

#include "ptx/module.h"

namespace quern::ptx {

// Makes equal locations one and numbers them as the instructions of the functions, one after another, first have them,
// where a function was inlined before it; what no instruction has is left out.
void number_locations(Module& module);

}  // namespace quern::ptx
