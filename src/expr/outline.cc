#include "expr/outline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "expr/dimension_form.h"
#include "expr/substitute.h"

namespace quern::expr {
namespace {

class Outliner {
 public:
  explicit Outliner(const Program& program) : in_(program), out_(program) {
    out_.locals.clear();
    for (const Tensor& t : program.tensors) names_.insert(t.name.str());
    for (const Local& l : program.locals) names_.insert(l.name.str());
    for (const Local& l : program.locals) {
      see(l.binders);
      see(l.value);
    }
    for (const Update& u : program.updates) {
      see(u.binders);
      for (const NodePtr& s : u.subscripts) see(s);
      see(u.filter);
      see(u.value);
    }
    seen_.clear();
  }

  Program run() {
    for (const Local& l : in_.locals) {
      Local copy = l;
      for (Binder& b : copy.binders) rewrite(b);
      copy.value = rewrite(l.value, false);
      place_.push_back(static_cast<int32_t>(out_.locals.size()));
      out_.locals.push_back(std::move(copy));
    }
    for (Update& u : out_.updates) {
      for (Binder& b : u.binders) rewrite(b);
      u.filter = rewrite(u.filter, false);
      for (NodePtr& s : u.subscripts) s = rewrite(s, false);
      u.value = rewrite(u.value, false);
    }
    return std::move(out_);
  }

 private:
  // The ranges of all indices; one that is bound to several, or to no dimension, has none.
  void see(const std::vector<Binder>& binders) {
    for (const Binder& b : binders) {
      see(b.lo);
      see(b.hi);
      bool whole = (!b.lo || (b.lo->op == Op::kInteger && b.lo->integer == 0)) && dimension_form(b.hi);
      auto [at, fresh] = ranges_.try_emplace(b.id, whole ? b.hi : nullptr);
      if (!fresh && !(whole && at->second && equal(at->second, b.hi))) at->second = nullptr;
    }
  }
  void see(const NodePtr& node) {
    if (!node || !seen_.insert(node.get()).second) return;
    see(node->binders);
    for (const NodePtr& a : node->args) see(a);
  }

  void rewrite(Binder& b) {
    b.lo = rewrite(b.lo, false);
    b.hi = rewrite(b.hi, false);
  }
  NodePtr rewrite(const NodePtr& node, bool inside) {
    if (!node) return node;
    auto [at, fresh] = done_.try_emplace({node.get(), inside});
    if (!fresh) return at->second;
    kept_.push_back(node);
    bool reduces = row(*node).family == Family::reduction;
    Node copy = *node;
    for (Binder& b : copy.binders) rewrite(b);
    for (NodePtr& a : copy.args) a = rewrite(a, inside || reduces);
    if (copy.op == Op::kLocal) copy.id = place_[static_cast<size_t>(copy.id)];
    NodePtr out = make(std::move(copy));
    if (inside && node->op == Op::kSum && is_product(out->args[0])) out = named(out);
    return done_[{node.get(), inside}] = out;
  }

  static bool is_product(const NodePtr& e) {
    if (e->op == Op::kMul) return true;
    return (e->op == Op::kDiv || e->op == Op::kNeg) && is_product(e->args[0]);
  }

  // A read of the sum as a local; the sum itself where its indices have no ranges of their own.
  NodePtr named(const NodePtr& sum) {
    Local l;
    Replacements fresh;
    std::vector<NodePtr> at;
    for (IndexId id : free_indices(sum)) {
      auto range = ranges_.find(id);
      if (range == ranges_.end() || !range->second) return sum;
      Symbol name = in_.indices[static_cast<size_t>(id)];
      l.binders.push_back({.name = name, .hi = range->second, .id = new_index(name), .span = sum->span});
      l.dimension.push_back(true);
      fresh[id] = make_index(l.binders.back().id, name, sum->span);
      at.push_back(make_index(id, name, sum->span));
    }
    if (at.empty()) return sum;
    l.name = new_name();
    l.value = Substitution(std::move(fresh), [&](Symbol name) { return new_index(name); }).apply(sum);
    l.kind = sum->kind;
    l.span = sum->span;
    Node read{.op = Op::kLocal, .kind = sum->kind, .id = static_cast<int32_t>(out_.locals.size()), .name = l.name};
    read.args = std::move(at);
    read.span = sum->span;
    out_.locals.push_back(std::move(l));
    return make(std::move(read));
  }

  IndexId new_index(Symbol name) {
    out_.indices.push_back(name);
    return static_cast<IndexId>(out_.indices.size() - 1);
  }
  Symbol new_name() {
    std::string name = "inner_sum";
    for (int k = 2; !names_.insert(name).second; ++k) name = fmt::format("inner_sum_{}", k);
    return Symbol(name);
  }

  const Program& in_;
  Program out_;
  std::vector<int32_t> place_;  // of each local of the program, among those that there are now
  std::map<IndexId, NodePtr> ranges_;
  std::map<std::pair<const Node*, bool>, NodePtr> done_;
  std::vector<NodePtr> kept_;  // so that addresses in done_ stay theirs
  std::set<std::string> names_;
  std::set<const Node*> seen_;
};

}  // namespace

Program outline(const Program& program) { return Outliner(program).run(); }

}  // namespace quern::expr
