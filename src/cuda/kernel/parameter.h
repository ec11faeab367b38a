// A number of the command line as the bytes of a kernel's parameter.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/result.h"
#include "ptx/module.h"

namespace quern::cuda {

// Whole numbers for integer and untyped parameters (a .b32 or .b64 also takes a real one, which then is a float of that
// width), reals for floats. E976: it is no number, or does not fit; `kernel` and `index` (from 1) are for the message.
Result<void> put_number(const ptx::Variable& parameter, const std::string& text, std::span<std::byte> out,
                        const std::string& kernel, size_t index);

}  // namespace quern::cuda
