// What a subcommand has to say: text for standard output, and diagnostics for standard error.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace quern::cli {

struct Report {
  std::string out;
  Diagnostics diagnostics;
  std::string found;  // by a kernel that ran, for standard error: exit code 1
  bool json = false;  // diagnostics are in `out` already: they only decide the exit code

  void add(Diagnostic diagnostic) { diagnostics.push_back(std::move(diagnostic)); }
  void add(Diagnostics more);
};

// So many diagnostics are shown; "… and N more" says how many are not.
inline constexpr size_t kShownDiagnostics = 100;

// Errors before remarks, at most kShownDiagnostics, and the number of errors if there are several.
std::string diagnostics_text(const Diagnostics& diagnostics, bool color);

// Prints the report and gives the exit code; E730 if standard output can't be written.
int show(const Report& report, bool color);

// False, with errno, if not all could be written.
bool write_all(int file, std::string_view text);

}  // namespace quern::cli
