#include "expr/prove/apart.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "expr/prove/walk.h"
#include "expr/substitute.h"

namespace quern::expr {
namespace {

// Reads are looked at where an update reaches them: a local is followed with its reader's subscripts in it.
class Meetings : ScopeWalk {
 public:
  Meetings(const Program& program, const Binding& binding)
      : ScopeWalk(program, binding), next_index_(static_cast<IndexId>(program.indices.size())) {
    for (const Local& l : program.locals) {
      bool reaches = reads_inout(l.value);
      for (const Binder& b : l.binders) reaches |= reads_inout(b.lo) || reads_inout(b.hi);
      reaches_.push_back(reaches);
    }
  }

  std::vector<NodePtr> run() {
    for (const Update& u : program_.updates) {
      update_ = &u;
      followed_.clear();
      walk_update(u);
    }
    return std::move(out_);
  }

 private:
  bool inout(const Node& read) const { return program_.tensors[static_cast<size_t>(read.id)].role == Role::kInout; }

  // Does it read an inout tensor, itself or by a local (each reads only earlier ones)?
  bool reads_inout(const NodePtr& node) {
    if (!node) return false;
    auto [it, added] = reads_inout_.try_emplace(node.get(), false);
    if (!added) return it->second;
    bool out =
        (node->op == Op::kRead && inout(*node)) || (node->op == Op::kLocal && reaches_[static_cast<size_t>(node->id)]);
    for (const NodePtr& arg : node->args) out = out || reads_inout(arg);
    for (const Binder& b : node->binders) out = out || reads_inout(b.lo) || reads_inout(b.hi);
    return reads_inout_[node.get()] = out;
  }

  void read(const NodePtr& node) override {
    if (node->op == Op::kLocal) return follow(node);
    if (!inout(*node)) return;
    bool fine = std::ranges::all_of(program_.updates, [&](const Update& w) {
      if (w.tensor != node->id) return true;
      bool together = &w == update_ || (plain(w) && plain(*update_));
      return (together && same_element(*node)) || apart(*node, w);
    });
    if (!fine) out_.push_back(node);
  }

  static bool plain(const Update& u) {
    return std::ranges::all_of(u.subscripts, [](const NodePtr& s) { return s->op == Op::kIndex; });
  }

  // Of the update at hand, at this instance.
  bool same_element(const Node& read) {
    if (read.args.size() != update_->subscripts.size()) return false;
    for (size_t i = 0; i < read.args.size(); ++i) {
      const NodePtr& written = update_->subscripts[i];
      if (equal(read.args[i], written)) continue;
      Linear difference = add(scope_.linear(read.args[i]), scope_.linear(written), -1);
      if (!difference.is_number() || difference.constant != 0) return false;
    }
    return true;
  }

  // Here, and whichever instance of `w` writes?
  bool apart(const Node& read, const Update& w) {
    std::vector<Linear> at;
    for (const NodePtr& arg : read.args) at.push_back(scope_.linear(arg));
    auto here = scope_.mark();
    // Entered again, an index is another one.
    for (const Binder& b : w.binders) scope_.enter(b);
    if (w.filter) scope_.assume(w.filter, true);
    bool out = scope_.unreachable();
    const std::vector<NodePtr>& shape = program_.tensors[static_cast<size_t>(w.tensor)].shape;
    for (size_t i = 0; i < at.size() && !out; ++i) {
      Linear written = scope_.linear(w.subscripts[i]);
      out = exact(at[i], shape[i]) && exact(written, shape[i]) && scope_.never_zero(add(at[i], written, -1));
    }
    scope_.restore(here);
    return out;
  }

  // Is a subscript what its form says? Then it has 64 bits, or is shown to lie in its dimension, which has.
  bool exact(const Linear& form, const NodePtr& size) {
    if (scope_.fits(form)) return true;
    Linear hi = scope_.linear(size);
    return scope_.fits(hi) && scope_.prove(form) && scope_.prove(add(add(hi, Linear::number(1), -1), form, -1));
  }

  // What a local reads, at these subscripts. Nothing is read outside of its range.
  void follow(const NodePtr& node) {
    if (!reaches_[static_cast<size_t>(node->id)]) return;
    const Local& l = program_.locals[static_cast<size_t>(node->id)];
    std::string key = std::to_string(node->id);
    for (const NodePtr& arg : node->args) key += "[" + scope_.linear(arg).key();
    // What was seen where no more was known need not be seen again.
    auto [seen, added] = followed_.try_emplace(std::move(key), height(scope_.mark()));
    if (!added) return;
    budget_ -= l.value->size;
    if (budget_ < 0 || depth_ > kDeepest) return out_.push_back(node);
    depth_ += l.value->depth;
    auto outside = scope_.mark();
    Replacements here;
    for (size_t i = 0; i < node->args.size(); ++i) {
      const Binder& b = l.binders[i];
      NodePtr lo = b.lo ? substituted(b.lo, here) : make_integer(0), hi = substituted(b.hi, here);
      walk(lo);
      walk(hi);
      scope_.assume(make_op(Op::kLe, {lo, node->args[i]}, {}, Kind::kBool), true);
      scope_.assume(make_op(Op::kLt, {node->args[i], hi}, {}, Kind::kBool), true);
      here[b.id] = node->args[i];
    }
    walk(substituted(l.value, here));
    leave(outside);
    depth_ -= l.value->depth;
  }

  NodePtr substituted(const NodePtr& node, const Replacements& replacements) {
    NodePtr out = Substitution(replacements, [&](Symbol) { return next_index_++; }).apply(node);
    kept_.push_back(out);  // the scope knows nodes by their addresses
    return out;
  }

  static size_t height(const ProofScope::Mark& m) { return m.guards + m.indices; }

  void left(const ProofScope::Mark& mark) override {
    std::erase_if(followed_, [&](const auto& f) { return f.second > height(mark); });
  }

  const Update* update_ = nullptr;
  std::vector<bool> reaches_;  // by local: it, or what it reads, reads an inout tensor
  std::unordered_map<const Node*, bool> reads_inout_;
  std::unordered_map<std::string, size_t> followed_;  // local and subscripts: the height of the scope there
  std::vector<NodePtr> kept_;
  // Kernels that need more than this are refused: nodes in all bodies of locals, levels in those that are open.
  static constexpr int kDeepest = kMaxDepth;
  int64_t budget_ = kMaxSize / 16;
  int depth_ = 0;
  IndexId next_index_;
  std::vector<NodePtr> out_;
};

}  // namespace

std::vector<NodePtr> reads_of_written(const Program& program) {
  bool any = std::ranges::any_of(program.tensors, [](const Tensor& t) { return t.role == Role::kInout; });
  return any ? Meetings(program, {}).run() : std::vector<NodePtr>();
}

}  // namespace quern::expr
