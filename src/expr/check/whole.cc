// What is known only once all definitions are: everything is defined, everything is used, and nothing is read where
// the kernel may also write it.
#include <algorithm>
#include <unordered_set>

#include "expr/check/elaborator.h"
#include "expr/prove/apart.h"

namespace quern::expr {
namespace {

// Tensors and locals read by an expression.
void collect(const NodePtr& node, std::unordered_set<const Node*>& seen, std::set<int32_t>& tensors,
             std::set<int32_t>& locals) {
  if (!node || !seen.insert(node.get()).second) return;
  if (node->op == Op::kRead) tensors.insert(node->id);
  if (node->op == Op::kLocal) locals.insert(node->id);
  for (const NodePtr& arg : node->args) collect(arg, seen, tensors, locals);
  for (const Binder& b : node->binders) {
    collect(b.lo, seen, tensors, locals);
    collect(b.hi, seen, tensors, locals);
  }
}

}  // namespace

void Elaborator::every_result_written(const Kernel& kernel) {
  if (kernel.damaged) return;
  for (size_t t = 0; t < program_.tensors.size(); ++t) {
    const Tensor& tensor = program_.tensors[t];
    if (tensor.role == Role::kParameter || writes_seen_[t] > 0) continue;
    Diagnostic d = diagnose(Code::E509, tensor.span, {{"n", tensor.name.str()}});
    if (tensor.role == Role::kInout) d.remedy = "write it, or drop `inout`";
    report(std::move(d));
  }
}

// Reached from an update or not. A tensor that is never read may still be there for its dimensions.
void Elaborator::everything_used(const Kernel& kernel) {
  if (kernel.damaged || !poisoned_.empty()) return;
  std::unordered_set<const Node*> seen;
  std::set<int32_t> tensors, reached;
  std::vector<int32_t> pending;
  auto visit = [&](const NodePtr& node) {
    std::set<int32_t> locals;
    collect(node, seen, tensors, locals);
    for (int32_t l : locals) {
      if (reached.insert(l).second) pending.push_back(l);
    }
  };
  auto visit_binders = [&](const std::vector<Binder>& binders) {
    for (const Binder& b : binders) {
      visit(b.lo);
      visit(b.hi);
    }
  };
  for (const Update& u : program_.updates) {
    visit(u.value);
    visit(u.filter);
    visit_binders(u.binders);
    for (const NodePtr& s : u.subscripts) visit(s);
  }
  while (!pending.empty()) {
    const Local& l = program_.locals[pending.back()];
    pending.pop_back();
    visit(l.value);
    visit_binders(l.binders);
  }
  std::set<int32_t> used;
  // From the last: what only an unused local uses is named once that one is gone.
  for (size_t l = program_.locals.size(); l-- > 0;) {
    if (reached.contains(static_cast<int32_t>(l))) continue;
    const Local& local = program_.locals[l];
    if (!used.contains(static_cast<int32_t>(l))) report(diagnose(Code::E508, local.span, {{"n", local.name.str()}}));
    std::set<int32_t> below;
    collect(local.value, seen, tensors, below);
    for (const Binder& b : local.binders) {
      collect(b.lo, seen, tensors, below);
      collect(b.hi, seen, tensors, below);
    }
    used.insert(below.begin(), below.end());
  }
  for (size_t t = 0; t < program_.tensors.size(); ++t) {
    const Tensor& tensor = program_.tensors[t];
    if (tensor.role != Role::kParameter || tensors.contains(static_cast<int32_t>(t))) continue;
    bool gives_size = std::ranges::any_of(program_.dimensions,
                                          [&](const Dimension& d) { return d.tensor == static_cast<int32_t>(t); });
    if (!gives_size) report(diagnose(Code::E508, tensor.span, {{"n", tensor.name.str()}}));
  }
}

void Elaborator::reads_before_writes() {
  for (const NodePtr& read : reads_of_written(program_)) {
    report(diagnose(Code::E506, read->span, {{"x", read->name.str()}}));
  }
}

}  // namespace quern::expr
