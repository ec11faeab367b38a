// The simulator's reductions: sums in any order, contractions with operands rounded or not.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "expr/contraction.h"
#include "expr/substitute.h"
#include "simulator.h"
#include "simulator_loop.h"

namespace quern::expr::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double single(double v) { return static_cast<double>(static_cast<float>(v)); }

// Sum of two floats, rounded once: exact in double for all but far apart exponents, where it makes no difference.
double add_single(double a, double b) { return static_cast<double>(static_cast<float>(a) + static_cast<float>(b)); }

}  // namespace

Simulator::Value Simulator::reduce(const NodePtr& n) {
  auto [it, added] = free_.try_emplace(n.get());
  if (added) it->second = free_indices(n);
  std::pair<const Node*, std::vector<int64_t>> key{n.get(), {}};
  for (IndexId id : it->second) key.second.push_back(index(id));
  auto known = reductions_.find(key);
  if (known != reductions_.end()) return known->second;
  Value v = reduce_fresh(n);
  reductions_.emplace(std::move(key), v);
  return v;
}

Simulator::Value Simulator::reduce_fresh(const NodePtr& n) {
  const NodePtr& body = n->args[0];
  Value out;
  switch (n->op) {
    case Op::kSum:
    case Op::kProd: {
      bool product = n->op == Op::kProd;
      if (n->kind == Kind::kInt) {
        uint64_t total = product;
        loop(n->binders, 0, [&] {
          auto v = static_cast<uint64_t>(eval(body).whole);
          total = product ? total * v : total + v;
        });
        out.whole = static_cast<int64_t>(total);
        return out;
      }
      bool wide = !random_ || is_wide(n);
      if (!product && !wide) {
        double v = contracted(n);
        if (!std::isnan(v)) return real(v, false);
      }
      std::vector<Value> terms;
      loop(n->binders, 0, [&] { terms.push_back(number(body)); });
      std::vector<double> values;
      for (const Value& v : terms) values.push_back(as(v, wide));
      if (!product) return real(sum(std::move(values), wide), wide);
      if (random_) std::ranges::shuffle(values, *random_);
      double total = 1;
      for (double v : values) total = wide ? total * v : single(total * v);
      return real(total, wide);
    }
    case Op::kMax:
    case Op::kMin: {
      bool max = n->op == Op::kMax;
      out.whole = max ? INT64_MIN : INT64_MAX;
      out.real = max ? -kInf : kInf;
      out.wide = !random_;
      loop(n->binders, 0, [&] {
        Value v = number(body);
        v.real = as(v, v.wide || is_wide(n) || !random_);
        if (max ? v.whole > out.whole : v.whole < out.whole) out.whole = v.whole;
        if (!std::isnan(out.real) && (std::isnan(v.real) || (max ? v.real > out.real : v.real < out.real)))
          out.real = v.real;
      });
      return out;
    }
    case Op::kArgmax:
    case Op::kArgmin: {
      bool max = n->op == Op::kArgmax, first = true;
      double best = 0;
      int64_t best_whole = 0;
      out.whole = -1;
      loop(n->binders, 0, [&] {
        Value v = number(body);
        double r = as(v, v.wide || !random_);
        bool better = body->kind == Kind::kInt ? (max ? v.whole > best_whole : v.whole < best_whole)
                                               : !std::isnan(best) && (std::isnan(r) || (max ? r > best : r < best));
        if (!first && !better) return;
        first = false;
        best = r;
        best_whole = v.whole;
        out.whole = index(n->binders[0].id);
      });
      return out;
    }
    default: {
      bool all = n->op == Op::kAll;
      out.truth = all;
      loop(n->binders, 0, [&] { out.truth = all ? eval(body).truth && out.truth : eval(body).truth || out.truth; });
      return out;
    }
  }
}

// In any order: as they come, shuffled, in pairs, in four lanes.
double Simulator::sum(std::vector<double> x, bool wide) {
  auto plus = [&](double a, double b) { return wide ? a + b : add_single(a, b); };
  if (!random_) return std::accumulate(x.begin(), x.end(), 0.0);
  if (dice()) std::ranges::shuffle(x, *random_);
  switch (between(*random_, 0, 2)) {
    case 0: return std::accumulate(x.begin(), x.end(), 0.0, plus);
    case 1: {
      if (x.empty()) return 0;
      for (; x.size() > 1; x.resize((x.size() + 1) / 2)) {
        for (size_t i = 0; 2 * i < x.size(); ++i) x[i] = 2 * i + 1 < x.size() ? plus(x[2 * i], x[2 * i + 1]) : x[2 * i];
      }
      return x[0];
    }
    default: {
      double lane[4] = {};
      for (size_t i = 0; i < x.size(); ++i) lane[i % 4] = plus(lane[i % 4], x[i]);
      return plus(plus(lane[0], lane[2]), plus(lane[1], lane[3]));
    }
  }
}

// A sum as tensor cores or fused multiply and add would do it; NaN: do it the plain way.
double Simulator::contracted(const NodePtr& n) {
  auto c = dice(0.25) ? std::nullopt : contraction(program_, binding_, n);
  if (!c) {
    // A sum of products by fused multiply and add.
    if (n->args[0]->op != Op::kMul || !dice()) return kNaN;
    double total = 0;
    loop(n->binders, 0, [&] {
      Value a = number(n->args[0]->args[0]), b = number(n->args[0]->args[1]);
      total = std::fmaf(static_cast<float>(as(a, false)), static_cast<float>(as(b, false)), static_cast<float>(total));
    });
    return total;
  }
  // Every run decides anew: round the operands? take the factors that do not change out of them, before or after?
  bool round = c->rounds_to && dice(0.8);
  std::vector<bool> apart;
  for (const auto& f : c->factors) apart.push_back(f.hoisted && dice());
  std::vector<double> terms;
  double sign = 1;  // the contraction lists factors without their signs
  loop(n->binders, 0, [&] {
    double side[2] = {1, 1};
    bool any[2] = {false, false};
    for (size_t i = 0; i < c->factors.size(); ++i) {
      const auto& f = c->factors[i];
      if (apart[i]) continue;
      Value v = number(f.value);
      double x = as(v, false);
      double& s = side[f.operand];
      s = f.inverse ? single(s / x) : any[f.operand] ? single(s * x) : x;
      any[f.operand] = true;
    }
    for (int k : {0, 1}) {
      if (round && c->computed[static_cast<size_t>(k)]) side[k] = round_to(*c->rounds_to, side[k]);
    }
    double term = single(side[0] * side[1]);
    for (size_t i = 0; i < c->factors.size(); ++i) {
      if (!apart[i]) continue;
      double x = as(number(c->factors[i].value), false);
      term = c->factors[i].inverse ? single(term / x) : single(term * x);
    }
    // The sign of the body, from the body: negations are exact and stand anywhere.
    int negations = 0;
    auto count = [&](auto& self, const NodePtr& node) -> void {
      if (node->op == Op::kNeg) {
        ++negations;
        self(self, node->args[0]);
      } else if (node->op == Op::kMul || node->op == Op::kDiv) {
        for (const NodePtr& arg : node->args) self(self, arg);
      }
    };
    count(count, n->args[0]);
    sign = negations % 2 ? -1 : 1;
    terms.push_back(sign * term);
  });
  return sum(std::move(terms), false);
}

}  // namespace quern::expr::test
