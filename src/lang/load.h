// A file with all it imports, checked: what every command works on.
//
// `import moe` reads `moe.qn` beside the file, then from the library's folders. Names arrive unqualified; two imported
// ones of the same name are an error (E608), the file's own names win. The prelude comes first and may be shadowed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "expr/check.h"
#include "expr/module.h"
#include "expr/program.h"

namespace quern::lang {

struct CheckedKernel {
  const expr::Kernel* kernel = nullptr;
  std::optional<expr::Program> program;  // null: it has errors
};

// Owns every module that its programs point into.
struct Unit {
  std::shared_ptr<const expr::Module> module;                 // the file itself
  std::vector<std::shared_ptr<const expr::Module>> imported;  // the prelude first
  expr::Declarations declarations;
  std::vector<CheckedKernel> kernels;  // of the file itself, in its order
  Diagnostics errors;                  // of all files, each once

  const CheckedKernel* find(std::string_view name) const;
};

struct LoadOptions {
  std::vector<std::string> library;  // folders searched for imports after the file's own
};

// Reads, parses, imports and checks. Errors are in the unit; what could be read is there besides.
Unit load(SourcePtr source, const LoadOptions& options = {});

// The text of prelude.qn.
SourcePtr prelude();

}  // namespace quern::lang
