// What the command line says to the compiler, and the compiler itself, opened on first use.
#pragma once

#include "backend/open.h"
#include "cli/command_line.h"
#include "expr/bind.h"
#include "lang/load.h"

namespace quern::cli {

// --checks, --operands, --deterministic, --schedule, --vectors. E740 for values that they don't have.
Result<backend::Options> compile_options(const CommandLine& line);

// A kernel of the command line with its sizes, ready for the compiler.
struct CompileTarget {
  lang::Unit unit;
  const expr::Program* program = nullptr;
  expr::Binding binding;
};

// FILE[:kernel] with --dim and --type; what loading, binding and proving say.
Result<CompileTarget> compile_target(const CommandLine& line);

}  // namespace quern::cli
