// From what was written to what it means: names resolved, functions expanded, ranges inferred, kinds checked.
//
// Everything here depends on the text alone, never on sizes: a kernel is refused or accepted when it is declared.
// After an error the check goes on with whatever does not depend on it, so that one run reports every independent
// error; what depends on it is left out silently.
#pragma once

#include <map>
#include <optional>
#include <unordered_map>

#include "expr/module.h"
#include "expr/program.h"

namespace quern::expr {

// A function that may be called, and its place in the order of declaration: a function may call only earlier ones.
struct Callable {
  const Function* function;
  int order;
};

// What the items of a file may use: functions, and constants as literal nodes. Functions are owned by their modules.
struct Declarations {
  std::unordered_map<Symbol, Callable> functions;
  std::unordered_map<Symbol, NodePtr> constants;
};

struct Checked {
  std::optional<Program> program;  // set when there was no error
  Diagnostics errors;
};

Checked check(const Kernel& kernel, const Declarations& declarations);

// A function's body with parameters that could be anything.
Diagnostics check(const Callable& function, const Declarations& declarations);

// Evaluates a constant expression over the constants known so far to one literal; E611 if it is none.
Result<NodePtr> fold_constant(const NodePtr& node, const Declarations& declarations);

}  // namespace quern::expr
