// Expressions against the rows of ops.def, from the leaves up.
#include <fmt/format.h>

#include "tile/print.h"
#include "tile/verify/verifier.h"

namespace quern::tile {
namespace {

bool takes(Takes what, ScalarType type) {
  bool computed = type == ScalarType::f32 || type == ScalarType::f64;
  switch (what) {
    case Takes::any: return true;
    case Takes::number: return computed || type == ScalarType::i64;
    case Takes::integer: return type == ScalarType::i64;
    case Takes::real: return computed;
    case Takes::boolean: return type == ScalarType::boolean;
  }
  return false;
}

bool fits_arity(const Expr& e) {
  const OpRow& r = row(e);
  if (r.family == Family::dot) return e.args.size() == 2 || e.args.size() == 3;
  return r.arity < 0 || e.args.size() == static_cast<size_t>(r.arity);
}

// The axes that follow from the arguments.
AxisSet axes_of(const Expr& e) {
  AxisSet out;
  for (const ExprPtr& a : e.args) out |= a->axes;
  if (e.guard) out |= e.guard->axes;
  switch (row(e).family) {
    case Family::axis: return e.op == Op::kAxis ? AxisSet::of(e.id) : AxisSet();
    case Family::fill: return out | e.over;
    case Family::reduce: return out - e.over;
    case Family::dot: {
      AxisSet operands = (e.args[0]->axes | e.args[1]->axes) - e.over;
      return e.args.size() == 3 ? operands | e.args[2]->axes : operands;
    }
    default: return out;
  }
}

template <class T>
bool has(const std::vector<T>& list, int32_t id) {
  return id >= 0 && static_cast<size_t>(id) < list.size();
}

}  // namespace

bool Verifier::known_axes(AxisSet axes) const {
  size_t n = kernel_->axes.size();
  return n >= 64 || (axes.bits() >> n) == 0;
}

std::string Verifier::axis_name(AxisId axis) const {
  return has(kernel_->axes, axis) ? kernel_->axes[static_cast<size_t>(axis)].name.str() : fmt::format("axis {}", axis);
}

std::string Verifier::shown(int32_t name) const {
  return has(kernel_->names, name) ? kernel_->names[static_cast<size_t>(name)].name.str()
                                   : fmt::format("name {}", name);
}

bool Verifier::expression(const ExprPtr& e) {
  if (!e) {
    wrong("an expression is missing");
    return false;
  }
  if (seen_.contains(e.get())) return true;
  bool parts = true;
  for (const ExprPtr& a : e->args) parts &= expression(a);
  if (e->guard) parts &= expression(e->guard);
  if (!parts || !node(*e)) return false;
  seen_.insert(e.get());
  return true;
}

// What must hold before a tree can be printed or its parts used.
bool Verifier::node(const Expr& e) {
  if (static_cast<size_t>(e.op) >= op_rows().size() || !fits_arity(e)) {
    wrong("an operation has another number of arguments than its row says");
    return false;
  }
  if (!known_axes(e.over) || !known_axes(e.axes)) {
    wrong("an axis is not declared");
    return false;
  }
  switch (row(e).family) {
    case Family::dim:
      if (has(program_.dims, e.id)) break;
      wrong("a dimension is not declared");
      return false;
    case Family::axis:
      if (!has(kernel_->axes, e.id)) {
        wrong("an axis is not declared");
        return false;
      }
      if (e.op == Op::kAxis && kernel_->scalar.has(e.id) && walked_[static_cast<size_t>(e.id)] < 0) {
        wrong(fmt::format("{} is a scalar and is used outside its walk", axis_name(e.id)));
      }
      break;
    case Family::name: {
      if (!has(kernel_->names, e.id)) {
        wrong("a name is not declared");
        return false;
      }
      auto id = static_cast<size_t>(e.id);
      if (!visible_[id]) wrong(fmt::format("{} is used where it has no value", shown(e.id)));
      if (in_range_) wrong(fmt::format("the name {} stands in a range that is fixed before any name", shown(e.id)));
      const Name& n = kernel_->names[id];
      if (e.type != n.type || type_axes(e.axes) != type_axes(n.axes)) {
        wrong(fmt::format("{} is used with another type than it has", shown(e.id)));
      }
      if (placed() && nest_of_[id] != (nest_ ? nest_number_ : -1)) crosses_[id] = true;
      return true;
    }
    case Family::load:
      if (!references(e.id, e.args, e.checked, e.site)) return false;
      load(e);
      break;
    case Family::dot: dot(e); break;
    case Family::reduce:
      reduction_axes(e);
      reduced_ranges(e, e.args[0]->axes);
      break;
    default: break;
  }
  if (type_axes(e.axes) != type_axes(axes_of(e))) {
    wrong(fmt::format("axes of {} do not follow from its parts", print(program_, *kernel_, std::make_shared<Expr>(e))));
  }
  types(e);
  return true;
}

void Verifier::types(const Expr& e) {
  const OpRow& r = row(e);
  auto say = [&](std::string_view what) {
    wrong(fmt::format("{} in {}", what, print(program_, *kernel_, std::make_shared<Expr>(e))));
  };
  for (const ExprPtr& a : e.args) {
    if (!takes(r.takes, a->type)) return say("an argument is of a type that the operation does not take");
  }
  bool one_type = r.takes == Takes::number || r.takes == Takes::real;
  for (const ExprPtr& a : e.args) {
    if (one_type && a->type != e.args[0]->type) return say("arguments are of different types");
  }
  if (r.family == Family::select) {
    if (e.args[1]->type != ScalarType::boolean) return say("the condition is not a bool");
    if (e.args[0]->type != e.args[2]->type) return say("the branches are of different types");
  }
  if (r.family == Family::check) {
    bool right = e.args[0]->type == ScalarType::boolean && e.args[1]->type == ScalarType::i64 &&
                 e.args[2]->type == ScalarType::boolean;
    if (!right) return say("a check is of a bool, an integer and a bool");
    if (!has(program_.sites, e.site)) return say("a check has no site");
  }
  bool right = true;
  switch (r.gives) {
    case Gives::same: right = e.type == e.args[0]->type; break;
    case Gives::boolean: right = e.type == ScalarType::boolean; break;
    case Gives::integer: right = e.type == ScalarType::i64; break;
    case Gives::stated: right = e.op != Op::kReal || kind(e.type) == Kind::kReal; break;
  }
  if (!right) say("the result is of another type than its row says");
}

bool Verifier::references(int32_t parameter, const std::vector<ExprPtr>& subscripts, uint32_t checked, int32_t site) {
  if (!has(program_.parameters, parameter)) {
    wrong("a parameter is not declared");
    return false;
  }
  const Parameter& p = program_.parameters[static_cast<size_t>(parameter)];
  if (subscripts.size() != p.shape.size()) {
    wrong(fmt::format("{} has {} dimensions and {} subscripts", p.name.str(), p.shape.size(), subscripts.size()));
    return false;
  }
  for (const ExprPtr& s : subscripts) {
    if (s->type != ScalarType::i64) wrong(fmt::format("a subscript of {} is not an integer", p.name.str()));
  }
  if (subscripts.size() < 32 && checked >> subscripts.size() != 0) {
    wrong(fmt::format("a subscript of {} is checked that it does not have", p.name.str()));
  }
  if (site >= 0 && !has(program_.sites, site)) wrong("a site is not declared");
  return true;
}

void Verifier::load(const Expr& e) {
  const Parameter& p = program_.parameters[static_cast<size_t>(e.id)];
  if (e.type != p.type) wrong(fmt::format("{} is loaded as another type than it has", p.name.str()));
  if (p.role == Role::kOut) wrong(fmt::format("{} is an out and is read", p.name.str()));
  if (e.guard && e.guard->type != ScalarType::boolean)
    wrong(fmt::format("the guard of {} is not a bool", p.name.str()));
}

void Verifier::dot(const Expr& e) {
  auto say = [&](std::string_view what) {
    wrong(fmt::format("{} in {}", what, print(program_, *kernel_, std::make_shared<Expr>(e))));
  };
  bool whole = e.type == ScalarType::i64;
  if (!whole && e.type != ScalarType::f32 && e.type != ScalarType::f64) say("a dot accumulates in f32, f64 or i64");
  for (size_t i = 0; i < 2; ++i) {
    if (kind(e.args[i]->type) != (whole ? Kind::kInt : Kind::kReal)) say("an operand is of another kind");
    if (!type_axes(e.args[i]->axes).contains(type_axes(e.over))) say("a reduced axis is not in both operands");
  }
  if (e.args.size() == 3 && e.args[2]->type != e.type) say("the accumulator is of another type");
  reduction_axes(e);
  reduced_ranges(e, e.args[0]->axes | e.args[1]->axes);
}

// Where the range of a reduced axis depends on an axis, so does the result: its type must say so.
void Verifier::reduced_ranges(const Expr& e, AxisSet operands) {
  AxisSet has = operands | e.over, seen;
  for (AxisSet rest = type_axes(e.over); !rest.empty();) {
    AxisId a = rest.list()[0];
    rest = rest - AxisSet::of(a);
    seen |= AxisSet::of(a);
    if (walked_[static_cast<size_t>(a)] >= 0) continue;
    const Axis& axis = kernel_->axes[static_cast<size_t>(a)];
    AxisSet on = axis.hi ? axis.hi->axes : AxisSet();
    if (axis.lo) on |= axis.lo->axes;
    AxisSet missing = type_axes(on - has);
    if (!known_axes(on)) return;
    if (!missing.empty()) {
      wrong(fmt::format("the range of {} depends on {}, which what is reduced over it lacks", axis.name.str(),
                        axis_name(missing.list()[0])));
    }
    rest |= type_axes(on) - seen;
  }
}

bool Verifier::whole(const ExprPtr& e, std::string_view what) {
  if (!expression(e)) return false;
  if (e->type != ScalarType::i64) wrong(fmt::format("{} is not an integer", what));
  if (!type_axes(e->axes).empty()) wrong(fmt::format("{} is not one value", what));
  return true;
}

}  // namespace quern::tile
