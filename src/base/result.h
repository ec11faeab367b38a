// What every fallible function of Quern returns: a value, or the diagnostics that say why there is none.
// Libraries never print, never exit and never throw across a layer; the command line decides what to show.
#pragma once

#include <expected>
#include <utility>
#include <vector>

#include "base/diagnostic.h"

namespace quern {

template <class T>
using Result = std::expected<T, Diagnostics>;

// Shorthand for `return fail(diagnostic);` in a function that returns a Result.
inline std::unexpected<Diagnostics> fail(Diagnostic diagnostic) {
  Diagnostics all;
  all.push_back(std::move(diagnostic));
  return std::unexpected(std::move(all));
}

inline std::unexpected<Diagnostics> fail(Diagnostics diagnostics) { return std::unexpected(std::move(diagnostics)); }

}  // namespace quern
