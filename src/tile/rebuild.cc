#include "tile/rebuild.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace quern::tile {

namespace {

class Rebuilder {
 public:
  explicit Rebuilder(const std::function<ExprPtr(const ExprPtr&)>& change) : change_(change) {}

  ExprPtr operator()(const ExprPtr& e) {
    if (!e) return e;
    if (auto it = done_.find(e.get()); it != done_.end()) return it->second;
    std::vector<ExprPtr> args;
    bool same = true;
    for (const ExprPtr& a : e->args) {
      args.push_back((*this)(a));
      same = same && args.back() == a;
    }
    ExprPtr guard = (*this)(e->guard);
    same = same && guard == e->guard;
    ExprPtr out = change_(same ? e : with_args(*e, std::move(args), std::move(guard)));
    kept_.push_back(e);
    done_.emplace(e.get(), out);
    return out;
  }

 private:
  const std::function<ExprPtr(const ExprPtr&)>& change_;
  std::unordered_map<const Expr*, ExprPtr> done_;
  std::vector<ExprPtr> kept_;
};

template <class BlockT, class F>
void visit_expressions(BlockT& block, const F& f) {
  for (auto& statement : block) {
    std::visit(
        [&](auto& s) {
          using S = std::decay_t<decltype(s)>;
          if constexpr (std::is_same_v<S, Let>) {
            f(s.value);
          } else if constexpr (std::is_same_v<S, Store>) {
            for (auto& subscript : s.subscripts) f(subscript);
            f(s.value);
            f(s.when);
          } else if constexpr (std::is_same_v<S, Loop>) {
            for (auto& w : s.walks) f(w.lo), f(w.hi);
            for (auto& c : s.carries) f(c.init);
            visit_expressions(s.body, f);
            for (auto& c : s.carries) f(c.next);
          } else if constexpr (std::is_same_v<S, If>) {
            f(s.condition);
            visit_expressions(s.body, f);
          } else if constexpr (std::is_same_v<S, Nest>) {
            visit_expressions(s.body, f);
          }
        },
        statement.is);
  }
}

void collect_defined(const Block& block, std::set<int32_t>& out) {
  for (const Statement& statement : block) {
    if (const auto* let = std::get_if<Let>(&statement.is)) out.insert(let->name);
    if (const auto* loop = std::get_if<Loop>(&statement.is)) {
      for (const Carry& c : loop->carries) out.insert(c.name);
      collect_defined(loop->body, out);
    }
    if (const auto* branch = std::get_if<If>(&statement.is)) collect_defined(branch->body, out);
    if (const auto* nest = std::get_if<Nest>(&statement.is)) collect_defined(nest->body, out);
  }
}

void rename_definitions(Block& block, const std::unordered_map<int32_t, int32_t>& to) {
  auto renamed = [&](int32_t& name) {
    if (auto it = to.find(name); it != to.end()) name = it->second;
  };
  for (Statement& statement : block) {
    if (auto* let = std::get_if<Let>(&statement.is)) renamed(let->name);
    if (auto* keep = std::get_if<Keep>(&statement.is)) renamed(keep->name);
    if (auto* loop = std::get_if<Loop>(&statement.is)) {
      for (Carry& c : loop->carries) renamed(c.name);
      rename_definitions(loop->body, to);
    }
    if (auto* branch = std::get_if<If>(&statement.is)) rename_definitions(branch->body, to);
    if (auto* nest = std::get_if<Nest>(&statement.is)) rename_definitions(nest->body, to);
  }
}

}  // namespace

ExprPtr rebuild(const ExprPtr& e, const std::function<ExprPtr(const ExprPtr&)>& change) { return Rebuilder(change)(e); }

void each_part(const ExprPtr& e, const std::function<void(const ExprPtr&)>& see) {
  std::unordered_set<const Expr*> seen;
  auto walk = [&](auto& self, const ExprPtr& part) -> void {
    if (!part || !seen.insert(part.get()).second) return;
    for (const ExprPtr& a : part->args) self(self, a);
    self(self, part->guard);
    see(part);
  };
  walk(walk, e);
}

void each_expression(const Block& block, const std::function<void(const ExprPtr&)>& see) {
  visit_expressions(block, [&](const ExprPtr& e) {
    if (e) see(e);
  });
}

void change_expressions(Block& block, const std::function<ExprPtr(const ExprPtr&)>& change) {
  visit_expressions(block, [&](ExprPtr& e) {
    if (e) e = change(e);
  });
}

std::set<int32_t> names_in(const ExprPtr& e) {
  std::set<int32_t> out;
  each_part(e, [&](const ExprPtr& part) {
    if (part->op == Op::kName) out.insert(part->id);
  });
  return out;
}

std::set<int32_t> names_in(const Block& block) {
  std::set<int32_t> out;
  each_expression(block, [&](const ExprPtr& e) { out.merge(names_in(e)); });
  return out;
}

std::set<int32_t> names_defined(const Block& block) {
  std::set<int32_t> out;
  collect_defined(block, out);
  return out;
}

AxisSet axes_mentioned(const ExprPtr& e) {
  AxisSet out;
  each_part(e, [&](const ExprPtr& part) {
    out |= part->axes | part->over;
    if (row(*part).family == Family::axis) out |= AxisSet::of(part->id);
  });
  return out;
}

Block renamed_copy(Kernel& kernel, const Block& block, std::vector<std::pair<int32_t, int32_t>>& renamed) {
  Block out = block;
  for (int32_t old : names_defined(block)) {
    Name n = kernel.names[old];
    renamed.emplace_back(old, new_name(kernel, n.name, n.type, n.axes));
  }
  rename(kernel, out, renamed);
  std::unordered_map<int32_t, int32_t> to(renamed.begin(), renamed.end());
  rename_definitions(out, to);
  return out;
}

ExprPtr rename(const Kernel& kernel, const ExprPtr& e, const std::vector<std::pair<int32_t, int32_t>>& renamed) {
  return rebuild(e, [&](const ExprPtr& part) -> ExprPtr {
    if (part->op != Op::kName) return part;
    for (const auto& [old, now] : renamed) {
      if (part->id == old) return use(kernel, now);
    }
    return part;
  });
}

void rename(const Kernel& kernel, Block& block, const std::vector<std::pair<int32_t, int32_t>>& renamed) {
  change_expressions(block, [&](const ExprPtr& e) { return rename(kernel, e, renamed); });
}

int32_t new_name(Kernel& kernel, Symbol like, ScalarType type, AxisSet axes) {
  auto taken = [&](Symbol s) {
    return std::any_of(kernel.names.begin(), kernel.names.end(), [&](const Name& n) { return n.name == s; }) ||
           std::any_of(kernel.axes.begin(), kernel.axes.end(), [&](const Axis& a) { return a.name == s; });
  };
  Symbol chosen = like.empty() ? Symbol("t") : like;
  std::string stem = chosen.str();
  // x_2 and then x_3, not x_2_2.
  if (size_t at = stem.find_last_not_of("0123456789");
      at != std::string::npos && at > 0 && stem[at] == '_' && at + 1 < stem.size() && taken(chosen)) {
    stem.resize(at);
  }
  for (int k = 2; taken(chosen); ++k) chosen = Symbol(stem + "_" + std::to_string(k));
  kernel.names.push_back({chosen, type, axes});
  return static_cast<int32_t>(kernel.names.size()) - 1;
}

ExprPtr use(const Kernel& kernel, int32_t id) {
  const Name& n = kernel.names[id];
  return name(id, n.type, n.axes);
}

}  // namespace quern::tile
