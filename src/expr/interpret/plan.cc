#include "expr/interpret/plan.h"

#include <algorithm>

#include "expr/precision.h"
#include "expr/print.h"
#include "expr/prove/linear.h"
#include "expr/substitute.h"

namespace quern::expr {
namespace {

constexpr int kMaxEvaluationDepth = 3000;  // 8 MiB of stack hold three times as many, with a sanitizer just so many

class Planner {
 public:
  Planner(const Program& program, const Binding& binding)
      : program_(program), binding_(binding), precisions_(program, binding) {
    plan_.program = &program;
    plan_.binding = &binding;
  }

  Result<Plan> run() {
    for (const Local& l : program_.locals) {
      LocalPlan p;
      p.ranges = ranges(l.binders, {});
      p.value = step(l.value);
      if (l.type) p.type = binding_.type(*l.type);
      p.kind = l.kind;
      p.depth = p.value->depth;
      for (const Range& r : p.ranges) p.depth = std::max({p.depth, r.lo ? r.lo->depth : 0, r.hi->depth});
      plan_.locals.push_back(std::move(p));
    }
    for (const Update& u : program_.updates) {
      UpdatePlan p;
      p.update = &u;
      p.ranges = ranges(u.binders, {});
      if (!u.filter) {
        for (Range& r : p.ranges) limit_by_left(r, u);
      }
      if (u.filter) p.filter = step(u.filter);
      for (const NodePtr& s : u.subscripts) p.subscripts.push_back(step(s));
      p.value = step(u.value);
      plan_.updates.push_back(std::move(p));
    }
    for (const Step& s : plan_.steps) {
      if (s.depth > kMaxEvaluationDepth) {
        errors_.push_back(diagnose(Code::E113, s.node->span, {{"limit", std::to_string(kMaxEvaluationDepth)}}));
        break;
      }
    }
    if (!errors_.empty()) return fail(std::move(errors_));
    return std::move(plan_);
  }

 private:
  std::vector<Range> ranges(const std::vector<Binder>& binders, const std::vector<NodePtr>& body) {
    std::vector<Range> out;
    for (const Binder& b : binders) {
      Range r;
      r.slot = b.id;
      if (b.lo) r.lo = step(b.lo);
      r.hi = step(b.hi);
      if (r.hi->op != Op::kInteger || (r.lo && r.lo->op != Op::kInteger)) {
        for (const NodePtr& node : body) limit(r, node);
      }
      out.push_back(r);
    }
    return out;
  }

  // The least dimension in which the index stands bare in a read that happens for every instance.
  void limit(Range& r, const NodePtr& node) {
    if (std::ranges::any_of(node->binders, [&](const Binder& b) { return b.id == r.slot; })) return;
    if (node->op == Op::kRead) {
      for (size_t i = 0; i < node->args.size(); ++i) {
        int64_t size = binding_.shapes[node->id][i];
        bool bare = node->args[i]->op == Op::kIndex && node->args[i]->id == r.slot;
        if (bare && (r.limit < 0 || size < r.limit)) {
          r.limit = size;
          r.limited_by = node->name;
        }
      }
    }
    Family family = row(*node).family;
    if (family == Family::select) return limit(r, node->args[1]);
    if (family == Family::logic) return limit(r, node->args[0]);
    if (family == Family::reduction) return;  // may be over nothing
    for (const NodePtr& arg : node->args) limit(r, arg);
  }

  // The same of what an update writes, if every instance does.
  void limit_by_left(Range& r, const Update& u) {
    if (r.hi->op == Op::kInteger && (!r.lo || r.lo->op == Op::kInteger)) return;
    for (size_t i = 0; i < u.subscripts.size(); ++i) {
      const Node& s = *u.subscripts[i];
      int64_t size = binding_.shapes[static_cast<size_t>(u.tensor)][i];
      if (s.op != Op::kIndex || s.id != r.slot || (r.limit >= 0 && size >= r.limit)) continue;
      r.limit = size;
      r.limited_by = program_.tensors[static_cast<size_t>(u.tensor)].name;
      r.limits_write = true;
    }
  }

  const Step* step(const NodePtr& node) {
    auto known = done_.find(node.get());
    if (known != done_.end()) return known->second;
    Step s;
    s.op = node->op;
    s.kind = node->kind;
    s.node = node.get();
    s.target = node->id;
    if (node->op == Op::kReal) {
      s.real = node->real;
    } else {
      s.integer = node->integer;
    }
    bool exact_division = node->op == Op::kDiv && node->kind == Kind::kInt;
    if (node->op == Op::kDimension || exact_division) {
      auto value = evaluate(node, binding_.sizes);
      if (!value) {
        errors_.push_back(diagnose(Code::E706, node->span, {{"y", "a bound"}, {"e", print(node)}}));
      }
      s.op = Op::kInteger;
      s.integer = value.value_or(0);
    } else {
      s.ranges = ranges(node->binders, node->args);
      for (const NodePtr& arg : node->args) s.args.push_back(step(arg));
    }
    s.family = row(s.op).family;
    if (s.op == Op::kRead) {
      s.shape = binding_.shapes[static_cast<size_t>(node->id)].data();
      s.result = program_.tensors[static_cast<size_t>(node->id)].role == Role::kResult;
    }
    fold(s);
    for (const Step* arg : s.args) s.depth = std::max(s.depth, arg->depth + 1);
    for (const Range& r : s.ranges) s.depth = std::max({s.depth, r.hi->depth + 1, r.lo ? r.lo->depth + 1 : 0});
    precision(s, node);
    s.nonnegative = nonnegative(s);
    s.masks = masks(s);
    if (node->op == Op::kLocal) s.depth = std::max(s.depth, plan_.locals[node->id].depth + 1);
    Family family = row(*node).family;
    bool costly = family == Family::reduction;
    bool constant = node->free == 0 && (family == Family::function || family == Family::function2);
    if (costly || constant) {
      s.remembered = true;
      s.memo = plan_.memos++;
      for (IndexId id : free_indices(node)) s.free.push_back(id);
    }
    if (node->op == Op::kSum) s.parts = sum_parts(node), s.gated = gated_sum(node);
    plan_.steps.push_back(std::move(s));
    return done_[node.get()] = &plan_.steps.back();
  }

  // Sizes meet numbers often (H // G): such operations are done once. Division by zero stays, to be reported.
  static void fold(Step& s) {
    if (s.family == Family::negate && (s.args[0]->op == Op::kReal || s.args[0]->op == Op::kInteger)) {
      const Step& arg = *s.args[0];
      s.op = arg.op;
      s.family = Family::literal;
      if (s.op == Op::kReal) {
        s.real = -arg.real;
      } else {
        s.integer = static_cast<int64_t>(-static_cast<uint64_t>(arg.integer));
      }
      s.args.clear();
      return;
    }
    if (s.family != Family::arithmetic || s.kind != Kind::kInt || s.args.size() != 2) return;
    if (s.args[0]->op != Op::kInteger || s.args[1]->op != Op::kInteger) return;
    int64_t a = s.args[0]->integer, b = s.args[1]->integer, out = 0;
    switch (s.op) {
      case Op::kAdd:
        if (__builtin_add_overflow(a, b, &out)) return;
        break;
      case Op::kSub:
        if (__builtin_sub_overflow(a, b, &out)) return;
        break;
      case Op::kMul:
        if (__builtin_mul_overflow(a, b, &out)) return;
        break;
      case Op::kFloorDiv:
        if (b <= 0) return;
        out = floor_divide(a, b);
        break;
      case Op::kMod:
        if (b <= 0) return;
        out = a - floor_divide(a, b) * b;
        break;
      default: return;
    }
    s.op = Op::kInteger;
    s.family = Family::literal;
    s.integer = out;
    s.args.clear();
  }

  // f64 where an operand is; a literal takes the precision of the operation it stands in.
  void precision(Step& s, const NodePtr& node) {
    Family family = row(*node).family;
    if (node->op == Op::kRead) s.type = binding_.type(program_.tensors[node->id].type);
    if (family == Family::cast) s.type = binding_.type(node->type);
    if (!precisions_.wide(node)) return;
    if (family != Family::compare) s.unit = kDouble;
    if (family != Family::read) widen(s);
  }

  void widen(Step& s) {
    for (const Step*& arg : s.args) {
      if (arg->op != Op::kReal && arg->kind != Kind::kInt) continue;
      Step copy = *arg;
      copy.unit = kDouble;
      plan_.steps.push_back(std::move(copy));
      arg = &plan_.steps.back();
    }
  }

  // No rounding makes a sum of squares negative, so its root is a number although its bound reaches below 0.
  bool nonnegative(const Step& s) const {
    auto arg = [&](size_t i) { return s.args[i]->nonnegative; };
    auto all = [&] { return std::ranges::all_of(s.args, [](const Step* a) { return a->nonnegative; }); };
    switch (s.op) {
      case Op::kInteger: return s.integer >= 0;
      case Op::kReal: return s.real >= 0;
      case Op::kInf:
      case Op::kExp:
      case Op::kExp2:
      case Op::kSqrt:
      case Op::kRsqrt:
      case Op::kAbs: return true;
      case Op::kMul: return s.args[0] == s.args[1] || all();
      case Op::kAdd:
      case Op::kDiv:
      case Op::kMinOf: return all();
      case Op::kMaxOf: return std::ranges::any_of(s.args, [](const Step* a) { return a->nonnegative; });
      case Op::kSelect: return arg(0) && arg(2);
      case Op::kPow:
      case Op::kFloor:
      case Op::kCeil:
      case Op::kRound:
      case Op::kCast:
      case Op::kWithin:
      case Op::kSum:
      case Op::kProd:
      case Op::kMax:
      case Op::kMin: return s.kind == Kind::kReal && arg(0);
      case Op::kLocal: return s.kind == Kind::kReal && plan_.locals[static_cast<size_t>(s.target)].value->nonnegative;
      default: return false;
    }
  }

  // Weights of elements that the text leaves out: implementations take such an element as absent, whatever it holds
  // (docs/derivation.md, guards).
  bool masks(const Step& s) const {
    auto any = [&](std::initializer_list<size_t> of) {
      return std::ranges::any_of(of, [&](size_t i) { return i < s.args.size() && s.args[i]->masks; });
    };
    auto zero = [](const Step& a) {
      return (a.op == Op::kInteger && a.integer == 0) || (a.op == Op::kReal && a.real == 0);
    };
    if (s.kind != Kind::kReal) return false;
    switch (s.family) {
      case Family::select: return zero(*s.args[0]) || zero(*s.args[2]) || any({0, 2});
      case Family::function: return s.op == Op::kExp || s.op == Op::kExp2;
      case Family::arithmetic: return s.op == Op::kDiv ? any({0}) : s.op == Op::kMul && any({0, 1});
      case Family::negate:
      case Family::cast:
      case Family::within: return any({0});
      case Family::read: return s.op == Op::kLocal && plan_.locals[static_cast<size_t>(s.target)].value->masks;
      default: return false;
    }
  }

  // Only of sums for which the operands make a difference: rounded or flushed ones, and those whose factors may be
  // grouped anew.
  const SumParts* sum_parts(const NodePtr& node) {
    auto c = contraction(program_, binding_, node);
    if (!c) return nullptr;
    bool regrouped = c->factors.size() > 2 || std::ranges::any_of(c->factors, [](const Contraction::Factor& f) {
                       return f.apart || !f.inside.empty();
                     });
    if (!c->rounds_to && !c->flushes && !regrouped) return nullptr;
    SumParts parts;
    parts.flushes = c->flushes;
    if (c->rounds_to) {
      parts.type = *c->rounds_to;
      parts.unit = unit_roundoff(*c->rounds_to);
      parts.underflow = underflow_error(*c->rounds_to);
      parts.largest = largest(*c->rounds_to);
    }
    for (int k : {0, 1}) parts.computed[k] = c->computed[k] && c->rounds_to;
    for (const Contraction::Factor& f : c->factors) parts.factors.push_back(factor(f));
    postfix(node->args[0], parts.body);
    plan_.parts.push_back(std::move(parts));
    return &plan_.parts.back();
  }

  SumParts::Factor factor(const Contraction::Factor& f) {
    SumParts::Factor out{step(f.value), f.operand, f.inverse, f.hoisted, f.apart, {}};
    for (const Contraction::Factor& g : f.inside) out.inside.push_back(factor(g));
    return out;
  }

  const GatedSum* gated_sum(const NodePtr& node) {
    if (node->kind != Kind::kReal) return nullptr;
    GatedSum out{.gates = nullptr, .others = {}};
    for (const Contraction::Factor& f : factors_of(node->args[0])) {
      bool gates = f.value->op == Op::kProd && std::ranges::any_of(node->binders, [&](const Binder& b) {
                     std::vector<IndexId> free = free_indices(f.value);
                     return std::ranges::find(free, b.id) != free.end();
                   });
      if (gates && (f.inverse || out.gates)) return nullptr;
      if (gates) {
        out.gates = step(f.value);
      } else {
        out.others.push_back({step(f.value), f.inverse});
      }
    }
    if (!out.gates) return nullptr;
    plan_.gated.push_back(std::move(out));
    return &plan_.gated.back();
  }

  // The products, quotients and signs of a body, as contraction() takes them apart.
  static void postfix(const NodePtr& node, std::vector<Op>& out) {
    if (node->op != Op::kMul && node->op != Op::kDiv && node->op != Op::kNeg) return out.push_back(Op::kRead);
    for (const NodePtr& arg : node->args) postfix(arg, out);
    out.push_back(node->op);
  }

  const Program& program_;
  const Binding& binding_;
  Precisions precisions_;
  Plan plan_;
  std::unordered_map<const Node*, const Step*> done_;
  Diagnostics errors_;
};

}  // namespace

Result<Plan> make_plan(const Program& program, const Binding& binding) { return Planner(program, binding).run(); }

}  // namespace quern::expr
