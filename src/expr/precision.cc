#include "expr/precision.h"

namespace quern::expr {

bool Precisions::wide(const NodePtr& node) {
  if (node->kind != Kind::kReal && row(*node).family != Family::compare) return false;
  if (auto at = known_.find(node.get()); at != known_.end()) return at->second;
  return known_[node.get()] = compute(node);
}

bool Precisions::compute(const NodePtr& node) {
  if (node->op == Op::kRead) {
    return binding_.type(program_.tensors[static_cast<size_t>(node->id)].type) == ScalarType::f64;
  }
  if (node->op == Op::kLocal) {
    const Local& l = program_.locals[static_cast<size_t>(node->id)];
    return l.type ? binding_.type(*l.type) == ScalarType::f64 : wide(l.value);
  }
  if (row(*node).family == Family::cast) return binding_.type(node->type) == ScalarType::f64;
  for (size_t i = 0; i < node->args.size(); ++i) {
    bool condition = node->op == Op::kSelect && i == 1;
    if (!condition && node->args[i]->kind == Kind::kReal && wide(node->args[i])) return true;
  }
  return false;
}

}  // namespace quern::expr
