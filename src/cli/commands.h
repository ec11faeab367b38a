// The subcommands, one row each. All take the parsed command line and fill a report; none prints.
#pragma once

#include <span>
#include <string_view>

#include "cli/command_line.h"
#include "cli/report.h"

namespace quern::cli {

struct Command {
  std::string_view name;
  void (*run)(const CommandLine& line, Report& report);
};

void run_kernel(const CommandLine& line, Report& report);     // run.cc
void check_files(const CommandLine& line, Report& report);    // check.cc
void format_files(const CommandLine& line, Report& report);   // format.cc
void list_kernels(const CommandLine& line, Report& report);   // list.cc
void emit_kernel(const CommandLine& line, Report& report);    // emit.cc
void derive_kernel(const CommandLine& line, Report& report);  // derive.cc
void bench_kernel(const CommandLine& line, Report& report);   // bench.cc
void list_devices(const CommandLine& line, Report& report);   // devices.cc
void exec_cuda(const CommandLine& line, Report& report);      // exec.cc

inline constexpr Command kCommands[] = {
    {"run", run_kernel},     {"check", check_files},    {"format", format_files},
    {"list", list_kernels},  {"emit", emit_kernel},     {"derive", derive_kernel},
    {"bench", bench_kernel}, {"devices", list_devices}, {"exec", exec_cuda},
};

constexpr const Command* find_command(std::string_view name) {
  for (const Command& c : kCommands) {
    if (c.name == name) return &c;
  }
  return nullptr;
}

}  // namespace quern::cli
