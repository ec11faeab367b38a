// Which ranges by data are cut, and when: a second walk, with every condition on the way, since a report must not come
// from where the program would not have looked. It makes checks only; values are made by value().
#include "fuse/expand/expander.h"

namespace quern::fuse {

using expr::NodePtr;
using Family = expr::Family;

void Expander::collect(const NodePtr& node, const Path& path) {
  std::vector<const void*> key{node.get()};
  for (expr::IndexId id : free(node)) key.push_back(env_.at(id).get());
  for (const Condition& c : path) key.push_back(c.e.get());
  if (!collected_.insert(std::move(key)).second) return;
  switch (row(*node).family) {
    case Family::select: {
      collect(node->args[1], path);
      tile::ExprPtr c = value(node->args[1], path).e;
      collect(node->args[0], with(path, c));
      return collect(node->args[2], with(path, negated(c)));
    }
    case Family::logic: {
      collect(node->args[0], path);
      tile::ExprPtr c = value(node->args[0], path).e;
      return collect(node->args[1], with(path, node->op == expr::Op::kAnd ? c : negated(c)));
    }
    case Family::reduction: return collect_under(node->binders, node->args, path);
    case Family::read: {
      for (const NodePtr& arg : node->args) collect(arg, path);
      if (node->op != expr::Op::kLocal || stored_[static_cast<size_t>(node->id)].parameter >= 0) return;
      const expr::Local& l = program_.locals[static_cast<size_t>(node->id)];
      std::vector<tile::ExprPtr> at;
      for (const NodePtr& arg : node->args) at.push_back(value(arg, path).e);
      auto outer = env_;
      for (size_t i = 0; i < at.size(); ++i) env_[l.binders[i].id] = at[i];
      collect(l.value, path);
      env_ = std::move(outer);
      return;
    }
    default:
      for (const NodePtr& arg : node->args) collect(arg, path);
  }
}

void Expander::collect_under(const std::vector<expr::Binder>& binders, const std::vector<NodePtr>& bodies, Path path) {
  auto outer = env_;
  tile::AxisSet taken;
  for (const NodePtr& body : bodies) {
    for (expr::IndexId id : free(body)) {
      if (auto at = env_.find(id); at != env_.end()) taken |= at->second->axes;
    }
  }
  for (const Condition& c : path) taken |= c.e->axes;
  for (const expr::Binder& b : binders) {
    Bound bound = bound_of(b, bodies[0]);
    check_ends(b, path, bound);
    Ranged r = enter(b, path, taken, bound);
    taken |= r.index->axes;
    path = with(std::move(path), r.mask);
    env_[b.id] = r.index;
  }
  for (const NodePtr& body : bodies) collect(body, path);
  env_ = std::move(outer);
}

}  // namespace quern::fuse
