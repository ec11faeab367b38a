// Expressions, dimensions, indices and ranges: each operator makes the node that the parser would have made.
#include "quern/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "api/notation/recording.h"
#include "expr/print.h"
#include "expr/substitute.h"

namespace quern {
namespace internal {

void absorb(Expression& whole, const Expression& part) {
  if (!whole.fault) whole.fault = part.fault;
  auto by_serial = [](const TensorPtr& a, const TensorPtr& b) { return a->serial < b->serial; };
  if (std::ranges::includes(whole.tensors, part.tensors, by_serial)) return;
  std::vector<TensorPtr> both;
  std::ranges::set_union(whole.tensors, part.tensors, std::back_inserter(both), by_serial);
  whole.tensors = std::move(both);
}

Expression combine(expr::Node node, const std::vector<const Expression*>& parts) {
  Expression out;
  for (const Expression* part : parts) absorb(out, *part);
  out.node = expr::make(std::move(node));
  std::optional<Diagnostic> fault;
  if (out.node->depth > expr::kMaxDepth) {
    fault = diagnose(Code::E113, {}, {{"limit", std::to_string(expr::kMaxDepth)}});
  } else if (out.node->size > expr::kMaxSize) {
    fault = diagnose(Code::E118, {}, {{"kernel", "an expression"}, {"limit", std::to_string(expr::kMaxSize)}});
  }
  if (fault) {
    if (!out.fault) out.fault = std::move(fault);
    out.node = expr::make_integer(0);  // never seen: the fault is reported instead
  }
  return out;
}

Expression combine(expr::Op op, const std::vector<Expr>& parts) {
  expr::Node node{.op = op};
  std::vector<const Expression*> from;
  for (const Expr& part : parts) {
    node.args.push_back(Access::of(part).node);
    from.push_back(&Access::of(part));
  }
  return combine(std::move(node), from);
}

// An even id keeps its name, an odd one gives way. Ids are used again after 2^30 indices.
expr::IndexId new_index(bool gives_way) {
  static std::atomic<uint32_t> next = 0;
  return static_cast<expr::IndexId>((next++ & 0x3fffffff) << 1 | (gives_way ? 1 : 0));
}

bool gives_way(expr::IndexId id) { return id & 1; }

expr::Binder Access::binder(const Range& range, Expression& into) {
  const Expression& index = of(range.index_);
  expr::Binder b;
  b.name = index.node->name;
  b.id = index.node->id;
  b.lo_strict = range.lo_strict_;
  b.hi_inclusive = range.hi_inclusive_;
  if (range.lo_) {
    absorb(into, of(*range.lo_));
    b.lo = of(*range.lo_).node;
  }
  if (range.hi_) {
    absorb(into, of(*range.hi_));
    b.hi = of(*range.hi_).node;
  }
  return b;
}

}  // namespace internal

namespace {

using expr::Node;
using expr::NodePtr;
using expr::Op;
using internal::Access;
using internal::combine;
using internal::Expression;

template <class E = Expr>
E leaf(NodePtr node) {
  return Access::wrap<E>({std::move(node), {}, std::nullopt});
}

template <class E = Expr>
E named(Op op, std::string_view name) {
  Node n{.op = op};
  n.name = Symbol(name);
  return leaf<E>(expr::make(std::move(n)));
}

template <class E = Expr>
E operation(Op op, const std::vector<Expr>& parts) {
  return Access::wrap<E>(combine(op, parts));
}

Expr call(std::string_view function, const std::vector<Expr>& arguments) {
  Node n{.op = Op::kCall};
  n.name = Symbol(function);
  std::vector<const Expression*> parts;
  for (const Expr& a : arguments) {
    n.args.push_back(Access::of(a).node);
    parts.push_back(&Access::of(a));
  }
  return Access::wrap(combine(std::move(n), parts));
}

template <class E = Expr>
E reduction(Op op, const Ranges& over, const Expr& body) {
  Node n{.op = op};
  Expression bounds;
  for (const Range& r : over.list()) n.binders.push_back(Access::binder(r, bounds));
  n.args = {Access::of(body).node};
  return Access::wrap<E>(combine(std::move(n), {&bounds, &Access::of(body)}));
}

// Does the value of x depend on the index through a call, softmax[i](…), whose brackets name it again?
const Node* call_for_each(const NodePtr& x, expr::IndexId id) {
  bool binds = std::ranges::any_of(x->binders, [&](const expr::Binder& b) { return b.id == id; });
  if (binds) return x->op == Op::kCall && internal::one_for_each(x->name) ? x.get() : nullptr;
  for (const NodePtr& arg : x->args) {
    if (const Node* found = call_for_each(arg, id)) return found;
  }
  return nullptr;
}

}  // namespace

std::string Expr::text() const { return expr::print(expression_->node); }

Expr Expr::truth(bool value) { return leaf(expr::make(Node{.op = value ? Op::kTrue : Op::kFalse})); }

// Numbers are written without sign, so a negative one is a negation.
Expr Expr::whole(int64_t value) {
  if (value == INT64_MIN) {
    Node n{.op = Op::kInteger};
    n.integer = value;
    n.name = Symbol("0x8000000000000000");
    return leaf(expr::make(std::move(n)));
  }
  return value < 0 ? -whole(-value) : leaf(expr::make_integer(value));
}

Expr Expr::real(double value) {
  if (std::isnan(value)) return leaf(expr::make(Node{.op = Op::kNan}));
  if (std::signbit(value)) return -real(-value);
  if (std::isinf(value)) return leaf(expr::make(Node{.op = Op::kInf}));
  // 1e-6, where {fmt} writes 1e-06.
  std::string spelling = fmt::format("{}", value);
  if (size_t e = spelling.find('e'); e != std::string::npos) {
    size_t digits = e + 1 + (spelling[e + 1] == '-' || spelling[e + 1] == '+' ? 1 : 0);
    while (spelling[digits] == '0') spelling.erase(digits, 1);
    if (spelling[e + 1] == '+') spelling.erase(e + 1, 1);
  } else if (spelling.find('.') == std::string::npos) {
    spelling += ".0";
  }
  Node n{.op = Op::kReal};
  n.real = value;
  n.name = Symbol(spelling);
  return leaf(expr::make(std::move(n)));
}

// --- dimensions, indices, ranges ---

Dim::Dim(std::string_view name) : DimExpr(named<DimExpr>(Op::kUpper, name)), name_(&Symbol(name).str()) {}
Dim::Dim(std::string_view name, int64_t otherwise) : Dim(name) { otherwise_ = otherwise; }

Index::Index(std::string_view name) : Index(leaf<Index>(expr::make_index(internal::new_index(false), Symbol(name)))) {}

Index Index::fresh(std::string_view name) {
  return leaf<Index>(expr::make_index(internal::new_index(true), Symbol(name)));
}

Range Lower::below(const Expr& hi) const {
  Range out = range_;
  out.hi_ = hi;
  return out;
}
Range Lower::at_most(const Expr& hi) const {
  Range out = below(hi);
  out.hi_inclusive_ = true;
  return out;
}
Lower Index::from(const Expr& lo) const {
  Range out(*this);
  out.lo_ = lo;
  return Lower(std::move(out));
}
Lower Index::above(const Expr& lo) const {
  Lower out = from(lo);
  out.range_.lo_strict_ = true;
  return out;
}
Range Index::below(const Expr& hi) const { return Lower(*this).below(hi); }
Range Index::at_most(const Expr& hi) const { return Lower(*this).at_most(hi); }
Range Index::between(const Expr& lo, const Expr& hi) const { return from(lo).below(hi); }

// --- operators ---

Expr operator+(const Expr& a, const Expr& b) { return operation(Op::kAdd, {a, b}); }
Expr operator-(const Expr& a, const Expr& b) { return operation(Op::kSub, {a, b}); }
Expr operator*(const Expr& a, const Expr& b) { return operation(Op::kMul, {a, b}); }
Expr operator/(const Expr& a, const Expr& b) { return operation(Op::kDiv, {a, b}); }
Expr operator%(const Expr& a, const Expr& b) { return operation(Op::kMod, {a, b}); }
Expr operator&(const Expr& a, const Expr& b) { return operation(Op::kBitAnd, {a, b}); }
Expr operator|(const Expr& a, const Expr& b) { return operation(Op::kBitOr, {a, b}); }
Expr operator^(const Expr& a, const Expr& b) { return operation(Op::kBitXor, {a, b}); }
Expr operator<<(const Expr& a, const Expr& b) { return operation(Op::kShl, {a, b}); }
Expr operator>>(const Expr& a, const Expr& b) { return operation(Op::kShr, {a, b}); }
Expr operator-(const Expr& a) { return operation(Op::kNeg, {a}); }
Expr floor_div(const Expr& a, const Expr& b) { return operation(Op::kFloorDiv, {a, b}); }

DimExpr operator+(const DimExpr& a, const DimExpr& b) { return operation<DimExpr>(Op::kAdd, {a, b}); }
DimExpr operator-(const DimExpr& a, const DimExpr& b) { return operation<DimExpr>(Op::kSub, {a, b}); }
DimExpr operator*(const DimExpr& a, const DimExpr& b) { return operation<DimExpr>(Op::kMul, {a, b}); }
DimExpr operator/(const DimExpr& a, const DimExpr& b) { return operation<DimExpr>(Op::kDiv, {a, b}); }
DimExpr floor_div(const DimExpr& a, const DimExpr& b) { return operation<DimExpr>(Op::kFloorDiv, {a, b}); }

Condition operator<(const Expr& a, const Expr& b) { return operation<Condition>(Op::kLt, {a, b}); }
Condition operator<=(const Expr& a, const Expr& b) { return operation<Condition>(Op::kLe, {a, b}); }
Condition operator>(const Expr& a, const Expr& b) { return operation<Condition>(Op::kGt, {a, b}); }
Condition operator>=(const Expr& a, const Expr& b) { return operation<Condition>(Op::kGe, {a, b}); }
Condition operator==(const Expr& a, const Expr& b) { return operation<Condition>(Op::kEq, {a, b}); }
Condition operator!=(const Expr& a, const Expr& b) { return operation<Condition>(Op::kNe, {a, b}); }
Condition operator&&(const Expr& a, const Expr& b) { return operation<Condition>(Op::kAnd, {a, b}); }
Condition operator||(const Expr& a, const Expr& b) { return operation<Condition>(Op::kOr, {a, b}); }
Condition operator!(const Expr& a) { return operation<Condition>(Op::kNot, {a}); }

Condition between(const Expr& x, const Expr& lo, const Expr& hi) {
  Condition below = lo <= x, above = x < hi;
  Node n{.op = Op::kAnd};
  n.chain = true;
  n.args = {Access::of(below).node, Access::of(above).node};
  return Access::wrap<Condition>(combine(std::move(n), {&Access::of(below), &Access::of(above)}));
}

Expr if_else(const Expr& c, const Expr& a, const Expr& b) { return operation(Op::kSelect, {a, c, b}); }

// --- reductions ---

Expr sum(const Ranges& over, const Expr& body) { return reduction(Op::kSum, over, body); }
Expr prod(const Ranges& over, const Expr& body) { return reduction(Op::kProd, over, body); }
Expr max(const Ranges& over, const Expr& body) { return reduction(Op::kMax, over, body); }
Expr min(const Ranges& over, const Expr& body) { return reduction(Op::kMin, over, body); }
Expr max(const Index& over, const Expr& body) { return reduction(Op::kMax, over, body); }
Expr min(const Index& over, const Expr& body) { return reduction(Op::kMin, over, body); }
Expr argmax(const Ranges& over, const Expr& body) { return reduction(Op::kArgmax, over, body); }
Expr argmin(const Ranges& over, const Expr& body) { return reduction(Op::kArgmin, over, body); }
Condition any(const Ranges& over, const Expr& body) { return reduction<Condition>(Op::kAny, over, body); }
Condition all(const Ranges& over, const Expr& body) { return reduction<Condition>(Op::kAll, over, body); }

Expr max(const Expr& a, const Expr& b) { return operation(Op::kMaxOf, {a, b}); }
Expr min(const Expr& a, const Expr& b) { return operation(Op::kMinOf, {a, b}); }
Expr max_of(const std::vector<Expr>& values) { return operation(Op::kMaxOf, values); }
Expr min_of(const std::vector<Expr>& values) { return operation(Op::kMinOf, values); }

// --- functions ---

Expr exp(const Expr& x) { return call("exp", {x}); }
Expr exp2(const Expr& x) { return call("exp2", {x}); }
Expr log(const Expr& x) { return call("log", {x}); }
Expr log2(const Expr& x) { return call("log2", {x}); }
Expr sqrt(const Expr& x) { return call("sqrt", {x}); }
Expr rsqrt(const Expr& x) { return call("rsqrt", {x}); }
Expr sin(const Expr& x) { return call("sin", {x}); }
Expr cos(const Expr& x) { return call("cos", {x}); }
Expr tanh(const Expr& x) { return call("tanh", {x}); }
Expr erf(const Expr& x) { return call("erf", {x}); }
Expr abs(const Expr& x) { return call("abs", {x}); }
Expr floor(const Expr& x) { return call("floor", {x}); }
Expr ceil(const Expr& x) { return call("ceil", {x}); }
Expr round(const Expr& x) { return call("round", {x}); }
Expr pow(const Expr& x, const Expr& y) { return call("pow", {x, y}); }
Expr random_bits(const Expr& seed, const Expr& i) { return call("random_bits", {seed, i}); }

Expr at(const Expr& x, const Index& i, const Expr& j) {
  const Expression &value = Access::of(x), &to = Access::of(j);
  expr::IndexId id = Access::of(i).node->id;
  Expression out;
  absorb(out, value);
  absorb(out, to);
  auto fresh = [](Symbol) { return internal::new_index(true); };
  if (const Node* f = call_for_each(value.node, id)) {
    std::string name = Access::of(i).node->name.str();
    out.fault = diagnose(Code::E602, {}, {{"f", f->name.str()}, {"n", name}})
                    .with_remedy("give its value a name, p(" + name + ") = " + f->name.str() + "(" + name +
                                 ", ...), and read that elsewhere");
  }
  out.node = expr::Substitution({{id, to.node}}, fresh).apply(value.node);
  Node copy = *out.node;  // once more through the limits
  return Access::wrap(combine(std::move(copy), {&out}));
}

}  // namespace quern
