// Tensors, and how a definition is recorded.
#include "quern/tensor.h"

#include <algorithm>
#include <atomic>
#include <unordered_set>

#include "api/notation/recording.h"

namespace quern {
namespace internal {
namespace {

std::atomic<uint64_t> next_serial = 0;
std::atomic<uint64_t> next_sequence = 0;

TensorPtr new_tensor(std::string_view name) {
  auto state = std::make_shared<TensorState>();
  state->serial = next_serial++;
  state->name = Symbol(name);
  return state;
}

// Do the definitions of `from` keep `to` alive?
bool keeps(const TensorState& from, const TensorState& to, std::unordered_set<const TensorState*>& seen) {
  if (&from == &to) return true;
  if (!seen.insert(&from).second) return false;
  return std::ranges::any_of(from.definitions, [&](const Recorded& d) {
    return std::ranges::any_of(d.locals, [&](const TensorPtr& l) { return keeps(*l, to, seen); });
  });
}

bool is_below(const expr::NodePtr& n) { return n->op == expr::Op::kLt || n->op == expr::Op::kLe; }

// The comparisons that the parser takes for a binder on the left, too.
std::optional<expr::Binder> as_binder(const expr::NodePtr& node) {
  using expr::Op;
  expr::Binder b;
  const expr::NodePtr* index = &node;
  if (is_below(node)) {
    index = &node->args[0];
    b.hi = node->args[1];
    b.hi_inclusive = node->op == Op::kLe;
  } else if (node->chain && is_below(node->args[0]) && is_below(node->args[1])) {
    b.lo = node->args[0]->args[0];
    b.lo_strict = node->args[0]->op == Op::kLt;
    index = &node->args[1]->args[0];
    b.hi = node->args[1]->args[1];
    b.hi_inclusive = node->args[1]->op == Op::kLe;
  }
  if ((*index)->op != Op::kIndex) return std::nullopt;
  b.name = (*index)->name;
  b.id = (*index)->id;
  return b;
}

}  // namespace

expr::Definition::Left Access::left(const Subscript& s, Expression& into) {
  if (s.range_) return {binder(*s.range_, into), nullptr};
  const Expression& value = of(*s.value_);
  absorb(into, value);
  if (auto b = as_binder(value.node)) return {b, nullptr};
  return {std::nullopt, value.node};
}

// A range is none of a read's subscripts: it becomes the comparison it is in text, and the check says so.
expr::NodePtr Access::right(const Subscript& s, Expression& into) {
  if (s.value_) {
    absorb(into, of(*s.value_));
    return of(*s.value_).node;
  }
  Expr index = s.range_->index();
  Expr out = index;
  if (s.range_->hi_) out = s.range_->hi_inclusive_ ? index <= *s.range_->hi_ : index < *s.range_->hi_;
  absorb(into, of(out));
  return of(out).node;
}

void record(const TensorPtr& tensor, Expression mentions, expr::Definition definition) {
  Recorded out;
  out.sequence = next_sequence++;
  out.definition = std::move(definition);
  out.definition.name = tensor->name;
  out.fault = std::move(mentions.fault);
  auto lead_to = [&](const TensorPtr& root) {
    if (!tensor->local || std::ranges::find(root->readers, tensor) != root->readers.end()) return;
    root->readers.push_back(tensor);
    tensor->roots.push_back(root);
  };
  for (const TensorPtr& t : mentions.tensors) {
    out.reads.push_back(t->name);
    if (t == tensor) continue;
    t->read = true;
    if (!t->local) {
      lead_to(t);
      continue;
    }
    for (const auto& root : std::vector(t->roots)) {
      if (TensorPtr alive = root.lock()) lead_to(alive);
    }
    // Two locals that read each other are an error; they mustn't live for ever because of it.
    std::unordered_set<const TensorState*> seen;
    if (!keeps(*t, *tensor, seen)) out.locals.push_back(t);
  }
  tensor->definitions.push_back(std::move(out));
}

}  // namespace internal

using internal::Access;
using internal::Expression;

namespace {

void define(const internal::TensorPtr& tensor, const std::vector<Subscript>& subscripts,
            const std::optional<Ranges>& loops, const std::optional<Expr>& filter, const std::optional<Type>& type,
            const Expr& value, bool add) {
  Expression mentions = Access::of(value);
  expr::Definition d;
  d.add = add;
  d.value = Access::of(value).node;
  if (type) d.type = internal::element_type(*type);
  if (loops) {
    for (const Range& r : loops->list()) d.loops.push_back(Access::binder(r, mentions));
  }
  if (filter) {
    absorb(mentions, Access::of(*filter));
    d.filter = Access::of(*filter).node;
  }
  for (const Subscript& s : subscripts) d.left.push_back(Access::left(s, mentions));
  record(tensor, std::move(mentions), std::move(d));
}

}  // namespace

void Ref::operator=(const Expr& value) { define(tensor_, subscripts_, loops_, filter_, type_, value, false); }
void Ref::operator=(const Ref& value) { *this = Expr(value); }
void Ref::operator+=(const Expr& value) { define(tensor_, subscripts_, loops_, filter_, type_, value, true); }

Ref& Ref::as(const Type& type) {
  type_ = type;
  return *this;
}

Ref::operator Expr() const {
  Expression parts;
  expr::Node n{.op = subscripts_.empty() ? expr::Op::kName : expr::Op::kSubscript};
  n.name = tensor_->name;
  for (const Subscript& s : subscripts_) n.args.push_back(Access::right(s, parts));
  absorb(parts, {nullptr, {tensor_}, std::nullopt});
  return Access::wrap(internal::combine(std::move(n), {&parts}));
}

Ref Update::at(std::vector<Subscript> subscripts) const {
  Ref out(tensor_, std::move(subscripts));
  out.loops_ = loops_;
  out.filter_ = filter_;
  return out;
}

Tensor::Tensor(std::string_view name, const Type& type, std::vector<DimExpr> shape)
    : state_(internal::new_tensor(name)) {
  state_->shaped.type = internal::element_type(type);
  for (const DimExpr& size : shape) {
    state_->shaped.shape.push_back(Access::of(size).node);
    if (!state_->fault) state_->fault = Access::of(size).fault;
  }
}

Tensor Tensor::local(std::string_view name) {
  auto state = internal::new_tensor(name);
  state->local = true;
  return Tensor(std::move(state));
}

Tensor& Tensor::first(const Expr& value) {
  state_->value = Access::of(value).node;
  if (!state_->fault) state_->fault = Access::of(value).fault;
  return *this;
}

Tensor& Tensor::otherwise(const Expr& value) { return first(value); }

Tensor& Tensor::inout() {
  state_->inout = true;
  return *this;
}

Ref Tensor::at(std::vector<Subscript> subscripts) const { return Ref(state_, std::move(subscripts)); }
Tensor::operator Expr() const { return at({}); }
const std::string& Tensor::name() const { return state_->name.str(); }

}  // namespace quern
