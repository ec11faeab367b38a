// What each index of a definition is called: by its own name, unless that would make another index of it.
#include <algorithm>
#include <map>
#include <unordered_set>

#include "api/notation/build.h"

namespace quern::internal {
namespace {

using expr::Binder;
using expr::Definition;
using expr::IndexId;
using expr::Node;
using expr::NodePtr;
using expr::Op;

// Does the index occur at all, also in the brackets of a call (whose value may depend on it)? Shadowed occurrences
// count too: a name more than needed does no harm.
bool mentions(const NodePtr& node, IndexId id, std::unordered_set<const Node*>& seen) {
  if (!node || !seen.insert(node.get()).second) return false;
  if (node->op == Op::kIndex) return node->id == id;
  for (const Binder& b : node->binders) {
    if (node->op == Op::kCall && b.id == id) return true;
    if (mentions(b.lo, id, seen) || mentions(b.hi, id, seen)) return true;
  }
  return std::ranges::any_of(node->args, [&](const NodePtr& arg) { return mentions(arg, id, seen); });
}

class Namer {
 public:
  explicit Namer(const std::vector<Symbol>& taken) : taken_(taken.begin(), taken.end()) {}

  Definition definition(const Definition& d) {
    Definition out = d;
    // What all binders of the left side cover: everything but their own names.
    std::vector<NodePtr> inside = {d.value, d.filter};
    auto bounds = [&](const Binder& b) {
      inside.push_back(b.lo);
      inside.push_back(b.hi);
    };
    for (const Binder& b : d.loops) bounds(b);
    for (const Definition::Left& l : d.left) {
      if (l.binder) bounds(*l.binder);
      if (l.value) inside.push_back(l.value);
    }
    list_.clear();
    for (Binder& b : out.loops) b = binder(b, inside);
    for (Definition::Left& l : out.left) {
      if (l.binder) l.binder = binder(*l.binder, inside);
    }
    for (Definition::Left& l : out.left) {
      if (l.value) l.value = expression(l.value);
    }
    if (d.filter) out.filter = expression(d.filter);
    out.value = expression(d.value);
    return out;
  }

 private:
  // The binder with its name, which is in scope from here on. An index that is in this list already is the same one.
  Binder binder(const Binder& b, const std::vector<NodePtr>& inside) {
    Binder out = b;
    if (b.lo) out.lo = expression(b.lo);
    if (b.hi) out.hi = expression(b.hi);
    out.id = expr::kNoIndex;
    if (std::ranges::find(list_, b.id) != list_.end()) {
      out.name = scope_.at(b.id);
      return out;
    }
    auto clashes = [&](Symbol name) {
      if (taken_.contains(name) && gives_way(b.id)) return true;
      return std::ranges::any_of(scope_, [&](const auto& known) {
        if (known.second != name || known.first == b.id) return false;
        if (std::ranges::find(list_, known.first) != list_.end()) return true;
        return std::ranges::any_of(inside, [&](const NodePtr& e) {
          std::unordered_set<const Node*> seen;
          return mentions(e, known.first, seen);
        });
      });
    };
    out.name = b.name;
    for (int i = 2; clashes(out.name); ++i) out.name = Symbol(b.name.str() + std::to_string(i));
    scope_[b.id] = out.name;
    list_.push_back(b.id);
    return out;
  }

  // An index that nothing binds keeps its name if no other one in scope has it: it is an error, and stays that error.
  Symbol name(const Node& index) const {
    if (auto at = scope_.find(index.id); at != scope_.end()) return at->second;
    auto used = [&](Symbol name) {
      return std::ranges::any_of(scope_, [&](const auto& known) { return known.second == name; });
    };
    Symbol out = index.name;
    for (int i = 2; used(out); ++i) out = Symbol(index.name.str() + std::to_string(i));
    return out;
  }

  NodePtr expression(const NodePtr& node) {
    if (node->args.empty() && node->op != Op::kIndex) return node;
    Node out = *node;
    if (node->op == Op::kIndex) {
      out.op = Op::kName;
      out.name = name(*node);
      out.id = -1;
      return expr::make(std::move(out));
    }
    if (node->binders.empty()) {
      for (NodePtr& arg : out.args) arg = expression(arg);
      return expr::make(std::move(out));
    }
    auto scope = scope_;
    auto list = std::exchange(list_, {});
    std::vector<NodePtr> inside = node->args;
    for (const Binder& b : node->binders) {
      inside.push_back(b.lo);
      inside.push_back(b.hi);
    }
    for (Binder& b : out.binders) {
      // A call's value may depend on the caller's index, so its brackets name that very index.
      if (node->op == Op::kCall && scope.contains(b.id)) list_.push_back(b.id);
      b = binder(b, inside);
    }
    for (NodePtr& arg : out.args) arg = expression(arg);
    scope_ = std::move(scope);
    list_ = std::move(list);
    return expr::make(std::move(out));
  }

  std::unordered_set<Symbol> taken_;
  std::map<IndexId, Symbol> scope_;
  std::vector<IndexId> list_;  // indices of the brackets at hand
};

}  // namespace

Definition name_indices(const Definition& definition, const std::vector<Symbol>& taken) {
  return Namer(taken).definition(definition);
}

}  // namespace quern::internal
