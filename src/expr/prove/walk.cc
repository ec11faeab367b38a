#include "expr/prove/walk.h"

namespace quern::expr {

void ScopeWalk::walk_program() {
  for (const Local& l : program_.locals) {
    auto outside = scope_.mark();
    enter(l.binders);
    walk(l.value);
    leave(outside);
  }
  for (const Update& u : program_.updates) walk_update(u);
}

void ScopeWalk::walk_update(const Update& u) {
  auto outside = scope_.mark();
  enter(u.binders);
  if (u.filter) {
    walk(u.filter);
    scope_.assume(u.filter, true);
  }
  const Tensor& t = program_.tensors[u.tensor];
  for (size_t i = 0; i < u.subscripts.size(); ++i) {
    walk(u.subscripts[i]);
    subscript({u.subscripts[i], t.name, static_cast<int>(i), Linear::number(0), scope_.linear(t.shape[i]), true,
               !u.total && !u.add, false});
  }
  walk(u.value);
  leave(outside);
}

void ScopeWalk::leave(const ProofScope::Mark& mark) {
  scope_.restore(mark);
  left(mark);
}

void ScopeWalk::enter(const std::vector<Binder>& binders) {
  for (const Binder& b : binders) {
    if (b.lo) walk(b.lo);
    walk(b.hi);
    scope_.enter(b);
    entered(b);
  }
}

void ScopeWalk::walk(const NodePtr& node) {
  switch (row(*node).family) {
    case Family::literal:
    case Family::resolved: return;
    case Family::select: {
      walk(node->args[1]);
      auto outside = scope_.mark();
      scope_.assume(node->args[1], true);
      walk(node->args[0]);
      leave(outside);
      scope_.assume(node->args[1], false);
      walk(node->args[2]);
      leave(outside);
      return;
    }
    case Family::logic: {
      walk(node->args[0]);
      auto outside = scope_.mark();
      scope_.assume(node->args[0], node->op == Op::kAnd);
      walk(node->args[1]);
      leave(outside);
      return;
    }
    case Family::reduction: {
      auto outside = scope_.mark();
      enter(node->binders);
      walk(node->args[0]);
      leave(outside);
      return;
    }
    case Family::read:
      for (const NodePtr& arg : node->args) walk(arg);
      subscripts_of_read(node);
      return read(node);
    case Family::within: {
      // A function's local, read inside its range only.
      for (size_t i : {1, 2, 3}) walk(node->args[i]);
      const NodePtr &at = node->args[1], &lo = node->args[2], &hi = node->args[3];
      subscript({at, Symbol(within_name(*node)), 0, scope_.linear(lo), scope_.linear(hi), false, false, true});
      auto outside = scope_.mark();
      scope_.assume(make_op(Op::kLe, {lo, at}, {}, Kind::kBool), true);
      scope_.assume(make_op(Op::kLt, {at, hi}, {}, Kind::kBool), true);
      walk(node->args[0]);
      leave(outside);
      return;
    }
    default:
      for (const NodePtr& arg : node->args) walk(arg);
  }
}

void ScopeWalk::subscripts_of_read(const NodePtr& node) {
  if (node->op == Op::kRead) {
    const Tensor& t = program_.tensors[node->id];
    for (size_t i = 0; i < node->args.size(); ++i) {
      subscript({node->args[i], t.name, static_cast<int>(i), Linear::number(0), scope_.linear(t.shape[i]), false, false,
                 false});
    }
    return;
  }
  // A local's range, with the subscripts at hand for its indices.
  const Local& l = program_.locals[node->id];
  std::vector<std::pair<IndexId, Linear>> here;
  for (size_t i = 0; i < node->args.size(); ++i) {
    const Binder& b = l.binders[i];
    Linear lo = b.lo ? scope_.linear_with(b.lo, here) : Linear::number(0);
    Linear hi = scope_.linear_with(b.hi, here);
    subscript({node->args[i], l.name, static_cast<int>(i), lo, hi, false, false, true});
    here.emplace_back(b.id, scope_.linear(node->args[i]));
  }
}

}  // namespace quern::expr
