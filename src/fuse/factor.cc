#include "fuse/factor.h"

#include <optional>

#include "fuse/product.h"

namespace quern::fuse {

using tile::AxisId;
using tile::AxisSet;
using tile::ExprPtr;

namespace {

constexpr double kUnknown = 1024;
constexpr double kWorthIt = 0.75;  // of the multiplications

double size(AxisSet axes, tile::Ranges& ranges) {
  double out = 1;
  for (AxisId a : axes.list()) {
    tile::Bounds b = ranges.axis(a);
    out *= b.low && b.high ? static_cast<double>(std::max<int64_t>(1, *b.high - *b.low + 1)) : kUnknown;
  }
  return out;
}

AxisSet axes_of(const std::vector<Factor>& factors) {
  AxisSet out;
  for (const Factor& f : factors) out |= f.value->axes;
  return out;
}

}  // namespace

ExprPtr factored(const ExprPtr& sum, tile::Ranges& ranges) {
  if (sum->over.size() < 2) return sum;
  Masked body = masked(sum->args[0]);
  Product all = product_of(body.value);
  AxisSet every = axes_of(all.factors);
  if (body.mask) every |= body.mask->axes;
  double best = kWorthIt * size(every, ranges);
  AxisId taken = -1;
  std::vector<Factor> inside, rest;
  for (AxisId a : sum->over.list()) {
    if (body.mask && body.mask->axes.has(a)) continue;
    std::vector<Factor> with, without;
    for (const Factor& f : all.factors) (f.value->axes.has(a) ? with : without).push_back(f);
    if (with.empty() || without.empty()) continue;
    double cost = size(axes_of(with), ranges) + size(every - AxisSet::of(a), ranges);
    if (cost >= best) continue;
    best = cost, taken = a, inside = with, rest = without;
  }
  if (taken < 0) return sum;
  ExprPtr inner = tile::reduce(tile::Op::kSum, AxisSet::of(taken), product(inside));
  ExprPtr value = tile::apply(tile::Op::kMul, {product(rest), inner});
  if (all.negative) value = tile::apply(tile::Op::kNeg, {value});
  if (body.mask) value = tile::select(body.mask, value, tile::zero(value->type));
  return factored(tile::reduce(tile::Op::kSum, sum->over - AxisSet::of(taken), value), ranges);
}

}  // namespace quern::fuse
