// What `--json` prints: one object a line, described field by field in docs/json.md (a test compares the two). Numbers
// that JSON lacks are the strings "nan", "inf" and "-inf".
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "lang/load.h"

namespace quern::cli {

// Version of all objects; it grows when a field changes its meaning or goes away.
inline constexpr int kJsonVersion = 1;

std::string list_json(const std::string& file, const std::vector<const lang::CheckedKernel*>& kernels,
                      const Diagnostics& diagnostics);

std::string emit_json(const std::string& file, const std::string& kernel, const std::string& level,
                      const Result<std::string>& text);

std::string derive_json(const std::string& file, const std::string& kernel, const Result<std::string>& text);

}  // namespace quern::cli
