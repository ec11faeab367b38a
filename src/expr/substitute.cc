#include "expr/substitute.h"

#include <algorithm>
#include <set>
#include <unordered_set>

namespace quern::expr {
namespace {

uint64_t bit(IndexId id) { return uint64_t{1} << (id & 63); }

// Collects free indices; `bound` counts the enclosing binders of each.
class Free {
 public:
  std::set<IndexId> found;

  void walk(const NodePtr& node) {
    if (node->free == 0 || (bound_.empty() && !seen_.insert(node.get()).second)) return;
    if (node->op == Op::kIndex) {
      if (!bound_.contains(node->id)) found.insert(node->id);
      return;
    }
    std::vector<IndexId> entered;
    for (const Binder& b : node->binders) {
      if (b.lo) walk(b.lo);
      if (b.hi) walk(b.hi);
      if (bound_.insert(b.id).second) entered.push_back(b.id);
    }
    if (entered.empty()) {
      for (const NodePtr& arg : node->args) walk(arg);
      return;
    }
    for (const NodePtr& arg : node->args) {
      Free inner;  // remembers what it has seen under these binders
      inner.walk(arg);
      for (IndexId id : inner.found) {
        if (!bound_.contains(id)) found.insert(id);
      }
    }
    for (IndexId id : entered) bound_.erase(id);
  }

 private:
  std::set<IndexId> bound_;
  std::unordered_set<const Node*> seen_;
};

}  // namespace

Substitution::Substitution(Replacements replacements, std::function<IndexId(Symbol)> fresh)
    : replacements_(std::move(replacements)), fresh_(std::move(fresh)) {
  for (const auto& [id, value] : replacements_) touched_ |= bit(id);
}

NodePtr Substitution::apply(const NodePtr& node) {
  if (!node || (node->free & touched_) == 0) return node;
  if (node->op == Op::kIndex) {
    auto it = replacements_.find(node->id);
    return it == replacements_.end() ? node : it->second;
  }
  auto known = done_.find(node.get());
  if (known != done_.end()) return known->second;
  NodePtr out = node;
  if (!node->binders.empty()) {
    out = under_binders(node);
  } else {
    Node copy = *node;
    bool changed = false;
    for (NodePtr& arg : copy.args) {
      NodePtr next = apply(arg);
      changed |= next != arg;
      arg = std::move(next);
    }
    if (changed) out = make(std::move(copy));
  }
  done_.emplace(node.get(), out);
  return out;
}

NodePtr Substitution::under_binders(const NodePtr& node) {
  Node copy = *node;
  Replacements inner = replacements_;
  for (Binder& b : copy.binders) {
    Substitution bounds(inner, fresh_);
    if (b.lo) b.lo = bounds.apply(b.lo);
    if (b.hi) b.hi = bounds.apply(b.hi);
    inner.erase(b.id);
    bool captures = std::any_of(inner.begin(), inner.end(), [&](const auto& r) {
      return (r.second->free & bit(b.id)) && depends_on(r.second, b.id);
    });
    if (captures) {
      IndexId id = fresh_(b.name);
      inner[b.id] = make_index(id, b.name, b.span);
      b.id = id;
    }
  }
  Substitution body(std::move(inner), fresh_);
  for (NodePtr& arg : copy.args) arg = body.apply(arg);
  return make(std::move(copy));
}

bool depends_on(const NodePtr& node, IndexId id) {
  if ((node->free & bit(id)) == 0) return false;
  std::vector<IndexId> all = free_indices(node);
  return std::ranges::binary_search(all, id);
}

std::vector<IndexId> free_indices(const NodePtr& node) {
  Free free;
  free.walk(node);
  return {free.found.begin(), free.found.end()};
}

}  // namespace quern::expr
