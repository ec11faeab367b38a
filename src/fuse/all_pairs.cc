#include "fuse/all_pairs.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_set>

#include "expr/dimension_form.h"
#include "expr/substitute.h"

namespace quern::fuse {
namespace {

using expr::NodePtr;
using expr::Op;

class Pairs {
 public:
  explicit Pairs(const expr::Binding& binding) : binding_(binding) {}

  // Entries of the longest range whose pairs are compared somewhere below.
  int64_t longest(const NodePtr& node) {
    most_ = 0;
    walk(node);
    return most_;
  }

 private:
  void walk(const NodePtr& node) {
    if (!node || !seen_.insert(node.get()).second) return;
    if (node->op == Op::kSum && node->binders.size() == 1) count(*node);
    for (const expr::Binder& b : node->binders) {
      walk(b.lo);
      walk(b.hi);
    }
    for (const NodePtr& arg : node->args) walk(arg);
  }

  // sum[j] (1 if … else 0)
  void count(const expr::Node& sum) {
    const NodePtr& body = sum.args[0];
    const expr::Binder& j = sum.binders[0];
    if (body->op != Op::kSelect || j.lo || !expr::dimension_form(j.hi)) return;
    auto entries = expr::evaluate(j.hi, binding_.sizes);
    if (entries && *entries > most_ && compares(body->args[1], j.id)) most_ = *entries;
  }

  // Is an element at index j compared with the same one at another index?
  bool compares(const NodePtr& c, expr::IndexId j) {
    if (row(*c).family != expr::Family::compare) {
      return std::ranges::any_of(c->args, [&](const NodePtr& arg) { return compares(arg, j); });
    }
    return same_elsewhere(c->args[0], c->args[1], j) || same_elsewhere(c->args[1], c->args[0], j);
  }

  static bool same_elsewhere(const NodePtr& here, const NodePtr& there, expr::IndexId j) {
    if (!reads(here) || !depends_on(here, j) || depends_on(there, j)) return false;
    return std::ranges::any_of(free_indices(there), [&](expr::IndexId i) {
      auto fresh = [](Symbol) { return expr::kNoIndex; };
      return equal(expr::Substitution({{j, expr::make_index(i, {})}}, fresh).apply(here), there);
    });
  }

  static bool reads(const NodePtr& node) {
    return row(*node).family == expr::Family::read || std::ranges::any_of(node->args, reads);
  }

  const expr::Binding& binding_;
  int64_t most_ = 0;
  std::unordered_set<const expr::Node*> seen_;
};

}  // namespace

Diagnostics all_pairs(const expr::Program& program, const expr::Binding& binding) {
  Pairs pairs(binding);
  Diagnostics out;
  auto look = [&](const NodePtr& value, const Span& span) {
    int64_t entries = pairs.longest(value);
    if (entries > kMostPairs) out.push_back(diagnose(Code::N903, span, {{"N", std::to_string(entries)}}));
  };
  for (const expr::Local& l : program.locals) look(l.value, l.span);
  for (const expr::Update& u : program.updates) look(u.value, u.span);
  return out;
}

}  // namespace quern::fuse
