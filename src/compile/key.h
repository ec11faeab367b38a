// When compiled code may be used again: everything that decides it, as text.
#pragma once

#include <string>

#include "backend/backend.h"
#include "compile/target_device.h"
#include "tile/machine.h"

namespace quern::compile {

// Versions of Quern and LLVM, the processor, options, sizes, types and the text that the kernel came from, imports
// included (so that places in the code's reports are right). Equal keys, equal code.
std::string key_of(const backend::Request& request, const TargetDevice& device, const tile::Machine& machine);

}  // namespace quern::compile
