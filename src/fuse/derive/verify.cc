// What holds of every derivation, whatever it was derived from. Tests run it on each; a failure is a bug of ours.
#include <fmt/format.h>

#include <algorithm>

#include "fuse/derive.h"
#include "fuse/derive/represent.h"

namespace quern::fuse {

using namespace algebra;

namespace {

class Verifier {
 public:
  explicit Verifier(const Derivation& d) : d_(d), a_(*d.algebra) {}

  std::string run() {
    for (const Pass& p : d_.passes) {
      for (size_t i = 0; i < p.accumulators.size() && why_.empty(); ++i) {
        if (p.accumulators[i].live) accumulator(p, static_cast<int>(i));
      }
      for (const Answer& x : p.answers) earlier_.insert(x.reduction.get());
    }
    for (const ExprPtr& o : d_.outputs) {
      result(o);
      visit(o, [&](const ExprPtr& e) {
        if (e->op != Op::kExp && e->op != Op::kExp2 && e->op != Op::kExpAt) return;
        if (contains(e, [](const ExprPtr& x) { return symbol_index(x, Symbols::kGauge).has_value(); })) {
          why_ = "a stepped gauge is multiplied back";
        }
      });
    }
    return why_;
  }

 private:
  // Nothing of an element mentions a result of its own pass.
  void element(const ExprPtr& e) {
    if (!e) return;
    visit(e, [&](const ExprPtr& x) {
      if (x->op == Op::kName) why_ = "an element reads a symbol";
      if (a_.is_answer(x) && earlier_.count(x.get()) == 0) why_ = "an element reads a result of its own pass";
    });
  }
  void result(const ExprPtr& e) {
    if (!e) return;
    visit(e, [&](const ExprPtr& x) {
      if (symbol_index(x, Symbols::kRaw)) why_ = "a result reads a raw sum";
    });
  }
  // Everything that the accumulator's gauge, centres and selection read is of a lower level.
  void reads(const Pass& p, const Accumulator& acc, const ExprPtr& e) {
    if (!e) return;
    result(e);
    visit(e, [&](const ExprPtr& x) {
      auto s = symbol_index(x, Symbols::kStored);
      if (!s) return;
      const Accumulator& other = p.accumulators[*s];
      if (!other.live) why_ = "a dropped accumulator is read";
      if (other.level >= acc.level) why_ = "levels have a cycle";
    });
  }
  void accumulator(const Pass& p, int index) {
    const Accumulator& acc = p.accumulators[index];
    for (const auto* list : {&acc.weights, &acc.divisors}) {
      for (const ExprPtr& e : *list) element(e);
    }
    element(acc.guard), element(acc.exponent), element(acc.key);
    reads(p, acc, acc.selected_stored);
    for (const Difference& x : acc.differences) {
      for (const ExprPtr& e : p.centres[x.centre].y) element(e);
      reads(p, acc, p.centres[x.centre].stored);
    }
    if (acc.gauge >= 0 && !p.gauges[acc.gauge].constant) {
      const Gauge& g = p.gauges[acc.gauge];
      const Accumulator& m = p.accumulators[g.extremum];
      if (!m.live) why_ = "a gauge follows a dropped accumulator";
      if (m.level >= acc.level) why_ = "a gauge is of no lower level";
      if ((m.op != Op::kMax || acc.k <= 0) && (m.op != Op::kMin || acc.k >= 0)) why_ = "an exponent exceeds its gauge";
      // The exponent is what the extremum is taken of, so h <= g by construction.
      if (acc.exponent != m.weights[0]) why_ = "an exponent is not what its gauge is the extremum of";
      if (g.stepped && !acc.differences.empty()) why_ = "a stepped gauge with a centre";
    }
    element(acc.amplitude_of);
    if (acc.amplitude >= 0 && p.accumulators[acc.amplitude].level >= acc.level)
      why_ = "an amplitude is of no lower level";
    // All lower powers are there, since transport reads them.
    int64_t wanted = 1, found = 0;
    for (const Difference& x : acc.differences) wanted *= x.power + 1;
    for (const Accumulator& x : p.accumulators) found += x.live && is_lower(x, acc);
    if (!acc.differences.empty() && found != wanted) why_ = "a moment lacks lower ones";
  }

  const Derivation& d_;
  Algebra& a_;
  std::set<const Expr*> earlier_;
  std::string why_;
};

}  // namespace

Result<void> verify(const Derivation& derivation) {
  std::string why = Verifier(derivation).run();
  if (why.empty()) return {};
  return fail(diagnose(Code::B001, {}, {{"what", "derivation: " + why}}));
}

}  // namespace quern::fuse
