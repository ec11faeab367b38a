// What `check` found, as text and as JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/compiled_check.h"
#include "cli/kernel_proofs.h"
#include "expr/module.h"

namespace quern::cli {

struct CheckedUnit {
  struct Entry {
    const expr::Kernel* kernel;
    bool refused = false;  // it has errors of the language: nothing was proved
    KernelProofs proofs;
    std::optional<CompiledCheck> compiled = {};  // none: it has errors, or only the language was looked at
  };
  std::string file;
  std::vector<Entry> kernels;
  Diagnostics errors;  // all of them, those of the entries too
};

// A line a kernel, and below it what was compared; with `verbose` each subscript and each case.
std::string check_text(const CheckedUnit& unit, bool verbose);

std::string check_json(const CheckedUnit& unit);

}  // namespace quern::cli
