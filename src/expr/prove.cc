// Walks a program with what holds at each place and proves each subscript (expr/prove/ has the arithmetic).
#include "expr/prove.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "expr/print.h"
#include "expr/prove/scope.h"

namespace quern::expr {
namespace {

class Prover {
 public:
  Prover(const Program& program, const Binding& binding) : program_(program), scope_(program, binding) {}

  Proofs run() {
    for (const Local& l : program_.locals) {
      auto outside = scope_.mark();
      enter(l.binders);
      walk(l.value);
      scope_.restore(outside);
    }
    for (const Update& u : program_.updates) {
      auto outside = scope_.mark();
      enter(u.binders);
      if (u.filter) {
        walk(u.filter);
        scope_.assume(u.filter, true);
      }
      const Tensor& t = program_.tensors[u.tensor];
      for (size_t i = 0; i < u.subscripts.size(); ++i) {
        walk(u.subscripts[i]);
        subscript(u.subscripts[i], t.name, static_cast<int>(i), Linear::number(0), scope_.linear(t.shape[i]), true, false);
      }
      walk(u.value);
      scope_.restore(outside);
    }
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
    return {p.span.source, p.span.begin, p.span.end, p.span.source ? p.tensor.str() : p.tensor.str() + p.text, p.axis, p.write};
  }

  void enter(const std::vector<Binder>& binders) {
    for (const Binder& b : binders) {
      if (b.lo) walk(b.lo);
      walk(b.hi);
      scope_.enter(b);
    }
  }

  void walk(const NodePtr& node) {
    switch (row(*node).family) {
      case Family::literal:
      case Family::resolved: return;
      case Family::select: {
        walk(node->args[1]);
        auto outside = scope_.mark();
        scope_.assume(node->args[1], true);
        walk(node->args[0]);
        scope_.restore(outside);
        scope_.assume(node->args[1], false);
        walk(node->args[2]);
        scope_.restore(outside);
        return;
      }
      case Family::logic: {
        walk(node->args[0]);
        auto outside = scope_.mark();
        scope_.assume(node->args[0], node->op == Op::kAnd);
        walk(node->args[1]);
        scope_.restore(outside);
        return;
      }
      case Family::reduction: {
        auto outside = scope_.mark();
        enter(node->binders);
        walk(node->args[0]);
        scope_.restore(outside);
        return;
      }
      case Family::read: return read(node);
      default:
        for (const NodePtr& arg : node->args) walk(arg);
    }
  }

  void read(const NodePtr& node) {
    for (const NodePtr& arg : node->args) walk(arg);
    if (node->op == Op::kRead) {
      const Tensor& t = program_.tensors[node->id];
      for (size_t i = 0; i < node->args.size(); ++i) {
        subscript(node->args[i], t.name, static_cast<int>(i), Linear::number(0), scope_.linear(t.shape[i]), false, false);
      }
      return;
    }
    // A local's range, with the subscripts at hand for its indices.
    const Local& l = program_.locals[node->id];
    std::vector<std::pair<IndexId, Linear>> here;
    for (size_t i = 0; i < node->args.size(); ++i) {
      const Binder& b = l.binders[i];
      Linear lo = b.lo ? scope_.linear_with(b.lo, here) : Linear::number(0);
      Linear hi = scope_.linear_with(b.hi, here);
      subscript(node->args[i], l.name, static_cast<int>(i), lo, hi, false, true);
      here.emplace_back(b.id, scope_.linear(node->args[i]));
    }
  }

  void subscript(const NodePtr& e, Symbol tensor, int axis, const Linear& lo, const Linear& hi, bool write, bool local) {
    SubscriptProof p;
    p.span = e->span;
    p.tensor = tensor;
    p.axis = axis;
    p.write = write;
    p.local = local;
    p.text = print(e);
    auto [at, added] = places_.emplace(key(p), p);
    SubscriptProof& place = at->second;
    if (place.proof == Proof::kRefused) return;
    Linear form = scope_.linear(e);
    Linear below = add(form, lo, -1);                                  // e - lo >= 0
    Linear above = add(add(hi, Linear::number(1), -1), form, -1);      // hi - 1 - e >= 0
    for (const Linear* goal : {&below, &above}) {
      if (scope_.prove(*goal)) continue;
      bool data = scope_.is_data(*goal);
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
    std::string where;
    Linear value = form;
    for (const auto& [atom, v] : *at) {
      if (!where.empty()) where += ", ";
      where += fmt::format("{} = {}", scope_.info(atom).name.str(), v);
      auto term = value.terms.find(atom);
      if (term == value.terms.end()) continue;
      value = add(value, add(Linear::number(v), Linear::atom(atom), -1), term->second);
    }
    if (where.empty()) where = "it";
    place.proof = Proof::kRefused;
    auto size = scope_.interval(hi);
    out_.errors.push_back(diagnose(Code::E306, e->span,
                                   {{"x", place.tensor.str()},
                                    {"e", place.text},
                                    {"witness", where},
                                    {"v", std::to_string(value.constant)},
                                    {"d", size.hi ? std::to_string(*size.hi) : "fewer"}}));
  }

  const Program& program_;
  ProofScope scope_;
  std::map<Key, SubscriptProof> places_;
  std::map<Key, std::string> ends_;
  Proofs out_;
};

}  // namespace

Proofs prove(const Program& program, const Binding& binding) {
  return Prover(program, binding).run();
}

}  // namespace quern::expr
