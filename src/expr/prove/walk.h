// A walk over a whole program that knows what holds at each place, and visits each subscript with the range it must
// stay in, and each read. Branches are entered with their condition, reductions with their ranges, updates with their
// filter.
#pragma once

#include "expr/prove/scope.h"

namespace quern::expr {

struct SubscriptPlace {
  const NodePtr& subscript;
  Symbol tensor;  // the tensor or local
  int axis;
  const Linear& lo;  // must be in [lo, hi)
  const Linear& hi;
  bool write;    // on the left of an update
  bool scatter;  // … that is not a whole definition and does not add
  bool local;
};

class ScopeWalk {
 public:
  ScopeWalk(const Program& program, const Binding& binding) : program_(program), scope_(program, binding) {}
  virtual ~ScopeWalk() = default;
  void walk_program();

 protected:
  virtual void subscript(const SubscriptPlace&) {}
  virtual void entered(const Binder&) {}
  virtual void read(const NodePtr&) {}           // of a tensor or local, after its subscripts
  virtual void left(const ProofScope::Mark&) {}  // the scope is as it was at this mark again

  void enter(const std::vector<Binder>& binders);
  void walk_update(const Update& update);
  void walk(const NodePtr& node);
  void leave(const ProofScope::Mark& mark);

  const Program& program_;
  ProofScope scope_;

 private:
  void subscripts_of_read(const NodePtr& node);
};

}  // namespace quern::expr
