#include "tile/scalar_axes.h"

#include "tile/extent.h"
#include "tile/rebuild.h"

namespace quern::tile {

namespace {

ExprPtr index(AxisId id) {
  Expr e{.op = Op::kAxis, .type = ScalarType::i64, .id = id};
  return std::make_shared<const Expr>(e);
}

ExprPtr without(const Expr& e, AxisSet scalar) {
  Expr out = e;
  out.over = e.over - scalar;
  return with_args(out, e.args, e.guard);
}

ExprPtr changed(const Kernel& kernel, const ExprPtr& e) {
  AxisSet scalar = kernel.scalar;
  switch (row(*e).family) {
    case Family::axis:
      if (!scalar.has(e->id)) return e;
      return e->op == Op::kHigh ? plus(index(e->id), integer(1)) : index(e->id);
    case Family::name: return use(kernel, e->id);
    case Family::fill: return e->over == e->over - scalar ? e : without(*e, scalar);
    case Family::reduce:
      if ((e->over & scalar).empty()) return e;
      return scalar.contains(e->over) ? e->args[0] : without(*e, scalar);
    case Family::dot: {
      if ((e->over & scalar).empty()) return e;
      if (!scalar.contains(e->over)) return without(*e, scalar);
      ExprPtr product = apply(Op::kMul, {cast(e->type, e->args[0]), cast(e->type, e->args[1])});
      return e->args.size() == 3 ? apply(Op::kAdd, {product, e->args[2]}) : product;
    }
    default: return e;
  }
}

}  // namespace

ExprPtr with_scalars(const Kernel& kernel, const ExprPtr& e) {
  return rebuild(e, [&](const ExprPtr& part) { return changed(kernel, part); });
}

void make_scalar(Kernel& kernel, AxisSet axes) {
  kernel.scalar |= axes;
  for (Name& n : kernel.names) n.axes = n.axes - kernel.scalar;
  change_expressions(kernel.body, [&](const ExprPtr& e) { return with_scalars(kernel, e); });
}

}  // namespace quern::tile
