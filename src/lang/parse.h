// The text notation: one recursive descent pass over the tokens, by the grammar of docs/notation.md. No symbol table:
// `name[…]` followed by `(` is a call and its brackets hold binders, else a subscript; `max[` reduces, `max(` compares.
// After an error the parser goes on at the next definition or item, so that one run reports every independent error.
#pragma once

#include "base/result.h"
#include "expr/module.h"

namespace quern::lang {

// What could be read, and what could not. The module's items are complete apart from definitions without a value.
struct Parsed {
  expr::Module module;
  Diagnostics errors;
};

Parsed parse(SourcePtr source);

// The same as a value or errors, for callers who need the whole.
Result<expr::Module> parse_module(SourcePtr source);

// One expression, such as a dimension or a constant on a command line; the whole text must be one.
Result<expr::NodePtr> parse_expression(SourcePtr source);

}  // namespace quern::lang
