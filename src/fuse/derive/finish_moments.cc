// Moments at the finish: about the centre that the text has, from those about the one that was kept.
#include <algorithm>
#include <limits>

#include "fuse/derive/finish.h"

namespace quern::fuse::algebra {

ExprPtr Finisher::residue(int centre, ScalarType type) {
  if (!rules_.first_moment) return nullptr;
  const Centre& c = pass_.centres[centre];
  if (!c.running) return first_moment(centre, plain(c.rho), type);
  ExprPtr running = plain(c.running), first = first_moment(centre, running, type);
  // One number, mostly 0: multiplied out, its parts would have to cancel.
  ExprPtr rest = a_.apply(Op::kFinite, {a_.cast(type, a_.sub(running, plain(c.rho)))});
  return first ? a_.add(first, rest) : rest;
}

// How much more than a mean (`rho`, negative) its stored form is, by the first moment about that.
ExprPtr Finisher::first_moment(int centre, const ExprPtr& rho, ScalarType type) {
  const Centre& c = pass_.centres[centre];
  Poly p = a_.poly(rho);
  if (p.size() != 1 || p[0].coefficient != -1 || p[0].factors.size() != 2) return nullptr;
  std::optional<int32_t> above, below;
  for (const ExprPtr& f : p[0].factors) {
    if (f->op == Op::kDiv) {
      ExprPtr x = f->args[1];
      if (x->op == Op::kCast) x = x->args[0];
      below = symbol_index(x, Symbols::kStored);
    } else {
      above = symbol_index(f, Symbols::kStored);
    }
  }
  if (!above || !below) return nullptr;
  const Accumulator &s = pass_.accumulators[*above], &n = pass_.accumulators[*below];
  auto weight = [&](const Accumulator& x, bool with_y) {
    ExprPtr w = a_.number(1, type);
    for (const ExprPtr& f : x.weights) w = a_.mul(w, f);
    for (const ExprPtr& f : x.divisors) w = a_.div(w, f);
    if (with_y) {
      ExprPtr y = a_.number(0, type);
      for (const ExprPtr& part : c.y) y = a_.add(y, part);
      w = a_.mul(w, y);
    }
    return a_.normal(w);
  };
  auto alike = [&](const Accumulator& x) {
    return x.op == Op::kSum && x.guard == n.guard && x.exponent == n.exponent && x.k == n.k && x.gauge == n.gauge &&
           !x.key;
  };
  if (n.op != Op::kSum || n.key || !n.differences.empty() || !alike(s) || !s.differences.empty()) return nullptr;
  if (weight(s, false) != weight(n, true)) return nullptr;
  for (size_t i = 0; i < pass_.accumulators.size(); ++i) {
    const Accumulator& first = pass_.accumulators[i];
    if (alike(first) && first.differences.size() == 1 && first.differences[0].centre == centre &&
        first.differences[0].power == 1 && weight(first, false) == weight(n, false)) {
      return a_.div(stored(static_cast<int>(i)), a_.cast(type, stored(*below)));
    }
  }
  return nullptr;
}

// A moment about the true centre from those about the stored one.
Finisher::Scaled Finisher::accumulator(int index) {
  const Accumulator& acc = pass_.accumulators[index];
  Scaled out{stored(index), {}};
  if (acc.gauge >= 0) out.e = a_.scaled(a_.poly(gauge_symbol(acc.gauge, acc.type)), acc.k);
  if (acc.differences.empty()) return out;
  auto find = [&](const std::vector<Difference>& wanted) -> int {
    for (size_t i = 0; i < pass_.accumulators.size(); ++i) {
      Accumulator x = pass_.accumulators[i];
      bool rest = x.weights == acc.weights && x.divisors == acc.divisors && x.guard == acc.guard &&
                  x.exponent == acc.exponent && x.k == acc.k && x.gauge == acc.gauge && x.op == acc.op && !x.key;
      if (rest && std::equal(x.differences.begin(), x.differences.end(), wanted.begin(), wanted.end(),
                             [](const Difference& p, const Difference& q) {
                               return p.centre == q.centre && p.power == q.power;
                             })) {
        return static_cast<int>(i);
      }
    }
    return -1;
  };
  ExprPtr total = a_.number(0, acc.type);
  std::function<void(size_t, std::vector<Difference>, ExprPtr)> expand = [&](size_t at, std::vector<Difference> kept,
                                                                             const ExprPtr& factor) {
    if (at == acc.differences.size()) {
      int i = find(kept);
      if (i < 0) return;
      ExprPtr term = a_.mul(factor, a_.cast(acc.type, stored(i)));
      // Beside an infinite weight the rest of a centre is nothing.
      bool weighted = !acc.weights.empty() || !acc.divisors.empty();
      if (weighted && i != index) term = a_.apply(Op::kFinite, {term});
      total = a_.add(total, term);
      return;
    }
    Difference d = acc.differences[at];
    ExprPtr r = residue(d.centre, acc.type);
    for (int j = d.power; j >= (r ? 0 : d.power); --j) {
      std::vector<Difference> next = kept;
      if (j > 0) next.push_back({d.centre, j});
      ExprPtr f = factor;
      if (j < d.power) f = a_.mul(f, a_.mul(a_.number(choose(d.power, j), acc.type), a_.power(a_.neg(r), d.power - j)));
      expand(at + 1, next, f);
    }
  };
  expand(0, {}, a_.number(1, acc.type));
  out.m = total->op == Op::kAdd || total->op == Op::kSub ? a_.expression(a_.poly(total), acc.type) : total;
  // About a true centre that is infinite: differences of a stored one, which is finite, say nothing of it.
  for (const Difference& d : acc.differences) {
    ExprPtr rho = a_.cast(acc.type, plain(pass_.centres[d.centre].rho));
    int first = acc.weights.empty() && acc.divisors.empty() && acc.differences.size() == 1 ? find({{d.centre, 1}}) : -1;
    ExprPtr beyond = first < 0 ? a_.number(std::numeric_limits<double>::quiet_NaN(), acc.type)
                               : a_.power(a_.add(stored(first), rho), d.power);
    out.m = a_.select(is_finite(rho), out.m, beyond);
  }
  return out;
}

}  // namespace quern::fuse::algebra
