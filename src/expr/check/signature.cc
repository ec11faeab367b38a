// The kernel's first line: parameters, results, types, and how each dimension gets its number.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "expr/check/elaborator.h"
#include "expr/dimension_form.h"
#include "expr/print.h"

namespace quern::expr {

// An upper-case name is one thing in a kernel: a type or a dimension.
void Elaborator::declare_upper(Symbol name, bool type, Span span) {
  auto [it, added] = uppers_.emplace(name, type);
  if (!added && it->second != type && unclear_.insert(name).second) {
    report(diagnose(Code::E205, span, {{"N", name.str()}}));
  }
}

// A dimension expression with names resolved; null after an error.
NodePtr Elaborator::dimension(const NodePtr& node, bool of_result) {
  switch (node->op) {
    case Op::kInteger: {
      Node n = *node;
      n.kind = Kind::kInt;
      return make(std::move(n));
    }
    case Op::kUpper: {
      bool given = uppers_.contains(node->name);
      const Known* constant = given ? nullptr : declarations_.constant(node->name);
      if (constant) {
        if (constant->value->kind == Kind::kInt) return constant->value;
        report(diagnose(Code::E403, node->span, {{"op", "a dimension"}, {"e", node->name.str()}})
                   .with_remedy("a dimension has whole numbers: `N / 2`"));
        return nullptr;
      }
      if (kernel_ready_) return upper_name(node, {});  // a bound in the body: all names are declared
      declare_upper(node->name, false, node->span);
      Node n{.op = Op::kDimension, .kind = Kind::kInt};
      n.name = node->name;
      n.span = node->span;
      return make(std::move(n));
    }
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kDiv:
    case Op::kFloorDiv: {
      NodePtr a = dimension(node->args[0], of_result), b = dimension(node->args[1], of_result);
      if (!a || !b) return nullptr;
      return make_op(node->op, {a, b}, node->span, Kind::kInt);
    }
    case Op::kNeg:
      if (kernel_ready_) {  // a bound may be negative: -W <= n
        NodePtr a = dimension(node->args[0], of_result);
        return a ? make_op(node->op, {a}, node->span, Kind::kInt) : nullptr;
      }
      [[fallthrough]];
    case Op::kName:
    case Op::kSubscript:
      if (of_result && tensors_.contains(node->name)) {
        report(diagnose(Code::E307, node->span));
        return nullptr;
      }
      if (is(node, Op::kName)) {
        if (!unclear_.insert(node->name).second) return nullptr;
        report(diagnose(Code::E104, node->span, {{"what", "dimension"}, {"n", node->name.str()}, {"case", "upper"}}));
        return nullptr;
      }
      [[fallthrough]];
    default:
      report(diagnose(Code::E611, node->span,
                      {{"n", print(node)},
                       {"what", "a dimension"},
                       {"cure", "use upper-case names, whole numbers and + - * / //"}}));
      return nullptr;
  }
}

// A caller's number that the scalar can't hold is refused, and so is the default.
void Elaborator::default_fits(const ElementType& type, const NodePtr& value, Span span) {
  if (type.variable) return;
  bool negative = is(value, Op::kNeg);
  const NodePtr& literal = negative ? value->args[0] : value;
  std::string remedy;
  if (quern::expr::kind(type) == Kind::kInt) {
    int64_t number = negative ? -literal->integer : literal->integer;
    if (number >= least_int(type.scalar) && number <= greatest_int(type.scalar)) return;
    remedy = fmt::format("{} holds {} to {}", name(type.scalar), least_int(type.scalar), greatest_int(type.scalar));
  } else {
    if (!is(literal, Op::kReal) && !is(literal, Op::kInteger)) return;
    double number = is(literal, Op::kReal) ? literal->real : static_cast<double>(literal->integer);
    if (!std::isinf(round_to(type.scalar, number))) return;
    remedy = fmt::format("{} holds at most {:.6g}, or inf", name(type.scalar), largest(type.scalar));
  }
  report(diagnose(Code::E115, span, {{"n", print(value)}}).with_remedy(std::move(remedy)));
}

void Elaborator::tensor(const Parameter& p, Role role) {
  Tensor t;
  t.name = p.name;
  t.type = p.shaped.type;
  t.role = role;
  t.span = p.span;
  for (const NodePtr& size : p.shaped.shape) {
    // A size that failed is null: it counts for the rank, and an index over it has no range.
    t.shape.push_back(dimension(size, role == Role::kResult));
    damaged_ |= !t.shape.back();
  }
  if (p.value) {
    if (role != Role::kResult && !t.shape.empty()) {
      report(
          diagnose(Code::E102, p.value->span, {{"t", "','"}, {"u", "a default"}}).with_remedy("only scalars have one"));
    } else if (auto value = fold_constant(p.value, declarations_)) {
      bool fits = kind_fits(t.name.str(), t.type, *value, p.value->span);
      if (fits && role != Role::kResult) default_fits(t.type, *value, p.value->span);
      t.value = *value;
    } else {
      for (Diagnostic& d : value.error()) report(std::move(d));
      poisoned_.insert(p.name);
      t.value = make_integer(0, p.value->span);  // there is one, whatever it is
    }
  }
  if (tensors_.contains(p.name)) {
    report(diagnose(Code::E510, p.span, {{"n", p.name.str()}})
               .note(program_.tensors[tensors_[p.name]].span, "first declared here"));
    unclear_.insert(p.name);
    return;
  }
  tensors_[p.name] = static_cast<int32_t>(program_.tensors.size());
  program_.tensors.push_back(std::move(t));
}

void Elaborator::signature(const Kernel& kernel) {
  auto uses_type = [&](Symbol name) {
    auto of = [&](const Parameter& p) { return p.shaped.type.variable == name; };
    return std::ranges::any_of(kernel.parameters, of) || std::ranges::any_of(kernel.results, of);
  };
  for (const Given& g : kernel.given) {
    if (uppers_.contains(g.name)) report(diagnose(Code::E510, g.span, {{"n", g.name.str()}}));
    // `U = bf16` is a type; so is a name without a default that is used as one.
    bool type = g.type.has_value() || (!g.dynamic && !g.value && uses_type(g.name));
    declare_upper(g.name, type, g.span);
    if (type) {
      if (g.type && quern::expr::kind(*g.type) != Kind::kReal) {
        report(diagnose(Code::E715, g.span, {{"T", g.name.str()}, {"t", std::string(name(*g.type))}}));
      }
      program_.types.push_back({g.name, true, g.type, g.span});
      continue;
    }
    Dimension d;
    d.name = g.name;
    d.given = !g.dynamic;
    d.dynamic = g.dynamic;
    d.span = g.span;
    if (g.value) {
      auto value = fold_constant(g.value, declarations_);
      if (!value) {
        for (Diagnostic& e : value.error()) report(std::move(e));
        poisoned_.insert(g.name);
      } else if ((*value)->kind != Kind::kInt) {
        report(diagnose(Code::E403, g.value->span, {{"op", "a dimension"}, {"e", print(g.value)}})
                   .with_remedy("write a whole number"));
      } else {
        d.value = *value;
      }
    }
    program_.dimensions.push_back(std::move(d));
  }
  auto type_of = [&](const Parameter& p) {
    Symbol variable = p.shaped.type.variable;
    if (!variable) return;
    bool known = uppers_.contains(variable);
    declare_upper(variable, true, p.shaped.span);
    if (!known) program_.types.push_back({variable, false, std::nullopt, p.shaped.span});
  };
  for (const Parameter& p : kernel.parameters) type_of(p);
  for (const Parameter& p : kernel.results) type_of(p);
  for (const Parameter& p : kernel.parameters) tensor(p, p.inout ? Role::kInout : Role::kParameter);
  for (const Parameter& p : kernel.results) tensor(p, Role::kResult);
  solve_dimensions(kernel);
  kernel_ready_ = true;
}

// Names from the caller; then each dimension that is just a name; then, again and again, each with exactly one name
// still unknown in which it is linear. Depends on the text alone.
void Elaborator::solve_dimensions(const Kernel& kernel) {
  std::vector<Dimension> asked = std::exchange(program_.dimensions, {});
  auto known = [&](Symbol name) { return program_.find_dimension(name) != nullptr; };
  auto solve = [&](Symbol name, int32_t tensor, size_t axis) {
    Dimension d;
    auto listed = std::ranges::find_if(asked, [&](const Dimension& a) { return a.name == name; });
    if (listed != asked.end()) d = *listed;
    d.name = name;
    d.tensor = tensor;
    d.axis = static_cast<int32_t>(axis);
    if (!d.span.source) d.span = program_.tensors[tensor].shape[axis]->span;
    program_.dimensions.push_back(std::move(d));
  };
  for (const Dimension& d : asked) {
    if (d.given) program_.dimensions.push_back(d);
  }
  auto each_axis = [&](auto&& visit) {
    for (size_t t = 0; t < program_.tensors.size(); ++t) {
      if (program_.tensors[t].role == Role::kResult) continue;
      for (size_t a = 0; a < program_.tensors[t].shape.size(); ++a) {
        if (program_.tensors[t].shape[a]) visit(static_cast<int32_t>(t), a, program_.tensors[t].shape[a]);
      }
    }
  };
  each_axis([&](int32_t t, size_t a, const NodePtr& size) {
    if (size->op == Op::kDimension && !known(size->name)) solve(size->name, t, a);
  });
  for (bool changed = true; changed;) {
    changed = false;
    each_axis([&](int32_t t, size_t a, const NodePtr& size) {
      std::vector<Symbol> unknown = dimension_names(size);
      std::erase_if(unknown, known);
      if (unknown.size() != 1) return;
      auto form = dimension_form(size);
      if (!form || !linear_in(*form, unknown[0])) return;
      solve(unknown[0], t, a);
      changed = true;
    });
  }
  if (damaged_) return;
  std::set<Symbol> reported;
  for (const Tensor& t : program_.tensors) {
    for (const NodePtr& size : t.shape) {
      for (Symbol name : dimension_names(size)) {
        if (known(name) || !reported.insert(name).second) continue;
        report(diagnose(Code::E305, size->span, {{"N", name.str()}, {"kernel", kernel.name.str()}}));
      }
    }
  }
  for (const Dimension& d : asked) {
    if (known(d.name) || !reported.insert(d.name).second) continue;
    report(diagnose(Code::E305, d.span, {{"N", d.name.str()}, {"kernel", kernel.name.str()}})
               .with_remedy("`dyn` gives it no size: some parameter has to have it"));
  }
}

}  // namespace quern::expr
