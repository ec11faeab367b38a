// FILE and FILE:kernel, as every subcommand takes them.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "lang/load.h"

namespace quern::cli {

struct Target {
  std::string file;    // "-" is standard input
  std::string kernel;  // empty: all, or the only one
};

// A file of the whole name wins, so that names with a colon can be opened.
Target parse_target(const std::string& text);

// The file's text; "-" reads standard input. E117, E114.
Result<SourcePtr> read_target(const std::string& file);

// Reads, parses, imports and checks; E117 or E114 if there is nothing to do that with.
Result<lang::Unit> load_target(const Target& target);

// The kernels that the target names, all if it names none; E741.
Result<std::vector<const lang::CheckedKernel*>> select(const lang::Unit& unit, const Target& target);

// The unit's errors without those inside kernels that aren't named.
Diagnostics errors_of(const lang::Unit& unit, const Target& target);

// The one kernel that the target means, which has a program: E742 if there are several, E741 if there is none, else
// its errors.
Result<const lang::CheckedKernel*> select_one(const lang::Unit& unit, const Target& target);

}  // namespace quern::cli
