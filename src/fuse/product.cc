#include "fuse/product.h"

namespace quern::fuse {

using tile::ExprPtr;
using tile::Op;

namespace {

void flatten(const ExprPtr& e, bool inverse, Product& out) {
  switch (e->op) {
    case Op::kMul:
      flatten(e->args[0], inverse, out);
      flatten(e->args[1], inverse, out);
      return;
    case Op::kDiv:
      flatten(e->args[0], inverse, out);
      flatten(e->args[1], !inverse, out);
      return;
    case Op::kNeg:
      out.negative = !out.negative;
      flatten(e->args[0], inverse, out);
      return;
    default: out.factors.push_back({e, inverse});
  }
}

bool is_zero(const ExprPtr& e) {
  return (e->op == Op::kReal && e->real == 0) || (e->op == Op::kInteger && e->integer == 0);
}

}  // namespace

Product product_of(const ExprPtr& e) {
  Product out;
  flatten(e, false, out);
  return out;
}

ExprPtr product(const std::vector<Factor>& factors, ExprPtr start) {
  ExprPtr out = std::move(start);
  for (bool inverse : {false, true}) {
    for (const Factor& f : factors) {
      if (f.inverse != inverse) continue;
      if (inverse) {
        ExprPtr one = tile::real(1, f.value->type);
        out = tile::apply(Op::kDiv, {out ? out : one, f.value});
      } else {
        out = out ? tile::apply(Op::kMul, {out, f.value}) : f.value;
      }
    }
  }
  return out;
}

Masked masked(const ExprPtr& e) {
  if (e->op == Op::kSelect && is_zero(e->args[2])) return {e->args[0], e->args[1]};
  return {e, nullptr};
}

}  // namespace quern::fuse
