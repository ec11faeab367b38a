// A derivation as tile statements. One rule, `combine`, serves three uses: the step of a loop (one old state, a tile),
// the merge of parts (many old states on an axis, no tile) and a prefix met by a tile. In order of level: base results
// first, then gauges and centres of the new state, then every old accumulator moved to them, then the tile's elements
// evaluated at them. The correction pairs the *raw* old gauge with the *finite* new one: exp(-inf - 0) = 0 for a state
// without elements.
#include <fmt/format.h>

#include <algorithm>
#include <numbers>

#include "fuse/contract.h"
#include "fuse/derive.h"
#include "fuse/derive/algebra.h"
#include "fuse/derive/represent.h"

namespace quern::fuse {

using namespace algebra;

int32_t Namer::add(std::string_view hint, ScalarType type, AxisSet axes) {
  auto taken = [&](const std::string& text) {
    return std::any_of(names_.begin(), names_.end(), [&](const tile::Name& n) { return n.name.str() == text; });
  };
  std::string text(hint);
  for (int i = 1; taken(text); ++i) text = fmt::format("{}_{}", hint, i);
  names_.push_back({Symbol(text), type, axes});
  return static_cast<int32_t>(names_.size()) - 1;
}

namespace {

constexpr double kStep = 8;  // of a stepped gauge, in powers of two

// Beyond this an extremum is taken off first, and steps are of what is left, 0: so far `exp_at` is exact on the way on
// every machine, for twice the exponent too, and further out there would be no bits left for steps.
double largest_stepped(ScalarType type) { return type == ScalarType::f64 ? 0x1p18 : 0x1p13; }

ExprPtr bias_of(Algebra& a, const ExprPtr& m) {
  ExprPtr beyond = a.apply(Op::kGt, {a.apply(Op::kAbs, {m}), a.number(largest_stepped(m->type), m->type)});
  return a.apply(Op::kFinite, {a.apply(Op::kAnchor, {a.select(beyond, m, a.number(0, m->type))})});
}
ExprPtr steps_of(Algebra& a, const ExprPtr& m) {
  ExprPtr steps = a.mul(a.sub(m, bias_of(a, m)), a.number(std::numbers::log2e / kStep, m->type));
  return a.mul(a.number(kStep, m->type), a.apply(Op::kCeil, {steps}));
}

std::vector<int> in_order(const Pass& pass) {
  std::vector<int> out;
  for (size_t i = 0; i < pass.accumulators.size(); ++i) {
    if (pass.accumulators[i].live) out.push_back(static_cast<int>(i));
  }
  std::stable_sort(out.begin(), out.end(),
                   [&](int a, int b) { return pass.accumulators[a].level < pass.accumulators[b].level; });
  return out;
}

const char* hint(const Accumulator& acc) {
  switch (acc.op) {
    case Op::kMax: return acc.key ? "pick" : "top";
    case Op::kMin: return acc.key ? "pick" : "low";
    case Op::kProd: return "prod";
    case Op::kSum: break;
    default: return "any";
  }
  if (acc.key) return "picked";
  if (acc.type == ScalarType::i64 && acc.weights.empty()) return "count";
  if (acc.gauge >= 0) return acc.weights.empty() && acc.differences.empty() ? "mass" : "acc";
  return acc.differences.empty() ? "total" : "moment";
}

// One use of `combine`.
class Combine {
 public:
  // What earlier passes have computed is replaced by `known`; old[i] is the state of accumulator i before.
  Combine(const Derivation& d, const Pass& pass, Namer& namer, const Algebra::Map& known, std::vector<ExprPtr> old,
          AxisSet parts, bool tile, tile::Block& block)
      : d_(d),
        a_(*d.algebra),
        p_(pass),
        namer_(namer),
        known_(known),
        old_(std::move(old)),
        parts_(parts),
        tile_(tile),
        block_(block),
        next_(old_.size()),
        gauges_(pass.gauges.size()),
        biases_(pass.gauges.size()),
        moves_(pass.gauges.size()),
        centres_(pass.centres.size()),
        shifts_(pass.centres.size()) {}

  std::vector<ExprPtr> run() {
    if (tile_) count_uses();
    for (int i : in_order(p_)) {
      const Accumulator& acc = p_.accumulators[i];
      ExprPtr value = acc.key                                                         ? selection(i)
                      : acc.gauge < 0 && acc.differences.empty() && acc.amplitude < 0 ? plain(i)
                                                                                      : sum(i);
      next_[i] = let(fmt::format("{}_next", hint(acc)), value);
    }
    return next_;
  }

 private:
  ExprPtr let(std::string_view name_hint, const ExprPtr& value) {
    int32_t id = namer_.add(name_hint, value->type, value->axes);
    block_.push_back({tile::Let{id, value}});
    return a_.take(tile::name(id, value->type, value->axes));
  }
  ExprPtr number(double v, ScalarType t) { return a_.number(v, t); }

  // --- elements ---
  void count_uses() {
    auto use = [&](const ExprPtr& e) {
      if (e) ++uses_[e.get()];
    };
    for (int i : in_order(p_)) {
      const Accumulator& acc = p_.accumulators[i];
      for (const ExprPtr& e : acc.weights) use(e);
      for (const ExprPtr& e : acc.divisors) use(e);
      use(acc.exponent), use(acc.key), use(acc.amplitude_of);
      for (const Difference& x : acc.differences) {
        for (const ExprPtr& e : p_.centres[x.centre].y) use(e);
      }
    }
  }
  // A part of an element: named if it is used twice.
  ExprPtr element(const ExprPtr& e) {
    auto at = elements_.find(e.get());
    if (at != elements_.end()) return at->second;
    ExprPtr value = a_.substitute(e, known_);
    bool simple =
        value->op == Op::kLoad || value->args.empty() || (value->op == Op::kCast && value->args[0]->op == Op::kLoad);
    if (!simple && uses_[e.get()] > 1) value = let("x", value);
    return elements_[e.get()] = value;
  }
  ExprPtr reduced(Op op, AxisSet over, const ExprPtr& e) { return a_.take(tile::reduce(op, over, e)); }
  ExprPtr both(Op op, const ExprPtr& a, const ExprPtr& b) {
    if (!a) return b;
    if (!b) return a;
    switch (op) {
      case Op::kSum: return a_.add(a, b);
      case Op::kProd: return a_.mul(a, b);
      default: return a_.apply(tile::combining(op), {a, b});
    }
  }
  ExprPtr gathered(Op op, const ExprPtr& e) { return parts_.empty() ? e : reduced(op, parts_, e); }

  // Factors of an element without its exponential.
  std::vector<ExprPtr> factors(const Accumulator& acc) {
    std::vector<ExprPtr> out;
    for (const ExprPtr& e : acc.weights) out.push_back(element(e));
    if (!acc.divisors.empty()) {
      ExprPtr w = nullptr, below = nullptr;
      for (const ExprPtr& e : out) w = w ? a_.mul(w, e) : e;
      for (const ExprPtr& e : acc.divisors) below = below ? a_.mul(below, element(e)) : element(e);
      out = {a_.div(w ? w : number(1, acc.type), below)};
    }
    for (int i = 0; i < acc.amplitude_power; ++i) {
      out.push_back(a_.div(element(acc.amplitude_of), amplitude(next_[acc.amplitude])));
    }
    for (const Difference& x : acc.differences) {
      for (int i = 0; i < x.power; ++i) out.push_back(offset(x.centre));
    }
    return out;
  }
  // What elements are divided by: anything but 0.
  ExprPtr amplitude(const ExprPtr& a) {
    ExprPtr zero = number(0, a->type);
    return a_.select(a_.apply(Op::kEq, {a, zero}), number(1, a->type), a);
  }
  // y + rho at the new state, each extremum next to what it is the extremum of.
  ExprPtr offset(int c) {
    auto at = offsets_.find(c);
    if (at != offsets_.end()) return at->second;
    const Centre& centre = p_.centres[c];
    ScalarType type = centre.stored->type;
    rho(c);
    std::vector<std::pair<ExprPtr, bool>> rest;  // parts of rho, and whether they are subtracted
    std::function<void(const ExprPtr&, bool)> collect = [&](const ExprPtr& e, bool minus) {
      if (e->op == Op::kAdd || e->op == Op::kSub) {
        collect(e->args[0], minus), collect(e->args[1], minus != (e->op == Op::kSub));
      } else if (e->op == Op::kNeg) {
        collect(e->args[0], !minus);
      } else {
        rest.emplace_back(e, minus);
      }
    };
    collect(centre.stored, false);
    ExprPtr total = nullptr;
    bool paired = false;
    if (rest.size() > 1 && rest.size() == centre.y.size()) {
      std::vector<ExprPtr> pairs;
      for (const ExprPtr& y : centre.y) {
        bool minus = y->op == Op::kNeg;
        const ExprPtr& base = minus ? y->args[0] : y;
        for (const auto& [e, negative] : rest) {
          auto s = symbol_index(e, Symbols::kStored);
          if (!s || negative == minus || p_.accumulators[*s].weights != std::vector<ExprPtr>{base}) continue;
          ExprPtr pair = a_.sub(element(base), a_.apply(Op::kFinite, {a_.apply(Op::kAnchor, {next_[*s]})}));
          pairs.push_back(minus ? a_.neg(pair) : pair);
          break;
        }
      }
      paired = pairs.size() == centre.y.size();
      if (paired) {
        for (const ExprPtr& x : pairs) total = total ? a_.add(total, x) : x;
      }
    }
    if (!paired) {
      for (const ExprPtr& y : centre.y) {
        bool minus = y->op == Op::kNeg && total;
        ExprPtr x = element(minus ? y->args[0] : y);
        total = !total ? x : minus ? a_.sub(total, x) : a_.add(total, x);
      }
      total = a_.add(total, centres_[c]);
    }
    return offsets_[c] = a_.cast(type, let("off", total));
  }

  // --- gauges and centres ---
  ExprPtr level_of(int gauge, const ExprPtr& extremum) {
    return p_.gauges[gauge].stepped ? steps_of(a_, extremum) : extremum;
  }
  ExprPtr bias(int g) {
    if (biases_[g]) return biases_[g];
    return biases_[g] = let("bias", bias_of(a_, next_[p_.gauges[g].extremum]));
  }
  ExprPtr finite(const ExprPtr& e) { return a_.apply(Op::kFinite, {e}); }
  // The new gauge, finite; in powers of two if it is stepped.
  ExprPtr gauge(int g) {
    if (gauges_[g]) return gauges_[g];
    ExprPtr raw = a_.apply(Op::kAnchor, {level_of(g, next_[p_.gauges[g].extremum])});
    return gauges_[g] = let("gauge", d_.rules.finite_gauge ? finite(raw) : raw);
  }
  // What old accumulators are multiplied with: exp(k * (old - new)).
  ExprPtr correction(const Accumulator& acc) {
    const Gauge& g = p_.gauges[acc.gauge];
    if (g.constant || !d_.rules.rescale) return nullptr;
    auto& known = moves_[acc.gauge];
    auto at = known.find(acc.k);
    if (at != known.end()) return at->second;
    ExprPtr fresh = gauge(acc.gauge);
    ExprPtr old = a_.apply(Op::kAnchor, {level_of(acc.gauge, old_[g.extremum])});
    if (!d_.rules.raw_old_gauge) old = finite(old);
    auto times_k = [&](const ExprPtr& e) { return acc.k == 1 ? e : a_.mul(number(acc.k, acc.type), e); };
    if (!g.stepped) return known[acc.k] = let("fade", a_.apply(Op::kExp, {times_k(a_.sub(old, fresh))}));
    ExprPtr moved = a_.sub(bias_of(a_, old_[g.extremum]), bias(acc.gauge));
    ExprPtr fade = a_.apply(Op::kExpAt, {times_k(moved), times_k(a_.sub(fresh, old))});
    return known[acc.k] = let("fade", fade);
  }
  ExprPtr state(const ExprPtr& stored, const std::vector<ExprPtr>& values) {
    Algebra::Map map = known_;
    for (size_t i = 0; i < p_.accumulators.size(); ++i) {
      const Accumulator& acc = p_.accumulators[i];
      if (values[i]) map[a_.symbol(Symbols::kStored, static_cast<int32_t>(i), acc.type, acc.axes).get()] = values[i];
    }
    return a_.substitute(stored, map);
  }
  ExprPtr rho(int c) {
    if (centres_[c]) return centres_[c];
    return centres_[c] = let("centre", finite(a_.apply(Op::kAnchor, {state(p_.centres[c].stored, next_)})));
  }
  // How far the centre moved.
  ExprPtr shift(int c) {
    if (shifts_[c]) return shifts_[c];
    ExprPtr old = finite(a_.apply(Op::kAnchor, {state(p_.centres[c].stored, old_)}));
    return shifts_[c] = let("shift", a_.sub(rho(c), old));
  }

  // --- the four kinds of accumulator ---
  ExprPtr plain(int i) {
    const Accumulator& acc = p_.accumulators[i];
    ExprPtr out = old_[i] ? gathered(acc.op, old_[i]) : nullptr;
    if (!tile_) return out;
    if (acc.op == Op::kSum && acc.weights.empty() && acc.divisors.empty())
      return both(acc.op, out, number_of_elements(acc));
    if (acc.op != Op::kSum || !is_real(acc.weights.empty() ? acc.divisors[0] : acc.weights[0])) {
      ExprPtr e = element(acc.weights[0]);
      if (acc.guard) e = a_.select(a_.substitute(acc.guard, known_), e, a_.take(tile::identity(acc.op, acc.type)));
      return both(acc.op, out, reduced(acc.op, d_.streamed, e));
    }
    return both(acc.op, out, element_sum(acc));
  }
  ExprPtr number_of_elements(const Accumulator& acc) {
    ExprPtr one = number(1, acc.type);
    if (acc.guard) {
      return reduced(Op::kSum, d_.streamed, a_.select(a_.substitute(acc.guard, known_), one, number(0, acc.type)));
    }
    ExprPtr count = nullptr;
    for (AxisId x : d_.streamed.list()) {
      ExprPtr size = a_.take(tile::apply(Op::kSub, {tile::axis_high(x), tile::axis_low(x)}));
      count = count ? a_.apply(Op::kMul, {count, size}) : size;
    }
    return a_.cast(acc.type, count);
  }
  ExprPtr selection(int i) {
    const Accumulator& acc = p_.accumulators[i];
    ExprPtr none = a_.take(tile::identity(acc.op, acc.type));
    ExprPtr fresh = state(acc.selected_stored, next_);
    ExprPtr out = nullptr;
    if (old_[i]) {
      ExprPtr before = state(acc.selected_stored, old_);
      ExprPtr same = a_.apply(Op::kEq, {before, fresh});
      if (acc.unordered) same = a_.apply(Op::kOr, {same, a_.apply(Op::kNe, {before, before})});
      out = gathered(acc.op, a_.select(same, old_[i], none));
    }
    if (!tile_) return out;
    ExprPtr e = nullptr;
    for (const ExprPtr& w : factors(acc)) e = e ? a_.mul(e, w) : w;
    if (!e) e = number(1, acc.type);
    ExprPtr key = element(acc.key), c = a_.apply(Op::kEq, {key, fresh});
    if (acc.unordered) c = a_.apply(Op::kOr, {c, a_.apply(Op::kNe, {key, key})});
    if (acc.guard) c = a_.both(a_.substitute(acc.guard, known_), c);
    return both(acc.op, out, reduced(acc.op, d_.streamed, a_.select(c, e, none)));
  }
  ExprPtr sum(int i) {
    const Accumulator& acc = p_.accumulators[i];
    ExprPtr out = nullptr;
    if (old_[i]) {
      ExprPtr moved = acc.differences.empty() || !d_.rules.binomials ? old_[i] : transported(acc);
      if (acc.gauge >= 0) {
        if (ExprPtr c = correction(acc)) moved = a_.mul(moved, c);
      }
      if (acc.amplitude >= 0) {
        ExprPtr ratio = finite(a_.div(old_[acc.amplitude], amplitude(next_[acc.amplitude])));
        for (int j = 0; j < acc.amplitude_power; ++j) moved = a_.mul(moved, ratio);
      }
      out = gathered(acc.op, moved);
    }
    return tile_ ? both(acc.op, out, element_sum(acc)) : out;
  }
  // Moments about the new centre from those about the old one. What is carried is multiplied with the shift time after
  // time, never with a power of it: of nothing it stays 0 even where the power would be infinite.
  ExprPtr transported(const Accumulator& acc) {
    ExprPtr total = nullptr;
    std::vector<std::pair<int, int>> moves;  // centre, power of its shift
    std::function<void(size_t, std::vector<Difference>, double)> expand =
        [&](size_t at, const std::vector<Difference>& kept, double factor) {
          if (at == acc.differences.size()) {
            ExprPtr lower = old_with(acc, kept);
            if (!lower) return;
            ExprPtr term = a_.cast(acc.type, lower);
            for (auto [centre, power] : moves) {
              for (int j = 0; j < power; ++j) term = a_.mul(shift(centre), term);
            }
            if (factor != 1) term = a_.mul(number(factor, acc.type), term);
            // An infinite weight stays where it is.
            if (!moves.empty() && (!acc.weights.empty() || !acc.divisors.empty())) term = finite(term);
            total = total ? a_.add(total, term) : term;
            return;
          }
          Difference x = acc.differences[at];
          for (int j = x.power; j >= 0; --j) {
            std::vector<Difference> next = kept;
            if (j > 0) next.push_back({x.centre, j});
            if (j < x.power) moves.emplace_back(x.centre, x.power - j);
            expand(at + 1, next, factor * choose(x.power, j));
            if (j < x.power) moves.pop_back();
          }
        };
    expand(0, {}, 1);
    return total;
  }
  ExprPtr old_with(const Accumulator& acc, const std::vector<Difference>& wanted) {
    for (size_t i = 0; i < p_.accumulators.size(); ++i) {
      const Accumulator& x = p_.accumulators[i];
      if (x.live && is_lower(x, acc) && x.differences.size() == wanted.size() &&
          std::equal(wanted.begin(), wanted.end(), x.differences.begin(), [](const Difference& p, const Difference& q) {
            return p.centre == q.centre && p.power == q.power;
          })) {
        return old_[i];
      }
    }
    return nullptr;
  }
  // An element that the text leaves out has the exponent -inf.
  ExprPtr present(const Accumulator& acc) {
    ExprPtr lowest = number(-INFINITY, acc.exponent->type);
    return a_.apply(Op::kNe, {element(acc.exponent), acc.k > 0 ? lowest : a_.neg(lowest)});
  }
  // exp(k * (h - g)) at the new gauge, 0 outside the guard; -0, which exp never is, where an element is left out.
  ExprPtr weight(const Accumulator& acc) {
    std::string key = fmt::format("{} {} {} {} {}", static_cast<const void*>(acc.exponent.get()), acc.k, acc.gauge,
                                  static_cast<const void*>(acc.guard.get()), acc.masked);
    auto at = weights_.find(key);
    if (at != weights_.end()) return at->second;
    const Gauge& g = p_.gauges[acc.gauge];
    ScalarType t = acc.type;
    ExprPtr h = element(acc.exponent), e;
    if (g.constant) {
      e = g.value == 0 ? h : a_.sub(h, number(g.value, t));
      if (acc.k != 1) e = a_.mul(number(acc.k, t), e);
      e = a_.apply(Op::kExp, {e});
    } else if (g.stepped) {
      ExprPtr low = gauge(acc.gauge);
      h = a_.sub(h, bias(acc.gauge));
      if (acc.k != 1) low = a_.mul(number(acc.k, t), low), h = a_.mul(number(acc.k, t), h);
      e = a_.apply(Op::kExpAt, {h, low});
    } else {
      e = a_.sub(h, gauge(acc.gauge));
      if (acc.k != 1) e = a_.mul(number(acc.k, t), e);
      e = a_.apply(Op::kExp, {e});
    }
    if (acc.masked) e = a_.select(present(acc), e, number(-0.0, t));
    if (acc.guard) e = a_.select(a_.substitute(acc.guard, known_), e, number(acc.masked ? -0.0 : 0.0, t));
    return weights_[key] = let("p", e);
  }
  ExprPtr element_sum(const Accumulator& acc) {
    std::vector<ExprPtr> all = factors(acc);
    ExprPtr rest = nullptr;
    for (const ExprPtr& w : all) rest = rest ? a_.mul(rest, w) : w;
    ExprPtr out = rest ? rest : number(1, acc.type), p = nullptr;
    if (acc.gauge >= 0) {
      p = weight(acc);
      if (rest && acc.careful) {
        rest = a_.select(present(acc), rest, number(0, acc.type));
      }
      out = rest ? a_.mul(p, rest) : p;
    } else if (acc.guard) {
      out = a_.select(a_.substitute(acc.guard, known_), out, number(0, acc.type));
    }
    ExprPtr sum = reduced(Op::kSum, d_.streamed, out);
    bool absent = acc.masked && rest;
    Weight weight;
    if (absent) weight = {p, present(acc)};
    if (ExprPtr dot = contract(sum, d_.regroups, weight)) return a_.take_as_is(dot);
    if (!absent) return sum;
    return reduced(Op::kSum, d_.streamed, a_.select(weight.present, out, number(0, acc.type)));
  }

  const Derivation& d_;
  Algebra& a_;
  const Pass& p_;
  Namer& namer_;
  const Algebra::Map& known_;
  std::vector<ExprPtr> old_;
  AxisSet parts_;
  bool tile_;
  tile::Block& block_;
  std::vector<ExprPtr> next_, gauges_, biases_;
  std::vector<std::map<double, ExprPtr>> moves_;
  std::vector<ExprPtr> centres_, shifts_;
  std::map<int, ExprPtr> offsets_;
  std::map<std::string, ExprPtr> weights_;
  std::unordered_map<const Expr*, int> uses_;
  std::unordered_map<const Expr*, ExprPtr> elements_;
};

// Stored accumulators and gauges as names of the kernel.
Algebra::Map state_map(Algebra& a, const Pass& pass, const std::vector<ExprPtr>& state, const Algebra::Map& known) {
  Algebra::Map map = known;
  for (size_t i = 0; i < pass.accumulators.size(); ++i) {
    const Accumulator& acc = pass.accumulators[i];
    if (state[i]) map[a.symbol(Symbols::kStored, static_cast<int32_t>(i), acc.type, acc.axes).get()] = state[i];
  }
  for (size_t g = 0; g < pass.gauges.size(); ++g) {
    const Gauge& gauge = pass.gauges[g];
    if (!gauge.stepped || !state[gauge.extremum]) continue;
    const ExprPtr& m = state[gauge.extremum];
    const Accumulator& acc = pass.accumulators[gauge.extremum];
    ExprPtr powers = a.apply(Op::kFinite, {a.apply(Op::kAnchor, {steps_of(a, m)})});
    ExprPtr value = a.apply(Op::kFma, {powers, a.number(std::numbers::ln2, acc.type), bias_of(a, m)});
    map[a.symbol(Symbols::kGauge, static_cast<int32_t>(g), acc.type, acc.axes).get()] = value;
  }
  return map;
}

ExprPtr put(Algebra& a, Namer& namer, tile::Block& block, std::string_view hint, const ExprPtr& value) {
  int32_t id = namer.add(hint, value->type, value->axes);
  block.push_back({tile::Let{id, value}});
  return a.take(tile::name(id, value->type, value->axes));
}

}  // namespace

Lowered lower_derivation(const Derivation& d, Namer& namer) {
  Algebra& a = *d.algebra;
  Lowered out;
  Algebra::Map known;
  tile::Block before;
  for (size_t p = 0; p < d.passes.size(); ++p) {
    const Pass& pass = d.passes[p];
    LoweredPass low;
    low.before = std::move(before);
    before.clear();
    std::vector<ExprPtr> state(pass.accumulators.size());
    for (int i : in_order(pass)) {
      const Accumulator& acc = pass.accumulators[i];
      int32_t id = namer.add(hint(acc), acc.type, acc.axes);
      low.state.push_back(id);
      low.accumulator.push_back(i);
      state[i] = a.take(tile::name(id, acc.type, acc.axes));
    }
    std::vector<ExprPtr> next = Combine(d, pass, namer, known, state, {}, true, low.loop.body).run();
    for (AxisId x : d.streamed.list()) low.loop.walks.push_back({x, 0, nullptr, nullptr});
    for (size_t s = 0; s < low.state.size(); ++s) {
      const Accumulator& acc = pass.accumulators[low.accumulator[s]];
      ExprPtr init = tile::identity(acc.op, acc.type);
      if (!acc.axes.empty()) init = tile::fill(acc.axes, init);
      low.loop.carries.push_back({low.state[s], init, next[low.accumulator[s]]});
    }
    out.passes.push_back(std::move(low));
    Algebra::Map map = state_map(a, pass, state, known);
    bool last = p + 1 == d.passes.size();
    if (last) {
      for (const ExprPtr& o : d.outputs)
        out.outputs.push_back(put(a, namer, out.finish, "result", a.substitute(o, map)));
    } else {
      for (const Answer& x : pass.answers) {
        known[x.reduction.get()] = put(a, namer, before, "known", a.substitute(x.value, map));
      }
    }
  }
  if (d.passes.empty()) out.outputs = d.outputs;
  return out;
}

tile::Block block_of(const Lowered& lowered) {
  tile::Block out;
  for (const LoweredPass& p : lowered.passes) {
    out.insert(out.end(), p.before.begin(), p.before.end());
    out.push_back({p.loop});
  }
  out.insert(out.end(), lowered.finish.begin(), lowered.finish.end());
  return out;
}

Merged merge_parts(const Derivation& d, int pass, const std::vector<ExprPtr>& states, AxisId parts, Namer& namer) {
  Algebra& a = *d.algebra;
  const Pass& p = d.passes[pass];
  std::vector<ExprPtr> old(p.accumulators.size());
  std::vector<int> order = in_order(p);
  for (size_t s = 0; s < order.size(); ++s) old[order[s]] = a.take(states[s]);
  Merged out;
  std::vector<ExprPtr> next = Combine(d, p, namer, {}, old, AxisSet::of(parts), false, out.body).run();
  for (int i : order) out.state.push_back(next[i]);
  return out;
}

Lowered finish_from(const Derivation& d, const std::vector<ExprPtr>& given, Namer& namer) {
  Algebra& a = *d.algebra;
  const Pass& pass = d.passes.back();
  std::vector<ExprPtr> state(pass.accumulators.size());
  std::vector<int> order = in_order(pass);
  for (size_t s = 0; s < order.size(); ++s) state[order[s]] = a.take(given[s]);
  Algebra::Map map = state_map(a, pass, state, {});
  Lowered out;
  for (const ExprPtr& o : d.outputs) out.outputs.push_back(put(a, namer, out.finish, "result", a.substitute(o, map)));
  return out;
}

}  // namespace quern::fuse
