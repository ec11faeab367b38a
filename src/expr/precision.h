// In which precision a real is computed: f64 where an operand is, else f32 (docs/notation.md, kinds). A property of the
// text and the types bound to it, never of the values: a branch that no size ever takes is an operand too.
#pragma once

#include <unordered_map>

#include "expr/bind.h"
#include "expr/program.h"

namespace quern::expr {

class Precisions {
 public:
  // Both must outlive this.
  Precisions(const Program& program, const Binding& binding) : program_(program), binding_(binding) {}

  // Is the node a real that is computed in f64? Of a comparison: are its sides?
  bool wide(const NodePtr& node);

 private:
  bool compute(const NodePtr& node);

  const Program& program_;
  const Binding& binding_;
  std::unordered_map<const Node*, bool> known_;
};

}  // namespace quern::expr
