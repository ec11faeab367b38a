// Replacing indices in checked expressions, and asking which are free. Both see through sharing: a node is visited
// once for each set of replacements.
#pragma once

#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include "expr/node.h"

namespace quern::expr {

using Replacements = std::map<IndexId, NodePtr>;

// Replaces the free occurrences of each index. A binder that would capture an index of a replacement gets a fresh one
// (`fresh` is called with the binder's name).
class Substitution {
 public:
  Substitution(Replacements replacements, std::function<IndexId(Symbol)> fresh);
  NodePtr apply(const NodePtr& node);

 private:
  NodePtr under_binders(const NodePtr& node);

  Replacements replacements_;
  std::function<IndexId(Symbol)> fresh_;
  uint64_t touched_ = 0;  // hashes of the replaced indices, as in Node::free
  std::unordered_map<const Node*, NodePtr> done_;
};

// Does `id` occur in `node` outside binders of the same index?
bool depends_on(const NodePtr& node, IndexId id);

// All free indices, ascending.
std::vector<IndexId> free_indices(const NodePtr& node);

}  // namespace quern::expr
