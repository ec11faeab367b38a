// Values: operations, branches, casts, reads of tensors and locals, with the guards and checks that they need.
#include <algorithm>
#include <cmath>
#include <limits>

#include "expr/print.h"
#include "expr/substitute.h"
#include "fuse/expand/expander.h"

namespace quern::fuse {

using expr::NodePtr;
using tile::AxisSet;
using tile::ExprPtr;
using Family = expr::Family;

namespace {

// The tile operation of the same meaning; names are the same in both tables but for what differs.
std::optional<tile::Op> same_operation(expr::Op op) {
  switch (op) {
#define SAME(id) \
  case expr::Op::id: return tile::Op::id;
    SAME(kAdd)
    SAME(kSub)
    SAME(kMul)
    SAME(kDiv)
    SAME(kFloorDiv)
    SAME(kMod)
    SAME(kNeg)
    SAME(kBitOr)
    SAME(kBitXor)
    SAME(kBitAnd) SAME(kShl) SAME(kShr) SAME(kLt) SAME(kLe) SAME(kGt) SAME(kGe) SAME(kEq) SAME(kNe) SAME(kNot)
        SAME(kAnd) SAME(kOr) SAME(kExp) SAME(kExp2) SAME(kLog) SAME(kLog2) SAME(kSqrt) SAME(kRsqrt) SAME(kSin)
            SAME(kCos) SAME(kTanh) SAME(kErf) SAME(kPow) SAME(kAbs) SAME(kFloor) SAME(kCeil) SAME(kRound) SAME(kMaxOf)
                SAME(kMinOf) SAME(kRandomBits)
#undef SAME
                    default : return std::nullopt;
  }
}

}  // namespace

const std::vector<expr::IndexId>& Expander::free(const NodePtr& node) {
  auto [at, added] = free_.try_emplace(node.get());
  if (added) at->second = expr::free_indices(node);
  return at->second;
}

Expander::Value Expander::value(const NodePtr& node, const Path& full) {
  Path path = projected(full, axes_below(node));
  std::vector<const void*> key{node.get()};
  for (expr::IndexId id : free(node)) key.push_back(env_.at(id).get());
  for (const Condition& c : path) key.push_back(c.e.get());
  if (auto at = done_.find(key); at != done_.end()) return at->second;
  Value out;
  bool again = true;
  if (!path.empty()) {
    out = value(node, Path(path.begin(), path.end() - 1));
    again = out.needs && !covered(out.e, path.back().e);
  }
  if (again) out = compute(node, path);
  done_[std::move(key)] = out;
  return out;
}

Expander::Value Expander::compute(const NodePtr& node, const Path& path) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  switch (row(*node).family) {
    case Family::literal:
      switch (node->op) {
        case expr::Op::kInteger: return {integer(node->integer)};
        case expr::Op::kReal: return {in(tile::real(node->real))};
        case expr::Op::kInf: return {in(tile::real(kInf))};
        case expr::Op::kNan: return {in(tile::real(std::numeric_limits<double>::quiet_NaN()))};
        default: return {in(tile::boolean(node->op == expr::Op::kTrue))};
      }
    case Family::resolved:
      if (node->op == expr::Op::kIndex) return {env_.at(node->id)};
      return {integer(binding_.sizes.at(node->name))};
    case Family::read: return node->op == expr::Op::kRead ? read(node, path) : local(node, path);
    case Family::within: return within(node, path);
    case Family::cast: return cast(node, path);
    case Family::select: return select(node, path);
    case Family::logic: return logic(node, path);
    case Family::reduction: return reduction(node, path);
    default: return operation(node, path);
  }
}

Expander::Value Expander::operation(const NodePtr& node, const Path& path) {
  if (node->op == expr::Op::kDiv && node->kind == Kind::kInt) {  // of dimensions, exact
    return {integer(expr::evaluate(node, binding_.sizes).value_or(0))};
  }
  Value out;
  std::vector<ExprPtr> args;
  for (const NodePtr& arg : node->args) {
    Value v = value(arg, path);
    out.needs |= v.needs;
    args.push_back(v.e);
  }
  Family family = row(*node).family;
  bool compares = family == Family::compare;
  bool real = node->kind == Kind::kReal;
  if (compares) {
    for (const ExprPtr& a : args) real |= quern::kind(a->type) == Kind::kReal;
  }
  if (real) {
    ScalarType type = precision(node);
    for (ExprPtr& a : args) a = to(type, a);
  }
  tile::Op op = *same_operation(node->op);
  bool whole = node->kind == Kind::kInt &&
               (node->op == expr::Op::kFloor || node->op == expr::Op::kCeil || node->op == expr::Op::kRound);
  if (whole) return {args[0], out.needs};
  if (family == Family::extremum) {
    out.e = args[0];
    for (size_t i = 1; i < args.size(); ++i) out.e = make(op, {out.e, args[i]});
    return out;
  }
  if (op == tile::Op::kNeg && args[0]->op == tile::Op::kReal) {
    out.e = in(tile::real(-args[0]->real, args[0]->type));
    return out;
  }
  out.e = make(op, std::move(args));
  if (std::ranges::find(options_.lacks, tile::Lack{out.e->op, out.e->type}) != options_.lacks.end()) {
    lacking_.push_back(diagnose(
        Code::N902, node->span,
        {{"f", std::string(row(*node).text)}, {"device", options_.device}, {"type", std::string(name(out.e->type))}}));
  }
  return out;
}

Expander::Value Expander::select(const NodePtr& node, const Path& path) {
  Value c = value(node->args[1], path);
  if (c.e->op == tile::Op::kBoolean) {
    Value v = value(node->args[c.e->integer ? 0 : 2], path);
    if (node->kind == Kind::kReal) v.e = to(precision(node), v.e);
    return v;
  }
  Value a = value(node->args[0], with(path, c.e));
  Value b = value(node->args[2], with(path, negated(c.e)));
  Value out;
  out.needs = a.needs || b.needs || c.needs;
  if (node->kind == Kind::kReal) {
    ScalarType type = precision(node);
    a.e = to(type, a.e);
    b.e = to(type, b.e);
  }
  out.e = chosen(c.e, a.e, b.e);
  return out;
}

Expander::Value Expander::logic(const NodePtr& node, const Path& path) {
  bool conjunction = node->op == expr::Op::kAnd;
  Value a = value(node->args[0], path);
  Value b = value(node->args[1], with(path, conjunction ? a.e : negated(a.e)));
  return {make(conjunction ? tile::Op::kAnd : tile::Op::kOr, {a.e, b.e}), a.needs || b.needs};
}

Expander::Value Expander::cast(const NodePtr& node, const Path& path) {
  Value v = value(node->args[0], path);
  ScalarType type = binding_.type(node->type);
  ExprPtr e = v.e;
  if (literal(e) && quern::kind(type) == Kind::kReal && type == ScalarType::f64) return {to(type, e), v.needs};
  return {widened(in(tile::cast(type, e))), v.needs};
}

Expander::Value Expander::read(const NodePtr& node, const Path& path) {
  auto t = static_cast<size_t>(node->id);
  const expr::Tensor& tensor = program_.tensors[t];
  int32_t parameter = node->id;
  if (reads_snapshot_ && snapshots_[t] >= 0) parameter = snapshots_[t];
  Value out;
  tile::Expr load{.op = tile::Op::kLoad, .type = binding_.type(tensor.type), .id = parameter};
  bool inside = true, through = false;
  for (size_t i = 0; i < node->args.size(); ++i) {
    Value s = value(node->args[i], path);
    out.needs |= s.needs;
    load.args.push_back(s.e);
    if (ranges_.inside(s.e, integer(binding_.shapes[t][i]))) continue;
    inside = false;
    if (proof(*node->args[i], tensor.name, static_cast<int>(i), false) == expr::Proof::kProved || options_.trust)
      continue;
    load.checked |= 1u << i;
    through = true;
    load.site = site(Code::E801, node->args[i]->span, tensor.name.str(), print(node->args[i]));
  }
  if (!inside) {
    if (!path.empty()) load.guard = condition(path);
    out.needs = true;
  }
  if (!through) load.site = -1;
  load.span = node->span;
  ExprPtr e = in(tile::with_args(load, load.args, load.guard));
  if (!inside) unsafe_.insert(e.get());
  out.e = widened(e);
  return out;
}

// What is computed with stays in f32, f64, i64 or bool.
ExprPtr Expander::widened(const ExprPtr& e) {
  Kind kind = quern::kind(e->type);
  if (kind == Kind::kReal) return in(tile::cast(e->type == ScalarType::f64 ? e->type : ScalarType::f32, e));
  return kind == Kind::kInt ? in(tile::cast(ScalarType::i64, e)) : e;
}

// Whether an index is in the range of a local: null where that is proved.
Expander::Value Expander::checked_range(const expr::Node& at, const ExprPtr& index, const ExprPtr& lo,
                                        const ExprPtr& hi, Symbol name, int axis, const Path& path) {
  if (proof(at, name, axis, false) == expr::Proof::kProved || options_.trust) return {};
  ExprPtr ok = both(make(tile::Op::kLe, {lo, index}), make(tile::Op::kLt, {index, hi}));
  if (ok->op == tile::Op::kBoolean && ok->integer) return {};
  auto place = std::make_shared<const expr::Node>(at);
  int32_t s = site(Code::E802, at.span, name.str(), print(place));
  return {in(tile::check(ok, index, condition(path), s)), true};
}

Expander::Value Expander::local(const NodePtr& node, const Path& path) {
  const expr::Local& l = program_.locals[static_cast<size_t>(node->id)];
  std::vector<ExprPtr> at;
  Value out;
  for (const NodePtr& arg : node->args) {
    Value s = value(arg, path);
    out.needs |= s.needs;
    at.push_back(s.e);
  }
  // The local's own indices are others than those of its reader.
  std::vector<std::pair<expr::IndexId, ExprPtr>> before;
  ExprPtr inside;
  for (size_t i = 0; i < at.size(); ++i) {
    const expr::Binder& b = l.binders[i];
    Value lo = b.lo ? value(b.lo, with(path, inside)) : Value{integer(0)};
    Value hi = value(b.hi, with(path, inside));
    Value c = checked_range(*node->args[i], at[i], lo.e, hi.e, l.name, static_cast<int>(i), with(path, inside));
    if (c.e) {
      inside = both(inside, c.e);
      out.needs = true;
    }
    auto outer = env_.find(b.id);
    before.emplace_back(b.id, outer == env_.end() ? nullptr : outer->second);
    env_[b.id] = at[i];
  }
  const Memory& memory = stored_[static_cast<size_t>(node->id)];
  Value v = memory.parameter < 0 ? value(l.value, with(path, inside)) : stored(memory, at, with(path, inside));
  for (const auto& [id, e] : before) {
    if (e) {
      env_[id] = e;
    } else {
      env_.erase(id);
    }
  }
  out.needs |= v.needs;
  ExprPtr e = v.e;
  if (l.type && memory.parameter < 0) e = widened(in(tile::cast(binding_.type(*l.type), e)));
  out.e = inside ? chosen(inside, e, in(tile::zero(e->type))) : e;
  return out;
}

// An element of a local that lies in memory.
Expander::Value Expander::stored(const Memory& memory, const std::vector<ExprPtr>& at, const Path& path) {
  const tile::Parameter& p = graph_.program.parameters[static_cast<size_t>(memory.parameter)];
  bool inside = memory.whole;
  for (size_t i = 0; i < at.size(); ++i) inside = inside && ranges_.inside(at[i], p.shape[i]);
  ExprPtr e = in(tile::load(memory.parameter, p.type, at, inside || path.empty() ? nullptr : condition(path)));
  if (!inside) unsafe_.insert(e.get());
  return {widened(e), !inside};
}

Expander::Value Expander::within(const NodePtr& node, const Path& path) {
  Value at = value(node->args[1], path), lo = value(node->args[2], path), hi = value(node->args[3], path);
  Value c = checked_range(*node->args[1], at.e, lo.e, hi.e, Symbol(expr::within_name(*node)), 0, path);
  Value v = value(node->args[0], with(path, c.e));
  v.needs |= at.needs || lo.needs || hi.needs || c.needs;
  if (c.e) v.e = chosen(c.e, v.e, in(tile::zero(v.e->type)));
  return v;
}

// --- construction ---

// Reals of numbers alone: sqrt(D), 1 / K. Rounded once more where the kernel takes them, which their bound allows.
ExprPtr Expander::folded(tile::Op op, const std::vector<ExprPtr>& args) {
  for (const ExprPtr& a : args) {
    if (a->op != tile::Op::kReal || !std::isfinite(a->real)) return nullptr;
  }
  if (args.empty() || args.size() > 2) return nullptr;
  double x = args[0]->real, y = args.back()->real, value = 0;
  if (args[0]->type == ScalarType::f32) {
    x = static_cast<float>(x);
    y = static_cast<float>(y);
  }
  switch (op) {
    case tile::Op::kAdd: value = x + y; break;
    case tile::Op::kSub: value = x - y; break;
    case tile::Op::kMul: value = x * y; break;
    case tile::Op::kDiv: value = x / y; break;
    case tile::Op::kSqrt: value = std::sqrt(x); break;
    default: return nullptr;
  }
  if (args[0]->type == ScalarType::f32) value = static_cast<float>(value);
  return std::isfinite(value) ? in(tile::real(value, args[0]->type)) : nullptr;
}

ExprPtr Expander::make(tile::Op op, std::vector<ExprPtr> args) {
  bool whole = args.size() == 2 && args[0]->op == tile::Op::kInteger && args[1]->op == tile::Op::kInteger;
  if (whole) {
    int64_t a = args[0]->integer, b = args[1]->integer;
    if (tile::row(op).gives == tile::Gives::boolean) {
      bool holds = op == tile::Op::kLt   ? a < b
                   : op == tile::Op::kLe ? a <= b
                   : op == tile::Op::kGt ? a > b
                   : op == tile::Op::kGe ? a >= b
                   : op == tile::Op::kEq ? a == b
                                         : a != b;
      return in(tile::boolean(holds));
    }
    if (tile::row(op).family != tile::Family::random) return integer(tile::evaluate(op, a, b));
  }
  if (ExprPtr number = folded(op, args)) return number;
  ExprPtr e = in(tile::apply(op, std::move(args)));
  if (tile::row(op).family == tile::Family::compare && quern::kind(e->args[0]->type) == Kind::kInt) {
    // Known for all indices?
    tile::Bounds a = ranges_(e->args[0]), b = ranges_(e->args[1]);
    if (op == tile::Op::kLt || op == tile::Op::kGe) {
      if (a.high && b.low && *a.high < *b.low) return in(tile::boolean(op == tile::Op::kLt));
      if (a.low && b.high && *a.low >= *b.high) return in(tile::boolean(op == tile::Op::kGe));
    }
    if (op == tile::Op::kLe || op == tile::Op::kGt) {
      if (a.high && b.low && *a.high <= *b.low) return in(tile::boolean(op == tile::Op::kLe));
      if (a.low && b.high && *a.low > *b.high) return in(tile::boolean(op == tile::Op::kGt));
    }
  }
  if (quern::kind(e->type) == Kind::kInt && e->op != tile::Op::kInteger) {
    if (auto v = ranges_.constant(e)) return integer(*v);
    if (e->args.size() == 2 && e->args[1]->op == tile::Op::kInteger) {
      int64_t b = e->args[1]->integer;
      bool same = (b == 0 && (op == tile::Op::kAdd || op == tile::Op::kSub)) ||
                  (b == 1 && (op == tile::Op::kMul || op == tile::Op::kFloorDiv));
      if (same) return e->args[0];
      // A remainder of what is smaller anyway.
      tile::Bounds a = ranges_(e->args[0]);
      if (op == tile::Op::kMod && b > 0 && a.low && *a.low >= 0 && a.high && *a.high < b) return e->args[0];
    }
  }
  return e;
}

ExprPtr Expander::condition(const Path& path) {
  ExprPtr out;
  for (const Condition& c : path) out = both(out, c.e);
  return out ? out : in(tile::boolean(true));
}

Expander::Path Expander::with(Path path, const ExprPtr& condition) {
  return condition ? with(std::move(path), Condition{condition, -1, nullptr, nullptr}) : path;
}

Expander::Path Expander::with(Path path, const Condition& c) {
  if (!c.e || (c.e->op == tile::Op::kBoolean && c.e->integer)) return path;
  for (const Condition& known : path) {
    if (known.e == c.e) return path;
    // An index of a range says that it isn't empty.
    if (c.axis < 0 && c.lo && known.axis >= 0 && known.lo == c.lo && known.hi == c.hi) return path;
  }
  if (c.axis >= 0) {
    std::erase_if(path, [&](const Condition& k) { return k.axis < 0 && k.lo && k.lo == c.lo && k.hi == c.hi; });
  }
  path.push_back(c);
  return path;
}

Expander::Path Expander::projected(const Path& path, AxisSet axes) {
  Path out;
  for (const Condition& c : path) {
    if (c.axis < 0 || axes.has(c.axis)) {
      out = with(std::move(out), c);
    } else {
      out = with(std::move(out), Condition{make(tile::Op::kLt, {c.lo, c.hi}), -1, c.lo, c.hi});
    }
  }
  return out;
}

bool Expander::covered(const ExprPtr& e, const ExprPtr& condition) {
  auto [need, first] = needy_.try_emplace(e.get());
  if (first) {
    std::unordered_set<const tile::Expr*> seen;
    auto walk = [&](auto& self, const ExprPtr& x) -> void {
      if (!x || !seen.insert(x.get()).second) return;
      if (unsafe_.contains(x.get()) || x->op == tile::Op::kCheck) need->second.push_back(x.get());
      for (const ExprPtr& a : x->args) self(self, a);
      self(self, x->guard);
    };
    walk(walk, e);
  }
  auto [below, fresh] = below_.try_emplace(condition.get());
  if (fresh) {
    auto walk = [&](auto& self, const ExprPtr& x) -> void {
      if (!x || !below->second.insert(x.get()).second) return;
      for (const ExprPtr& a : x->args) self(self, a);
      self(self, x->guard);
    };
    walk(walk, condition);
  }
  for (const tile::Expr* n : need->second) {
    if (!below->second.contains(n)) return false;
  }
  return true;
}

ExprPtr Expander::both(const ExprPtr& a, const ExprPtr& b) {
  if (!a || a == b) return b;
  if (!b) return a;
  if (a->op == tile::Op::kBoolean) return a->integer ? b : a;
  if (b->op == tile::Op::kBoolean) return b->integer ? a : b;
  return make(tile::Op::kAnd, {a, b});
}

ExprPtr Expander::negated(const ExprPtr& a) {
  if (a->op == tile::Op::kBoolean) return in(tile::boolean(!a->integer));
  if (a->op == tile::Op::kNot) return a->args[0];
  if (tile::row(*a).family == tile::Family::compare && quern::kind(a->args[0]->type) == Kind::kInt) {
    switch (a->op) {
      case tile::Op::kLt: return make(tile::Op::kGe, a->args);
      case tile::Op::kLe: return make(tile::Op::kGt, a->args);
      case tile::Op::kGt: return make(tile::Op::kLe, a->args);
      case tile::Op::kGe: return make(tile::Op::kLt, a->args);
      default: break;
    }
  }
  return make(tile::Op::kNot, {a});
}

ExprPtr Expander::chosen(const ExprPtr& c, ExprPtr then, ExprPtr otherwise) {
  if (c->op == tile::Op::kBoolean) return c->integer ? then : otherwise;
  if (then == otherwise && c->op != tile::Op::kCheck) return then;
  return in(tile::select(c, std::move(then), std::move(otherwise)));
}

bool Expander::literal(const ExprPtr& e) const { return tile::row(*e).family == tile::Family::literal; }

ExprPtr Expander::to(ScalarType type, const ExprPtr& e) {
  if (e->type == type) return e;
  if (e->op == tile::Op::kReal) return in(tile::real(e->real, type));
  if (e->op == tile::Op::kInteger && quern::kind(type) == Kind::kReal) {
    return in(tile::real(static_cast<double>(e->integer), type));
  }
  return in(tile::cast(type, e));
}

ScalarType Expander::precision(const NodePtr& node) {
  return precisions_.wide(node) ? ScalarType::f64 : ScalarType::f32;
}

int32_t Expander::site(Code code, Span span, std::string tensor, std::string subscript,
                       std::optional<tile::Site::End> end) {
  std::string what = tensor + "[" + subscript;
  if (end) what += (end->last ? "<" : ">") + end->text;
  auto [at, added] = sites_.try_emplace({code, span.source, span.begin, span.end, std::move(what)},
                                        static_cast<int32_t>(graph_.program.sites.size()));
  if (added) graph_.program.sites.push_back({code, span, std::move(tensor), std::move(subscript), std::move(end)});
  return at->second;
}

expr::Proof Expander::proof(const expr::Node& subscript, Symbol tensor, int axis, bool write) const {
  const Span& s = subscript.span;
  std::string name = tensor.str();
  if (!s.source) name += print(std::make_shared<const expr::Node>(subscript));
  auto at = proofs_.find({s.source, s.begin, s.end, name, axis, write});
  return at == proofs_.end() ? expr::Proof::kChecked : at->second;
}

}  // namespace quern::fuse
