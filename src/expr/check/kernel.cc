// The order in which a kernel is checked, and constants.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "expr/check/elaborator.h"
#include "expr/print.h"

namespace quern::expr {
namespace {

// A number while constants are folded.
struct Number {
  bool real = false;
  int64_t integer = 0;
  double value = 0;
  double as_real() const { return real ? value : static_cast<double>(integer); }
};

// `culprit`: the part that is no constant.
std::optional<Number> fold(const NodePtr& node, const Declarations& declarations, NodePtr& culprit) {
  culprit = node;
  switch (node->op) {
    case Op::kInteger: return Number{false, node->integer, 0};
    case Op::kReal: return Number{true, 0, node->real};
    case Op::kInf: return Number{true, 0, INFINITY};
    case Op::kNan: return Number{true, 0, NAN};
    case Op::kUpper: {
      const Known* known = declarations.constant(node->name);
      return known ? fold(known->value, declarations, culprit) : std::nullopt;
    }
    case Op::kNeg: {
      auto a = fold(node->args[0], declarations, culprit);
      if (!a) return std::nullopt;
      culprit = node;
      int64_t negative = 0;
      if (!a->real && __builtin_sub_overflow(int64_t{0}, a->integer, &negative)) return std::nullopt;
      return Number{a->real, negative, -a->value};
    }
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kDiv:
    case Op::kFloorDiv: break;
    default: return std::nullopt;
  }
  auto a = fold(node->args[0], declarations, culprit);
  if (!a) return std::nullopt;
  auto b = fold(node->args[1], declarations, culprit);
  if (!b) return std::nullopt;
  culprit = node;
  bool real = a->real || b->real || node->op == Op::kDiv;
  double x = a->as_real(), y = b->as_real();
  int64_t out = 0;
  switch (node->op) {
    case Op::kAdd:
      if (real) return Number{true, 0, x + y};
      return __builtin_add_overflow(a->integer, b->integer, &out) ? std::nullopt : std::optional(Number{false, out, 0});
    case Op::kSub:
      if (real) return Number{true, 0, x - y};
      return __builtin_sub_overflow(a->integer, b->integer, &out) ? std::nullopt : std::optional(Number{false, out, 0});
    case Op::kMul:
      if (real) return Number{true, 0, x * y};
      return __builtin_mul_overflow(a->integer, b->integer, &out) ? std::nullopt : std::optional(Number{false, out, 0});
    case Op::kDiv: return Number{true, 0, x / y};
    default: break;
  }
  if (real || b->integer == 0 || (a->integer == INT64_MIN && b->integer == -1)) return std::nullopt;
  out = a->integer / b->integer;
  if (a->integer % b->integer != 0 && (a->integer < 0) != (b->integer < 0)) --out;
  return Number{false, out, 0};
}

}  // namespace

Result<NodePtr> fold_constant(const NodePtr& node, const Declarations& declarations) {
  if (is(node, Op::kTrue) || is(node, Op::kFalse)) return make_op(node->op, {}, node->span, Kind::kBool);
  NodePtr culprit;
  auto number = fold(node, declarations, culprit);
  if (!number) {
    if (is(culprit, Op::kUpper) && declarations.excused(culprit->name)) return fail(Diagnostics{});
    return fail(diagnose(Code::E611, culprit->span,
                         {{"n", print(culprit)},
                          {"what", "a constant expression"},
                          {"cure", "use numbers, constants and + - * / //"}}));
  }
  auto negated = [&](NodePtr positive) { return make_op(Op::kNeg, {positive}, node->span, positive->kind); };
  if (!number->real) {
    if (number->integer == INT64_MIN) return fail(diagnose(Code::E115, node->span, {{"n", print(node)}}));
    if (number->integer < 0) return negated(make_integer(-number->integer, node->span));
    return make_integer(number->integer, node->span);
  }
  if (std::isnan(number->value)) return make_op(Op::kNan, {}, node->span, Kind::kReal);
  bool negative = std::signbit(number->value);
  NodePtr magnitude = std::isinf(number->value) ? make_op(Op::kInf, {}, node->span, Kind::kReal)
                                                : make_real(std::fabs(number->value), node->span);
  return negative ? negated(magnitude) : magnitude;
}

Checked Elaborator::kernel(const Kernel& kernel) {
  kernel_ = &kernel;
  damaged_ = kernel.damaged;
  program_.name = kernel.name;
  program_.documentation = kernel.comments.documentation();
  program_.span = kernel.span;
  signature(kernel);
  writes_left_.assign(program_.tensors.size(), 0);
  writes_seen_.assign(program_.tensors.size(), 0);
  for (const Definition& d : kernel.definitions) {
    if (auto it = tensors_.find(d.name); it != tensors_.end()) ++writes_left_[it->second];
  }
  for (const Definition& d : kernel.definitions) definition(d);
  every_result_written(kernel);
  if (errors_.empty() && !kernel.damaged) {
    everything_used(kernel);
    reads_before_writes();
  }
  Checked out;
  std::ranges::stable_sort(errors_, {}, [](const Diagnostic& d) { return d.span.begin; });
  bool good = errors_.empty() && !kernel.faulty && poisoned_.empty();
  out.errors = std::move(errors_);
  if (good) out.program = std::move(program_);
  return out;
}

Checked check(const Kernel& kernel, const Declarations& declarations) {
  return Elaborator(declarations).kernel(kernel);
}

Diagnostics check(const Callable& function, const Declarations& declarations) {
  return Elaborator(declarations).function(function);
}

namespace {

template <class Declared>
const Declared* last_before(const std::unordered_map<Symbol, std::vector<Declared>>& all, Symbol name, int order) {
  auto it = all.find(name);
  if (it == all.end()) return nullptr;
  const Declared* last = nullptr;
  for (const Declared& d : it->second) {
    if (d.order < order) last = &d;
  }
  return last;
}

}  // namespace

const Callable* Declarations::function(Symbol name, int order) const { return last_before(functions, name, order); }
const Known* Declarations::constant(Symbol name, int order) const { return last_before(constants, name, order); }

const Tensor* Program::find_tensor(Symbol wanted) const {
  auto it = std::ranges::find_if(tensors, [&](const Tensor& t) { return t.name == wanted; });
  return it == tensors.end() ? nullptr : &*it;
}

const Dimension* Program::find_dimension(Symbol wanted) const {
  auto it = std::ranges::find_if(dimensions, [&](const Dimension& d) { return d.name == wanted; });
  return it == dimensions.end() ? nullptr : &*it;
}

}  // namespace quern::expr
