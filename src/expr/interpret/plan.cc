#include "expr/interpret/plan.h"

#include <algorithm>

#include "expr/print.h"
#include "expr/prove/linear.h"
#include "expr/substitute.h"

namespace quern::expr {
namespace {

constexpr double kSingle = 0x1p-24, kDouble = 0x1p-53;
constexpr int kMaxEvaluationDepth = 10000;

class Planner {
 public:
  Planner(const Program& program, const Binding& binding) : program_(program), binding_(binding) {
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
      r.place = b.hi.get();
      if (r.hi->op != Op::kInteger) {
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
    if (s.op == Op::kRead) s.shape = binding_.shapes[static_cast<size_t>(node->id)].data();
    fold(s);
    for (const Step* arg : s.args) s.depth = std::max(s.depth, arg->depth + 1);
    for (const Range& r : s.ranges) s.depth = std::max({s.depth, r.hi->depth + 1, r.lo ? r.lo->depth + 1 : 0});
    precision(s, *node);
    if (node->op == Op::kLocal) s.depth = std::max(s.depth, plan_.locals[node->id].depth + 1);
    Family family = row(*node).family;
    bool costly = family == Family::reduction;
    bool constant = node->free == 0 && (family == Family::function || family == Family::function2);
    if (costly || constant) {
      s.remembered = true;
      s.memo = plan_.memos++;
      for (IndexId id : free_indices(node)) s.free.push_back(id);
    }
    if (node->op == Op::kSum) s.parts = sum_parts(node);
    plan_.steps.push_back(std::move(s));
    return done_[node.get()] = &plan_.steps.back();
  }

  // Sizes meet numbers often (H // G): such operations are done once. Division by zero stays, to be reported.
  static void fold(Step& s) {
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
  void precision(Step& s, const Node& node) {
    switch (row(node).family) {
      case Family::read: {
        if (node.op == Op::kLocal) {
          const LocalPlan& l = plan_.locals[node.id];
          s.unit = l.type ? (*l.type == ScalarType::f64 ? kDouble : kSingle) : l.value->unit;
        } else {
          s.type = binding_.type(program_.tensors[node.id].type);
          s.unit = s.type == ScalarType::f64 ? kDouble : kSingle;
        }
        return;
      }
      case Family::cast:
        s.type = binding_.type(node.type);
        s.unit = s.type == ScalarType::f64 ? kDouble : kSingle;
        return;
      case Family::compare:
      case Family::logic:
      case Family::negation: return;
      default: break;
    }
    if (s.kind != Kind::kReal) return;
    bool wide = false;
    for (size_t i = 0; i < s.args.size(); ++i) {
      bool condition = s.op == Op::kSelect && i == 1;
      wide |= !condition && s.args[i]->kind == Kind::kReal && s.args[i]->unit == kDouble;
    }
    if (!wide) return;
    s.unit = kDouble;
    for (const Step*& arg : s.args) {
      if (arg->op != Op::kReal && arg->kind != Kind::kInt) continue;
      Step copy = *arg;
      copy.unit = kDouble;
      plan_.steps.push_back(std::move(copy));
      arg = &plan_.steps.back();
    }
  }

  const SumParts* sum_parts(const NodePtr& node) {
    auto c = contraction(program_, binding_, node);
    if (!c || !c->rounds_to) return nullptr;
    SumParts parts;
    parts.unit = unit_roundoff(*c->rounds_to);
    parts.underflow = underflow_error(*c->rounds_to);
    for (int k : {0, 1}) parts.computed[k] = c->computed[k];
    for (const Contraction::Factor& f : c->factors) parts.factors[f.operand].emplace_back(step(f.value), f.inverse);
    plan_.parts.push_back(std::move(parts));
    return &plan_.parts.back();
  }

  const Program& program_;
  const Binding& binding_;
  Plan plan_;
  std::unordered_map<const Node*, const Step*> done_;
  Diagnostics errors_;
};

}  // namespace

Result<Plan> make_plan(const Program& program, const Binding& binding) { return Planner(program, binding).run(); }

}  // namespace quern::expr
