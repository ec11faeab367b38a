// What the objects of quern/notation.h hold: source nodes (expr/node.h) in which an index is still itself (kIndex with
// an id of its own) instead of a name, and the definitions recorded so far. api/notation/build.h names the indices and
// makes the expr::Kernel that the text would have given.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostic.h"
#include "expr/module.h"
#include "quern/kernel.h"
#include "quern/module.h"

namespace quern::internal {

using TensorPtr = std::shared_ptr<TensorState>;

struct Expression {
  expr::NodePtr node;
  std::vector<TensorPtr> tensors;   // those it mentions, each once, in the order of their serial numbers
  std::optional<Diagnostic> fault;  // what can't be a node: too deep, too large; reported when the kernel is checked
};

// A definition, and when it was made: kernels keep the order in which the program ran.
struct Recorded {
  uint64_t sequence = 0;
  expr::Definition definition;
  std::vector<TensorPtr> locals;  // that it reads: it keeps them alive
  std::vector<Symbol> reads;      // names of all tensors that it reads
  std::optional<Diagnostic> fault;
};

// A tensor keeps alive the locals that read it, and a definition those that it reads, but no local keeps alive a tensor
// that isn't one: there are no circles.
struct TensorState {
  uint64_t serial = 0;
  Symbol name;
  bool local = false;
  bool inout = false;
  bool read = false;  // by some definition
  expr::Shaped shaped;
  expr::NodePtr value;              // first value of a result, default of a scalar; or null
  std::optional<Diagnostic> fault;  // of its shape or value
  std::vector<Recorded> definitions;
  std::vector<TensorPtr> readers;                 // not of a local: locals whose definitions lead to this tensor
  std::vector<std::weak_ptr<TensorState>> roots;  // of a local: the tensors it leads to
};

struct EmbeddedKernel {
  Symbol name;
  std::vector<std::string> documentation;  // lines
  Parameters parameters;
  Results results;
};

// The doors into the public classes.
struct Access {
  static const Expression& of(const Expr& e) { return *e.expression_; }
  static const TensorPtr& of(const Tensor& t) { return t.state_; }
  static const auto& of(const Parameter& p) { return p.what_; }
  static const std::shared_ptr<KernelState>& of(const Kernel& k) { return k.state_; }

  template <class E = Expr>
  static E wrap(Expression e) {
    return E(std::make_shared<const Expression>(std::move(e)));
  }
  static Kernel wrap(std::shared_ptr<KernelState> state) { return Kernel(std::move(state)); }
  static Module module(std::shared_ptr<const ModuleState> state) { return Module(std::move(state)); }
  static const auto& of(const Module& m) { return m.state_; }
  static Program program(std::shared_ptr<const ProgramState> state) { return Program(std::move(state)); }
  static const ArgumentsState& of(const Arguments& a) { return *a.state_; }

  static expr::Binder binder(const Range& range, Expression& into);
  // A subscript: a binder on the left, an expression elsewhere.
  static expr::Definition::Left left(const Subscript& s, Expression& into);
  static expr::NodePtr right(const Subscript& s, Expression& into);
};

// Adds what `part` mentions, and its fault, to `whole`.
void absorb(Expression& whole, const Expression& part);

// A node over parts; a fault (E113, E118) where it would be too deep or too large.
Expression combine(expr::Node node, const std::vector<const Expression*>& parts);
Expression combine(expr::Op op, const std::vector<Expr>& parts);

// A new index. `gives_way`: its name is changed where another thing of the kernel has it.
expr::IndexId new_index(bool gives_way);
bool gives_way(expr::IndexId id);

expr::ElementType element_type(const Type& type);

// Does `function` of the prelude give a value for each index of its range (softmax), or one for all (logsumexp)?
bool one_for_each(Symbol function);

void record(const TensorPtr& tensor, Expression mentions, expr::Definition definition);

}  // namespace quern::internal
