// A checked kernel: what was written with every name resolved, functions expanded in place, ranges explicit, kinds
// known. Everything behind the front end reads this and nothing else; it does not change when sizes are bound.
//
// Meaning. Tensors are the parameters and results; locals are functions on their domain (evaluated where they are
// read, stored only if somebody decides so); updates define and change results and inout tensors. A parameter on the
// right, also inout, is its value before the kernel; a result on the right is its value after its last update. An
// update's instances are independent: order of text is not order of execution, except that an update which reads a
// result comes after the updates that write it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "expr/module.h"
#include "expr/node.h"

namespace quern::expr {

enum class Role : uint8_t { kParameter, kInout, kResult };

struct Tensor {
  Symbol name;
  ElementType type;
  std::vector<NodePtr> shape;  // dimension expressions (kDimension, kInteger, arithmetic); empty: one element
  Role role = Role::kParameter;
  NodePtr value;  // default of a scalar parameter, first value of a result; or null
  Span span;

  int rank() const { return static_cast<int>(shape.size()); }
  bool scalar() const { return shape.empty() && role == Role::kParameter; }  // passed by value
};

// The range of an index: [lo, hi). A dimension's lo is null (0) and its hi a dimension expression.
struct Domain {
  NodePtr lo;
  NodePtr hi;
  bool dimension = true;  // false: a bound, that may depend on other indices and on data
};

struct Local {
  Symbol name;
  std::vector<Binder> binders;  // one a subscript; bounds may use earlier ones and data
  std::vector<bool> dimension;  // for each binder: its range is a whole dimension
  NodePtr value;                // null: had an error, which was reported
  Kind kind = Kind::kUnknown;
  std::optional<ElementType> type;  // annotated: rounded to it, once
  Span span;
};

// y[subscripts] = value, or += value, for every instance of the binders that passes the filter.
struct Update {
  int32_t tensor = -1;
  std::vector<Binder> binders;      // `for` first, then the left side's own, left to right
  NodePtr filter;                   // or null
  std::vector<NodePtr> subscripts;  // one a dimension; kIndex for a plain one
  NodePtr value;
  bool add = false;
  bool total = false;  // defines every element of its tensor, each once
  Span span;
};

// How a dimension gets its number: from axis `axis` of `tensor`, whose size is scale * N + offset; or from the caller.
struct Dimension {
  Symbol name;
  bool given = false;    // listed in brackets
  bool dynamic = false;  // dyn
  NodePtr value;         // default of a given one, or null
  int32_t tensor = -1;   // solved from this parameter …
  int32_t axis = -1;
  Span span;
};

struct TypeVariable {
  Symbol name;
  bool given = false;
  std::optional<ElementType> value;  // default
  Span span;
};

struct Program {
  Symbol name;
  std::string documentation;
  std::vector<Dimension> dimensions;  // in the order in which they can be solved
  std::vector<TypeVariable> types;
  std::vector<Tensor> tensors;  // parameters, then results
  std::vector<Local> locals;    // each reads only earlier ones
  std::vector<Update> updates;  // in the order of the text
  std::vector<Symbol> indices;  // name of each index id
  Span span;
  std::vector<SourcePtr> sources;  // what the spans point into

  const Tensor* find_tensor(Symbol name) const;
  const Dimension* find_dimension(Symbol name) const;
};

// The local of a function that a kWithin reads, as it was written.
inline std::string within_name(const Node& node) {
  std::string_view text = node.span.text();
  return std::string(text.empty() ? "a local" : text.substr(0, text.find('[')));
}

// A checked program as a kernel of the notation again: functions expanded, every range explicit, indices renamed
// where an inner one would hide an outer one. Checking it gives an equal program (a test).
Kernel to_kernel(const Program& program);

}  // namespace quern::expr
