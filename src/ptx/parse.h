// Text of a PTX module to its checked structure: what nvcc, NVRTC, clang, LLVM and Triton write, and people. Blocks are
// flattened, names resolved, constants computed; DWARF is read only for the names of inlined functions. Every
// instruction is verified (ptx/verify.h).
//
// The text may be hostile: nothing recurses without bound, sizes are limited before memory is taken, and the time is
// linear in the length. Up to twenty errors are reported.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "ptx/module.h"

namespace quern::ptx {

// `name` is what messages call the text: a path, or what a loader knows it by. NUL bytes at its end are left out.
Result<Module> parse(std::string_view text, std::string name);

}  // namespace quern::ptx
