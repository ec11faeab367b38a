#include "fuse/contract.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "fuse/product.h"

namespace quern::fuse {

using tile::AxisId;
using tile::AxisSet;
using tile::ExprPtr;
using tile::Op;

namespace {

// Two free axes that no factor has both of.
std::optional<std::pair<AxisId, AxisId>> apart(const std::vector<Factor>& factors, AxisSet free) {
  std::vector<AxisId> axes = free.list();
  for (size_t i = 0; i < axes.size(); ++i) {
    for (size_t j = i + 1; j < axes.size(); ++j) {
      bool together = false;
      for (const Factor& f : factors) together |= f.value->axes.has(axes[i]) && f.value->axes.has(axes[j]);
      if (!together) return std::pair(axes[i], axes[j]);
    }
  }
  return std::nullopt;
}

// What a load was converted from exactly: a dot takes stored types as they are.
ExprPtr stored(const ExprPtr& e) {
  if (e->op != Op::kCast) return e;
  const ExprPtr& from = e->args[0];
  bool exact = from->op == Op::kLoad && quern::kind(from->type) == quern::kind(e->type);
  return exact ? from : e;
}

struct Sides {
  ExprPtr side[2];
  std::vector<Factor> hoisted;
  bool negative = false;
};

std::optional<Sides> regrouped(const ExprPtr& sum, const ExprPtr& body) {
  Product all = product_of(body);
  Sides out;
  out.negative = all.negative;
  std::vector<Factor> inside;
  AxisSet free;
  for (const Factor& f : all.factors) {
    bool changes = !(f.value->axes & sum->over).empty();
    if (changes) {
      inside.push_back(f);
      free |= f.value->axes - sum->over;
    } else {
      if (f.inverse && quern::kind(sum->type) != Kind::kReal) return std::nullopt;
      out.hoisted.push_back(f);
    }
  }
  auto pair = apart(inside, free);
  if (!pair) return std::nullopt;
  std::vector<Factor> operand[2];
  AxisSet axes[2];
  std::vector<Factor> rest;
  for (const Factor& f : inside) {
    int k = f.value->axes.has(pair->first) ? 0 : f.value->axes.has(pair->second) ? 1 : -1;
    if (k < 0) {
      rest.push_back(f);
      continue;
    }
    operand[k].push_back(f);
    axes[k] |= f.value->axes;
  }
  for (const Factor& f : rest) {
    int k = (f.value->axes & axes[1]).size() > (f.value->axes & axes[0]).size() ? 1 : 0;
    operand[k].push_back(f);
    axes[k] |= f.value->axes;
  }
  for (int k : {0, 1}) {
    if (operand[k].empty()) return std::nullopt;
    out.side[k] = product(operand[k]);
  }
  return out;
}

std::optional<Sides> as_written(const ExprPtr& sum, const ExprPtr& body) {
  Sides out;
  ExprPtr e = body;
  for (; e->op == Op::kNeg; e = e->args[0]) out.negative = !out.negative;
  if (e->op != Op::kMul) return std::nullopt;
  AxisSet own[2];
  for (int k : {0, 1}) own[k] = e->args[k]->axes - e->args[1 - k]->axes - sum->over;
  if (own[0].empty() || own[1].empty()) return std::nullopt;
  int first = own[0].list().front() < own[1].list().front() ? 0 : 1;
  for (int k : {0, 1}) out.side[k] = e->args[k ^ first];
  return out;
}

// The operand that holds the weight becomes the first, and is -0 where an element is absent, and only there.
void weights_first(Sides& sides, const Weight& weight) {
  Product second = product_of(sides.side[1]);
  bool swap = std::ranges::any_of(second.factors, [&](const Factor& f) { return f.value == weight.factor; });
  if (swap) std::swap(sides.side[0], sides.side[1]);
  ExprPtr& first = sides.side[0];
  if (first == weight.factor) return;
  ExprPtr some = tile::apply(Op::kAdd, {first, tile::zero(first->type)});
  first = tile::select(weight.present, some, tile::real(-0.0, first->type));
}

}  // namespace

bool may_regroup(tile::Ranges& ranges, AxisSet over) {
  constexpr int64_t kLeastTerms = 16;
  int64_t terms = 1;
  for (AxisId a : over.list()) {
    tile::Bounds b = ranges.axis(a);
    int64_t count = b.low && b.high ? std::max<int64_t>(*b.high - *b.low + 1, 0) : kLeastTerms;
    terms = std::min(terms * std::min(count, kLeastTerms), kLeastTerms);
  }
  return terms >= kLeastTerms;
}

ExprPtr contract(const ExprPtr& sum, bool regroup, const Weight& weight) {
  if (sum->op != Op::kSum) return nullptr;
  auto [body, mask] = masked(sum->args[0]);
  // Integers wrap alike in any order: nothing to mind.
  auto found = regroup || quern::kind(sum->type) != Kind::kReal ? regrouped(sum, body) : as_written(sum, body);
  if (!found) return nullptr;
  for (ExprPtr& side : found->side) {
    if (!side->axes.contains(sum->over)) return nullptr;
    if (mask) {
      if (!side->axes.contains(mask->axes)) return nullptr;
      side = tile::select(mask, side, tile::zero(side->type));
    }
    side = stored(side);
  }
  if (weight.factor) weights_first(*found, weight);
  Op op = weight.factor ? Op::kWeigh : Op::kDot;
  ExprPtr out = tile::dot(sum->type, sum->over, found->side[0], found->side[1], nullptr, op);
  if (found->negative) out = tile::apply(Op::kNeg, {out});
  return product(found->hoisted, out);
}

}  // namespace quern::fuse
