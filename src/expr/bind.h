// Sizes and types of one call: dimensions solved from the arguments' shapes, defaults filled in, everything compared.
#pragma once

#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "expr/program.h"

namespace quern::expr {

// An argument as far as binding sees it. Without a shape (a tensor that is to be drawn at random) it binds nothing.
struct ArgumentShape {
  ScalarType type;
  std::vector<int64_t> shape;
};

struct Request {
  std::map<Symbol, int64_t> dimensions;       // --dim N=…; any dimension, given or solved
  std::map<Symbol, ScalarType> types;         // --type T=…
  std::map<Symbol, ArgumentShape> arguments;  // tensors that are there; scalars bind nothing
  ScalarType default_type = ScalarType::f32;  // of type variables that nothing decides
};

struct Binding {
  std::unordered_map<Symbol, int64_t> sizes;
  std::unordered_map<Symbol, ScalarType> types;
  std::vector<std::vector<int64_t>> shapes;  // of each tensor of the program

  ScalarType type(const ElementType& type) const;
};

// Errors E701, E702, E704 to E707, E709 to E712, E715, E717, E512. Every size is 0 or more and below 2^63, and so is
// the size in bytes of every tensor. All independent errors are reported.
Result<Binding> bind(const Program& program, const Request& request);

// A dimension expression's value; nullopt when it is not whole, divides by zero or overflows.
std::optional<int64_t> evaluate(const NodePtr& dimension, const std::unordered_map<Symbol, int64_t>& sizes);

}  // namespace quern::expr
