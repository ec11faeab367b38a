// Diagnostics as the public errors.
#pragma once

#include <expected>

#include "base/diagnostic.h"
#include "quern/error.h"

namespace quern::internal {

Errors errors_of(const Diagnostics& diagnostics);

inline std::unexpected<Errors> refuse(const Diagnostics& diagnostics) {
  return std::unexpected(errors_of(diagnostics));
}

}  // namespace quern::internal
