// A file of the notation as it was written: kernels, functions, constants, imports, with their comments. The parser
// (lang/) and the C++ embedding (api/) make it; expr/print writes it; expr/check turns a kernel into a Program.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/source.h"
#include "expr/node.h"

namespace quern::expr {

// Comment lines without `#` and the blank after it. `blocks` are the groups above an item, separated by blank lines;
// `attached` says that the last of them stands right above (it documents the item); `trailing` is on the item's line.
struct Comments {
  std::vector<std::vector<std::string>> blocks;
  bool attached = false;
  std::vector<std::string> trailing;

  // The text of the block right above, lines joined by blanks; empty if there is none.
  std::string documentation() const;
};

// A dimension or type listed after the kernel's name: `W`, `F = 0`, `U = bf16`, `dyn M`.
struct Given {
  Symbol name;
  bool dynamic = false;
  NodePtr value;                    // default for a dimension, or null
  std::optional<ElementType> type;  // default for a type
  Span span;
};

struct Shaped {
  ElementType type;
  std::vector<NodePtr> shape;  // dimension expressions; empty: a scalar
  Span span;
};

struct Parameter {
  Symbol name;
  Shaped shaped;
  bool inout = false;
  NodePtr value;  // parameter: default of a scalar; result: first value; or null
  Span span;      // the name
};

// One definition or update: `for[…] y[…]: t = e`.
struct Definition {
  std::vector<Binder> loops;  // for[…]
  NodePtr filter;             // … if c
  Symbol name;
  Span name_span;
  struct Left {
    std::optional<Binder> binder;  // a plain index, perhaps with a bound
    NodePtr value;                 // else a computed subscript
  };
  std::vector<Left> left;
  std::optional<ElementType> type;
  Span type_span;
  bool add = false;  // +=
  NodePtr value;     // null: the text was damaged here, which has been reported
  Span span;
  Comments comments;
};

struct Kernel {
  Symbol name;
  Span name_span;
  std::vector<Given> given;
  std::vector<Parameter> parameters;
  std::vector<Parameter> results;
  std::vector<Definition> definitions;
  std::vector<std::vector<std::string>> closing_comments;  // after the last definition
  bool damaged = false;  // some definition could not be read at all: names may be missing
  bool faulty = false;   // its text has an error of any kind, which was reported
  Span span;
  Comments comments;
};

struct Function {
  Symbol name;
  Span name_span;
  std::vector<Symbol> indices;
  std::vector<Span> index_spans;
  struct Formal {
    Symbol name;
    std::vector<Symbol> indices;  // x[i]: may depend on i
    Span span;
  };
  std::vector<Formal> formals;
  bool braces = false;
  std::vector<Definition> definitions;  // of locals, in braces
  NodePtr value;
  Comments return_comments;                                // in braces: above and behind `return`
  std::vector<std::vector<std::string>> closing_comments;  // below it
  Span span;
  Comments comments;
};

struct Constant {
  Symbol name;
  Span name_span;
  NodePtr value;
  Span span;
  Comments comments;
};

struct Import {
  Symbol name;
  Span span;
  Comments comments;
};

using Item = std::variant<Import, Constant, Function, Kernel>;

struct Module {
  SourcePtr source;  // what all spans point into; null for an embedded kernel
  std::vector<Item> items;
  std::vector<Symbol> damaged;  // functions and constants whose text has errors
  std::vector<std::vector<std::string>> closing_comments;
};

// Same tree: everything but spans and comments.
bool equal(const Kernel& a, const Kernel& b);
bool equal(const Module& a, const Module& b);

}  // namespace quern::expr
