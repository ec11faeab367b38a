// Walks a program with what holds at each place and proves each subscript (expr/prove/ has the arithmetic).
#include "expr/prove.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "expr/print.h"
#include "expr/prove/walk.h"

namespace quern::expr {
namespace {

class Prover : ScopeWalk {
 public:
  using ScopeWalk::ScopeWalk;

  Proofs run() {
    walk_program();
    for (auto& [place, proof] : places_) out_.subscripts.push_back(std::move(proof));
    auto position = [](const SubscriptProof& p) { return std::tuple(p.span.source, p.span.begin, p.axis); };
    std::ranges::stable_sort(out_.subscripts, [&](const auto& a, const auto& b) { return position(a) < position(b); });
    for (const SubscriptProof& p : out_.subscripts) {
      if (p.proof != Proof::kChecked || p.data) continue;
      out_.remarks.push_back(diagnose(Code::R1, p.span, {{"e", p.text}, {"d", ends_[key(p)]}}));
    }
    return std::move(out_);
  }

 private:
  using Key = std::tuple<const Source*, uint32_t, uint32_t, std::string, int, bool>;

  static Key key(const SubscriptProof& p) {
    return {p.span.source, p.span.begin, p.span.end, p.span.source ? p.tensor.str() : p.tensor.str() + p.text,
            p.axis,        p.write};
  }

  void subscript(const SubscriptPlace& at_place) override {
    const NodePtr& e = at_place.subscript;
    const Linear &lo = at_place.lo, &hi = at_place.hi;
    SubscriptProof p;
    p.span = e->span;
    p.tensor = at_place.tensor;
    p.axis = at_place.axis;
    p.write = at_place.write;
    p.local = at_place.local;
    p.text = print(e);
    auto [at, added] = places_.emplace(key(p), p);
    SubscriptProof& place = at->second;
    if (place.proof == Proof::kRefused) return;
    Linear form = scope_.linear(e);
    Linear below = add(form, lo, -1);                              // e - lo >= 0
    Linear above = add(add(hi, Linear::number(1), -1), form, -1);  // hi - 1 - e >= 0
    // The subscript itself may wrap: what is shown to be within [lo, hi) does not.
    bool exact = scope_.fits(lo) && scope_.fits(hi);
    for (const Linear* goal : {&below, &above}) {
      if (exact && scope_.prove(*goal)) continue;
      bool data = scope_.is_data(*goal) || scope_.is_data(form);
      place.data |= data;
      place.proof = std::max(place.proof, Proof::kChecked);
      ends_[key(p)] = scope_.interval(hi).hi ? std::to_string(*scope_.interval(hi).hi) : "its size";
      if (!data) refuse(place, e, *goal, form, hi);
      if (place.proof == Proof::kRefused) return;
    }
  }

  // E306 where a place outside is certain to be reached.
  void refuse(SubscriptProof& place, const NodePtr& e, const Linear& goal, const Linear& form, const Linear& hi) {
    auto at = scope_.witness(goal);
    if (!at) return;
    auto value = scope_.value_at(form, *at), size = scope_.value_at(hi, *at);
    if (!value || !size) return;
    std::string where;
    for (const auto& [atom, v] : *at) {
      if (!goal.terms.contains(atom) && !form.terms.contains(atom)) continue;
      if (!where.empty()) where += ", ";
      where += fmt::format("{} = {}", scope_.info(atom).name.str(), v);
    }
    if (where.empty()) where = "it";
    place.proof = Proof::kRefused;
    out_.errors.push_back(diagnose(Code::E306, e->span,
                                   {{"x", place.tensor.str()},
                                    {"e", place.text},
                                    {"witness", where},
                                    {"v", std::to_string(*value)},
                                    {"d", std::to_string(*size)}}));
  }

  std::map<Key, SubscriptProof> places_;
  std::map<Key, std::string> ends_;
  Proofs out_;
};

}  // namespace

Proofs prove(const Program& program, const Binding& binding) { return Prover(program, binding).run(); }

}  // namespace quern::expr
