#include "expr/materialise.h"

#include <algorithm>
#include <unordered_map>

namespace quern::expr {
namespace {

class Materialiser {
 public:
  Materialiser(const Program& program, const Binding& binding) : out_{program, binding} {
    tensor_of_.assign(program.locals.size(), -1);
  }

  Materialised run() {
    std::vector<Update> first;
    for (size_t l = 0; l < out_.program.locals.size(); ++l) {
      Local& local = out_.program.locals[l];
      local.value = rewrite(local.value);
      for (Binder& b : local.binders) rewrite(b);
      if (storable(local)) first.push_back(store(l));
    }
    for (Update& u : out_.program.updates) {
      for (Binder& b : u.binders) rewrite(b);
      if (u.filter) u.filter = rewrite(u.filter);
      for (NodePtr& s : u.subscripts) s = rewrite(s);
      u.value = rewrite(u.value);
    }
    out_.program.updates.insert(out_.program.updates.begin(), first.begin(), first.end());
    return std::move(out_);
  }

 private:
  static bool storable(const Local& local) {
    return local.value && std::ranges::all_of(local.dimension, [](bool d) { return d; });
  }

  Update store(size_t l) {
    const Local& local = out_.program.locals[l];
    Tensor tensor;
    tensor.name = local.name;
    tensor.role = Role::kResult;
    tensor.span = local.span;
    ScalarType plain = local.kind == Kind::kInt    ? ScalarType::i64
                       : local.kind == Kind::kBool ? ScalarType::boolean
                                                   : ScalarType::f32;
    tensor.type = local.type.value_or(ElementType{plain, {}});
    Update u;
    u.tensor = static_cast<int32_t>(out_.program.tensors.size());
    u.binders = local.binders;
    u.value = local.value;
    u.total = true;
    u.span = local.span;
    std::vector<int64_t> shape;
    for (const Binder& b : local.binders) {
      tensor.shape.push_back(b.hi);
      u.subscripts.push_back(make_index(b.id, b.name, b.span));
      shape.push_back(evaluate(b.hi, out_.binding.sizes).value_or(0));
    }
    tensor_of_[l] = u.tensor;
    out_.program.tensors.push_back(std::move(tensor));
    out_.binding.shapes.push_back(std::move(shape));
    return u;
  }

  void rewrite(Binder& b) {
    if (b.lo) b.lo = rewrite(b.lo);
    if (b.hi) b.hi = rewrite(b.hi);
  }

  // Reads of stored locals as reads of their tensors.
  NodePtr rewrite(const NodePtr& node) {
    if (!node) return node;
    if (auto found = done_.find(node.get()); found != done_.end()) return found->second;
    Node copy = *node;
    for (NodePtr& a : copy.args) a = rewrite(a);
    for (Binder& b : copy.binders) rewrite(b);
    if (copy.op == Op::kLocal && tensor_of_[static_cast<size_t>(copy.id)] >= 0) {
      copy.op = Op::kRead;
      copy.id = tensor_of_[static_cast<size_t>(copy.id)];
    }
    NodePtr out = make(std::move(copy));
    kept_.push_back(node);
    done_.emplace(node.get(), out);
    return out;
  }

  Materialised out_;
  std::vector<int32_t> tensor_of_;  // of each local, or -1
  std::unordered_map<const Node*, NodePtr> done_;
  std::vector<NodePtr> kept_;  // so that addresses in done_ stay theirs
};

}  // namespace

Materialised materialise(const Program& program, const Binding& binding) {
  return Materialiser(program, binding).run();
}

}  // namespace quern::expr
