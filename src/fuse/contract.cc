#include "fuse/contract.h"

#include <optional>
#include <vector>

namespace quern::fuse {

using tile::AxisId;
using tile::AxisSet;
using tile::ExprPtr;
using tile::Op;

namespace {

struct Factor {
  ExprPtr value;
  bool inverse = false;
};

struct Product {
  std::vector<Factor> factors;
  bool negative = false;
};

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

// The product of the factors, numerators first.
ExprPtr product(const std::vector<Factor>& factors, ExprPtr start = nullptr) {
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

bool is_zero(const ExprPtr& e) {
  return (e->op == Op::kReal && e->real == 0) || (e->op == Op::kInteger && e->integer == 0);
}

// What a load was converted from exactly: a dot takes stored types as they are.
ExprPtr stored(const ExprPtr& e) {
  if (e->op != Op::kCast) return e;
  const ExprPtr& from = e->args[0];
  bool exact = from->op == Op::kLoad && quern::kind(from->type) == quern::kind(e->type);
  return exact ? from : e;
}

}  // namespace

ExprPtr contract(const ExprPtr& sum) {
  if (sum->op != Op::kSum) return nullptr;
  ExprPtr body = sum->args[0], mask;
  if (body->op == Op::kSelect && is_zero(body->args[2])) {
    mask = body->args[1];
    body = body->args[0];
  }
  Product all;
  flatten(body, false, all);
  std::vector<Factor> hoisted, inside;
  AxisSet free;
  for (const Factor& f : all.factors) {
    bool changes = !(f.value->axes & sum->over).empty();
    if (changes) {
      inside.push_back(f);
      free |= f.value->axes - sum->over;
    } else {
      hoisted.push_back(f);
    }
  }
  if (quern::kind(sum->type) != Kind::kReal && !hoisted.empty()) {
    // Integers wrap alike in any order: nothing to mind.
    for (const Factor& f : hoisted) {
      if (f.inverse) return nullptr;
    }
  }
  auto pair = apart(inside, free);
  if (!pair) return nullptr;
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
  ExprPtr side[2];
  for (int k : {0, 1}) {
    if (operand[k].empty() || !axes[k].contains(sum->over)) return nullptr;
    side[k] = product(operand[k]);
    if (mask) {
      if (!axes[k].contains(mask->axes)) return nullptr;
      side[k] = tile::select(mask, side[k], tile::zero(side[k]->type));
    }
    side[k] = stored(side[k]);
  }
  ExprPtr out = tile::dot(sum->type, sum->over, side[0], side[1]);
  if (all.negative) out = tile::apply(Op::kNeg, {out});
  return product(hoisted, out);
}

}  // namespace quern::fuse
