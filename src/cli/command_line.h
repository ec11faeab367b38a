// The command line as a plain struct, and the only place that knows CLI11 (which is slow to compile). Values are kept
// as they were typed: what they mean is for whoever uses them, so that every message is ours.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace quern::cli {

struct CommandLine {
  std::string command;  // empty: `text` (help, or the version) is all that was asked for
  std::string text;

  std::string color = "auto";
  std::vector<std::string> targets;     // FILE[:kernel], or FILE; exec: a program or file
  std::vector<std::string> arguments;   // run: name=value, or an archive; exec: the program's own
  std::vector<std::string> dimensions;  // NAME=size
  std::vector<std::string> types;       // NAME=type
  std::optional<std::string> seed, device, output, threads, level, cases;
  std::optional<std::string> checks, operands, schedule, vectors;                                // for the compiler
  std::optional<std::string> chip, memory_checks, order, devices, timeout, grid, block, shared;  // exec
  bool json = false;
  bool bounds = false;         // run
  bool remarks = false;        // run, check
  bool deterministic = false;  // run
  bool verbose = false;        // check
  bool language_only = false;  // check
  bool check = false;          // format
};

// E740 if it can't be understood, with the nearest command or option for a misspelt one.
Result<CommandLine> parse_command_line(int argc, const char* const* argv);

// E740; `command` may be empty.
Diagnostic usage_error(const std::string& command, std::string what);

}  // namespace quern::cli
