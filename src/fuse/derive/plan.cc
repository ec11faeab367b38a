// The fewest passes: every reduction goes into the first pass in which it can be derived; results of earlier passes are
// known (docs/derivation.md, "algorithm").
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fuse/contract.h"
#include "fuse/derive.h"
#include "fuse/derive/finish.h"
#include "fuse/derive/print_term.h"
#include "fuse/derive/reduce.h"

namespace quern::fuse {

using namespace algebra;

namespace {

// An inner reduction that reads a tensor at every j where the element reads it at n: all pairs are compared.
struct Pairs {
  ExprPtr inner;
  int32_t parameter = -1;
  AxisId other = -1;
};

std::optional<Pairs> compares_pairs(const ExprPtr& body, AxisSet n, Intervals& intervals) {
  std::optional<Pairs> out;
  visit(body, [&](const ExprPtr& e) {
    if (out || row(*e).family != Family::reduce || !(e->over & n).empty() || (e->axes & n).empty()) return;
    std::vector<ExprPtr> loads;
    visit(e->args[0], [&](const ExprPtr& x) {
      if (x->op == Op::kLoad) loads.push_back(x);
    });
    for (const ExprPtr& a : loads) {
      for (const ExprPtr& b : loads) {
        if (a->id != b->id) continue;
        for (size_t d = 0; d < a->args.size(); ++d) {
          const ExprPtr &x = a->args[d], &y = b->args[d];
          if (x->op != Op::kAxis || y->op != Op::kAxis || !n.has(x->id) || !e->over.has(y->id)) continue;
          auto p = intervals.extent(x->id), q = intervals.extent(y->id);
          if (!p || !q || *p == *q) out = Pairs{e, a->id, y->id};
        }
      }
    }
  });
  return out;
}

std::vector<ExprPtr> reductions_of(const std::vector<ExprPtr>& outputs, Algebra& a) {
  std::vector<ExprPtr> out;
  std::unordered_set<const Expr*> seen;
  for (const ExprPtr& o : outputs) {
    visit(o, [&](const ExprPtr& e) {
      if (a.is_answer(e) && seen.insert(e.get()).second) out.push_back(e);
    });
  }
  return out;
}

// Everything that later stages read from a pass.
void mark_live(Pass& pass, const std::vector<ExprPtr>& roots) {
  std::vector<int> todo;
  auto need = [&](int i) {
    if (!pass.accumulators[i].live) pass.accumulators[i].live = true, todo.push_back(i);
  };
  auto read = [&](const ExprPtr& e) {
    if (!e) return;
    visit(e, [&](const ExprPtr& x) {
      if (auto i = symbol_index(x, Symbols::kStored)) need(*i);
      if (auto g = symbol_index(x, Symbols::kGauge)) need(pass.gauges[*g].extremum);
    });
  };
  for (Accumulator& acc : pass.accumulators) acc.live = false;
  for (const ExprPtr& r : roots) read(r);
  while (!todo.empty()) {
    const Accumulator& acc = pass.accumulators[todo.back()];
    todo.pop_back();
    if (acc.gauge >= 0 && !pass.gauges[acc.gauge].constant) need(pass.gauges[acc.gauge].extremum);
    if (acc.amplitude >= 0) need(acc.amplitude);
    for (const Difference& d : acc.differences) read(pass.centres[d.centre].stored);
    read(acc.selected_stored);
    if (acc.differences.empty()) continue;
    // Lower powers, which transport reads.
    for (size_t i = 0; i < pass.accumulators.size(); ++i) {
      if (is_lower(pass.accumulators[i], acc)) need(static_cast<int>(i));
    }
  }
}

void set_levels(Pass& pass) {
  std::vector<int> state(pass.accumulators.size(), 0);
  std::function<int(int)> level = [&](int i) -> int {
    Accumulator& acc = pass.accumulators[i];
    if (state[i] == 2) return acc.level;
    if (state[i] == 1) return 0;  // a cycle, which verify reports
    state[i] = 1;
    int deepest = acc.amplitude >= 0 ? level(acc.amplitude) : -1;
    auto read = [&](const ExprPtr& e) {
      if (!e) return;
      visit(e, [&](const ExprPtr& x) {
        if (auto s = symbol_index(x, Symbols::kStored)) deepest = std::max(deepest, level(*s));
        if (auto g = symbol_index(x, Symbols::kGauge)) deepest = std::max(deepest, level(pass.gauges[*g].extremum));
      });
    };
    if (acc.gauge >= 0 && !pass.gauges[acc.gauge].constant)
      deepest = std::max(deepest, level(pass.gauges[acc.gauge].extremum));
    for (const Difference& d : acc.differences) read(pass.centres[d.centre].stored);
    read(acc.selected_stored);
    acc.level = deepest + 1;
    state[i] = 2;
    return acc.level;
  };
  for (size_t i = 0; i < pass.accumulators.size(); ++i) level(static_cast<int>(i));
}

class Planner {
 public:
  Planner(std::vector<ExprPtr> outputs, Derivation& d, const Facts& facts)
      : a_(*d.algebra), intervals_(facts), facts_(facts), d_(d), outputs_(std::move(outputs)) {}

  Result<void> run() {
    std::vector<ExprPtr> todo = reductions_of(outputs_, a_);
    for (const ExprPtr& r : todo) {
      if (auto p = compares_pairs(r->args[0], a_.n, intervals_)) {
        return fail(diagnose(Code::R21, r->span,
                             {{"what", name_of(r)},
                              {"axis", axis_name(*a_.n.list().begin())},
                              {"tensor", Writer(facts_).parameter(p->parameter)},
                              {"other", axis_name(p->other)}}));
      }
    }
    for (const ExprPtr& o : outputs_) {
      if ((o->axes & a_.n).empty()) continue;
      d_.remarks.push_back(
          diagnose(Code::R22, o->span, {{"what", name_of(o)}, {"axis", axis_name(*a_.n.list().begin())}}));
    }
    while (!todo.empty()) {
      std::set<const Expr*> plain;
      std::vector<ExprPtr> later;
      // An invented gauge that nothing cancels is worth nothing: again without it.
      for (;;) {
        Diagnostics remarks;
        later = pass(todo, plain, remarks);
        if (!retry_) {
          d_.remarks.insert(d_.remarks.end(), remarks.begin(), remarks.end());
          break;
        }
      }
      if (d_.passes.back().answers.empty()) {
        return fail(diagnose(Code::B001, todo[0]->span, {{"what", "derivation: a pass finishes nothing: " + why_}}));
      }
      for (const Answer& x : d_.passes.back().answers) a_.finish(x.reduction);
      todo = later;
    }
    close();
    return {};
  }

 private:
  std::string axis_name(AxisId id) { return Writer(facts_).axis(id); }
  std::string name_of(const ExprPtr& e) { return Writer(facts_).brief(e); }

  std::vector<ExprPtr> pass(const std::vector<ExprPtr>& todo, std::set<const Expr*>& plain, Diagnostics& remarks) {
    Pass out;
    Separator separator(a_, intervals_);
    Representer representer(a_, intervals_, separator, out, plain);
    representer.rules = d_.rules;
    Reducer reducer(a_, intervals_, separator, representer);
    std::vector<ExprPtr> later, open = todo;
    auto reads = [&](const ExprPtr& r, const std::vector<ExprPtr>& list) {
      return contains(r->args[0],
                      [&](const ExprPtr& x) { return std::find(list.begin(), list.end(), x) != list.end(); });
    };
    while (!open.empty()) {
      // Extrema first, so that sums find their gauges.
      auto ready = [&](const ExprPtr& r) { return !reads(r, open); };
      auto extremum = [&](const ExprPtr& r) { return (r->op == Op::kMax || r->op == Op::kMin) && ready(r); };
      auto at = std::find_if(open.begin(), open.end(), extremum);
      if (at == open.end()) at = std::find_if(open.begin(), open.end(), ready);
      ExprPtr r = *at;
      open.erase(at);
      if (reads(r, later)) {
        later.push_back(r);
        continue;
      }
      Representer::Snapshot before = representer.snapshot();
      Tried<ExprPtr> finish = reducer.derive(r);
      if (finish) {
        representer.answer(r, *finish);
        continue;
      }
      representer.restore(before);
      std::string results;
      visit(r->args[0], [&](const ExprPtr& x) {
        if (!a_.is_answer(x) || a_.finished.count(x.get()) != 0) return;
        results += (results.empty() ? "" : ", ") + name_of(x);
      });
      why_ = finish.error().why;
      const ExprPtr& term = finish.error().term;
      remarks.push_back(diagnose(Code::R20, term->span.source ? term->span : r->span,
                                 {{"what", name_of(r)},
                                  {"results", results.empty() ? "earlier results" : results},
                                  {"axis", axis_name(*a_.n.list().begin())},
                                  {"why", why_ + ": " + name_of(term)}}));
      later.push_back(r);
    }
    finish(out, representer, later.empty());
    retry_ = false;
    for (auto [gauge, form] : representer.attempts) {
      if (survives_.count(gauge) != 0 && plain.insert(form).second) retry_ = true;
    }
    if (!retry_) d_.passes.push_back(std::move(out));
    return later;
  }

  // Values of answers and outputs; gauges move in steps unless something needs them exact.
  void finish(Pass& out, Representer& representer, bool last) {
    std::set<int> exact;
    for (const Accumulator& acc : out.accumulators) {
      if (acc.gauge < 0) continue;
      bool real = acc.type == ScalarType::f32 || acc.type == ScalarType::f64;
      // A multiple of a step may be too far below; and it must be whole, and that of an exponent not rounded.
      double k = std::abs(acc.k);
      bool far = k != 2 && k != 1 && k != 0.5 && k != 0.25 && k != 0.125;
      if (!d_.rules.stepped_gauge || !acc.differences.empty() || !real || far) exact.insert(acc.gauge);
    }
    std::vector<ExprPtr> results;
    for (const ExprPtr& o : outputs_) results.push_back(representer.resolve(o));
    // A centre that follows an extremum takes it whole: steps beside it would cost its last bits.
    for (const Centre& c : out.centres) {
      visit(c.rho, [&](const ExprPtr& e) {
        auto raw = symbol_index(e, Symbols::kRaw);
        for (size_t g = 0; raw && g < out.gauges.size(); ++g) {
          if (!out.gauges[g].constant && out.gauges[g].extremum == *raw) exact.insert(static_cast<int>(g));
        }
      });
    }
    for (;;) {
      Finisher f(a_, intervals_, representer, out, d_.rules, exact);
      d_.outputs.clear();
      f.uncancelled.clear();
      if (last) {
        for (const ExprPtr& r : results) d_.outputs.push_back(f.plain(r));
      } else {
        for (Answer& x : out.answers) x.value = f.plain(x.finish);
      }
      survives_ = f.surviving;
      for (Centre& c : out.centres) c.stored = f.plain(c.running ? c.running : c.rho);
      for (Accumulator& acc : out.accumulators) {
        if (acc.selected) acc.selected_stored = f.plain(acc.selected);
      }
      size_t before = exact.size();
      exact.insert(f.uncancelled.begin(), f.uncancelled.end());
      if (exact.size() == before) break;
    }
    for (size_t g = 0; g < out.gauges.size(); ++g) {
      out.gauges[g].stepped = !out.gauges[g].constant && exact.count(static_cast<int>(g)) == 0;
    }
  }

  // What earlier passes hand on, and which accumulators are read at all.
  void close() {
    std::vector<ExprPtr> roots = d_.outputs;
    if (d_.passes.empty()) d_.outputs = outputs_;
    std::unordered_set<const Expr*> wanted;
    auto want = [&](const ExprPtr& e) {
      if (!e) return;
      visit(e, [&](const ExprPtr& x) {
        if (a_.is_answer(x)) wanted.insert(x.get());
      });
    };
    for (size_t i = d_.passes.size(); i-- > 0;) {
      Pass& p = d_.passes[i];
      mark_live(p, roots);
      set_levels(p);
      for (const ExprPtr& r : roots) want(r);
      for (const Accumulator& acc : p.accumulators) {
        if (!acc.live) continue;
        for (const auto* list : {&acc.weights, &acc.divisors}) {
          for (const ExprPtr& e : *list) want(e);
        }
        want(acc.guard), want(acc.exponent), want(acc.key), want(acc.selected_stored);
        for (const Difference& d : acc.differences) {
          for (const ExprPtr& e : p.centres[d.centre].y) want(e);
          want(p.centres[d.centre].stored);
        }
      }
      roots.clear();
      if (i == 0) break;
      Pass& before = d_.passes[i - 1];
      std::erase_if(before.answers, [&](const Answer& x) { return wanted.count(x.reduction.get()) == 0; });
      for (const Answer& x : before.answers) roots.push_back(x.value);
    }
  }

  Algebra& a_;
  Intervals intervals_;
  const Facts& facts_;
  Derivation& d_;
  std::vector<ExprPtr> outputs_;
  std::set<int> survives_;
  bool retry_ = false;
  std::string why_;
};

}  // namespace

Result<Derivation> derive(const std::vector<ExprPtr>& outputs, AxisSet streamed, const Facts& facts,
                          const Rules& rules) {
  Derivation d;
  d.algebra = std::make_shared<Algebra>(streamed);
  d.streamed = streamed;
  tile::Ranges ranges(*facts.program, *facts.axes);
  d.regroups = may_regroup(ranges, streamed);
  d.rules = rules;
  std::vector<ExprPtr> taken;
  for (const ExprPtr& o : outputs) taken.push_back(d.algebra->take(o));
  Planner planner(taken, d, facts);
  Result<void> done = planner.run();
  if (!done) return std::unexpected(done.error());
  return d;
}

}  // namespace quern::fuse
