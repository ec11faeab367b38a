// A checked program written as a kernel again. Indices are renamed where an inner one would hide an outer one that is
// used inside it, or would bear the name of a tensor or local.
#include <algorithm>
#include <map>
#include <unordered_set>

#include "expr/dimension_form.h"
#include "expr/program.h"
#include "expr/substitute.h"

namespace quern::expr {
namespace {

class Writer {
 public:
  explicit Writer(const Program& p) : program_(p) {
    for (const Tensor& t : p.tensors) taken_.insert(t.name);
    for (const Local& l : p.locals) taken_.insert(l.name);
  }

  Kernel run() {
    Kernel out;
    out.name = program_.name;
    if (!program_.documentation.empty()) {
      out.comments.blocks = {{program_.documentation}};
      out.comments.attached = true;
    }
    for (const Dimension& d : program_.dimensions) {
      if (d.given || d.dynamic) out.given.push_back({d.name, d.dynamic, d.value ? source(d.value) : nullptr, {}, {}});
    }
    for (const TypeVariable& t : program_.types) {
      if (t.given) out.given.push_back({t.name, false, nullptr, t.value, {}});
    }
    for (const Tensor& t : program_.tensors) {
      Parameter p;
      p.name = t.name;
      p.shaped.type = t.type;
      for (const NodePtr& size : t.shape) p.shaped.shape.push_back(source(size));
      p.inout = t.role == Role::kInout;
      if (t.value) p.value = source(t.value);
      (t.role == Role::kResult ? out.results : out.parameters).push_back(std::move(p));
    }
    // Updates and locals in the order of the text, which is that of their positions.
    struct Piece {
      uint32_t at;
      const Local* local;
      const Update* update;
    };
    std::vector<Piece> pieces;
    for (const Local& l : program_.locals) pieces.push_back({l.span.begin, &l, nullptr});
    for (const Update& u : program_.updates) pieces.push_back({u.span.begin, nullptr, &u});
    std::ranges::stable_sort(pieces, {}, &Piece::at);
    for (const Piece& p : pieces) out.definitions.push_back(p.local ? local(*p.local) : update(*p.update));
    return out;
  }

 private:
  // --- names ---
  // Names of indices in scope; `inside` are the expressions the binder covers.
  Symbol enter(const Binder& b, const std::vector<NodePtr>& inside) {
    Symbol name = b.name;
    auto clashes = [&](Symbol candidate) {
      if (taken_.contains(candidate) || parse_type(candidate.str())) return true;  // i4 is a type
      return std::ranges::any_of(scope_, [&](const auto& known) {
        return known.second == candidate && known.first != b.id &&
               std::ranges::any_of(inside, [&](const NodePtr& e) { return e && depends_on(e, known.first); });
      });
    };
    for (int i = 2; clashes(name); ++i) name = Symbol(b.name.str() + std::to_string(i));
    scope_[b.id] = name;
    return name;
  }

  // --- expressions ---
  NodePtr source(const NodePtr& node) {
    Node n = *node;
    switch (row(*node).family) {
      case Family::resolved:
        n.name = node->op == Op::kIndex ? scope_.at(node->id) : node->name;
        n.op = node->op == Op::kIndex ? Op::kName : Op::kUpper;
        break;
      case Family::read: n.op = node->args.empty() ? Op::kName : Op::kSubscript; break;
      case Family::cast:
        if (node->type.variable) {
          n.op = Op::kCall;
          n.name = node->type.variable;
        }
        break;
      case Family::function:
      case Family::function2:
      case Family::rounding:
      case Family::random:
      case Family::within:
        n.op = Op::kCall;
        n.name = Symbol(row(*node).text);
        break;
      case Family::reduction: return reduction(*node);
      default: break;
    }
    n.id = -1;
    for (NodePtr& arg : n.args) arg = source(arg);
    return make(std::move(n));
  }

  NodePtr reduction(const Node& node) {
    Node n = node;
    auto before = scope_;
    n.binders = binders(node.binders, node.args);
    n.args[0] = source(node.args[0]);
    scope_ = std::move(before);
    return make(std::move(n));
  }

  std::vector<Binder> binders(const std::vector<Binder>& list, std::vector<NodePtr> inside) {
    std::vector<Binder> out;
    for (const Binder& b : list) {
      inside.push_back(b.lo);
      inside.push_back(b.hi);
    }
    for (const Binder& b : list) {
      Binder w;
      if (b.lo) w.lo = source(b.lo);
      // e + 1 that came from `<= e` reads better as it was.
      bool inclusive = b.hi->op == Op::kAdd && b.hi->args[1]->op == Op::kInteger && b.hi->args[1]->integer == 1 &&
                       b.hi->args[1]->name.empty() && !dimension_form(b.hi);
      w.hi = source(inclusive ? b.hi->args[0] : b.hi);
      w.hi_inclusive = inclusive;
      w.name = enter(b, inside);
      out.push_back(std::move(w));
    }
    return out;
  }

  // --- definitions ---
  Definition local(const Local& l) {
    Definition d;
    d.name = l.name;
    d.type = l.type;
    scope_.clear();
    for (Binder& b : binders(l.binders, {l.value})) d.left.push_back({std::move(b), nullptr});
    d.value = source(l.value);
    return d;
  }

  Definition update(const Update& u) {
    Definition d;
    d.name = program_.tensors[u.tensor].name;
    d.add = u.add;
    scope_.clear();
    std::vector<NodePtr> inside = u.subscripts;
    inside.push_back(u.value);
    inside.push_back(u.filter);
    std::vector<Binder> all = binders(u.binders, inside);
    std::vector<bool> placed(all.size());
    for (size_t i = 0; i < u.subscripts.size(); ++i) {
      const NodePtr& s = u.subscripts[i];
      size_t own = all.size();
      for (size_t b = 0; b < all.size() && s->op == Op::kIndex; ++b) {
        if (u.binders[b].id == s->id && !placed[b]) own = b;
      }
      if (own == all.size()) {
        d.left.push_back({std::nullopt, source(s)});
        continue;
      }
      placed[own] = true;
      d.left.push_back({all[own], nullptr});
    }
    for (size_t b = 0; b < all.size(); ++b) {
      if (!placed[b]) d.loops.push_back(all[b]);
    }
    if (u.filter) d.filter = source(u.filter);
    d.value = source(u.value);
    // A filter needs `for`: with all indices on the left, one of them moves there.
    if (d.filter && d.loops.empty()) {
      for (Definition::Left& l : d.left) {
        if (!l.binder) continue;
        Binder b = all[0];
        for (const Binder& candidate : all) {
          if (candidate.name == l.binder->name) b = candidate;
        }
        Binder plain;
        plain.name = b.name;
        d.loops.push_back(b);
        l.binder = plain;
        break;
      }
    }
    return d;
  }

  const Program& program_;
  std::unordered_set<Symbol> taken_;
  std::map<IndexId, Symbol> scope_;
};

}  // namespace

Kernel to_kernel(const Program& program) { return Writer(program).run(); }

}  // namespace quern::expr
