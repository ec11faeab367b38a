// From what was written to what it means: names resolved, functions expanded, ranges inferred, kinds checked.
//
// Everything here depends on the text alone, never on sizes: a kernel is refused or accepted when it is declared.
// After an error the check goes on with whatever does not depend on it, so that one run reports every independent
// error; what depends on it is left out silently.
#pragma once

#include <climits>
#include <optional>
#include <set>
#include <unordered_map>

#include "expr/module.h"
#include "expr/program.h"

namespace quern::expr {

// A function that may be called, and its place in the order of declaration: a function sees only what is declared
// before it, so what a later file calls alike doesn't change its meaning. Functions are owned by their modules.
struct Callable {
  const Function* function;
  int order;
  bool damaged = false;  // its own check found errors: calls are silent
};

// A constant as a literal node.
struct Known {
  NodePtr value;
  int order;
};

// What the items of a file may use; for each name its declarations in order, of which a later one hides an earlier.
struct Declarations {
  std::unordered_map<Symbol, std::vector<Callable>> functions;
  std::unordered_map<Symbol, std::vector<Known>> constants;
  std::set<Symbol> damaged;  // declared, but their text can't be read: what uses them isn't complained about
  bool incomplete = false;   // a file could not be imported: any unknown name may be in it

  // The last declaration before `order`; null if there is none.
  const Callable* function(Symbol name, int order = INT_MAX) const;
  const Known* constant(Symbol name, int order = INT_MAX) const;
  // Something unknown of this name has been complained about already.
  bool excused(Symbol name) const { return incomplete || damaged.contains(name); }
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
