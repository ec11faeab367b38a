// NAME=value of --dim and --type, and whole numbers of other options.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/symbol.h"
#include "cli/command_line.h"
#include "expr/bind.h"

namespace quern::cli {

// Sizes and types of the command line. E740 malformed or given twice, E711 negative.
Result<expr::Request> parse_settings(const CommandLine& line);

// E712 for each name that no program has; `whose` is the kernel's name, or the file's.
Diagnostics unknown_settings(const expr::Request& settings, const std::vector<const expr::Program*>& programs,
                             const std::string& whose);

// What of it the program has.
expr::Request settings_for(const expr::Request& settings, const expr::Program& program);

// Decimal, in [least, greatest]; E740 names the option and the limits. Absent stays absent.
Result<std::optional<uint64_t>> parse_count(const CommandLine& line, const char* option,
                                            const std::optional<std::string>& text, uint64_t least, uint64_t greatest);

}  // namespace quern::cli
