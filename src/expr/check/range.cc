// Where an index runs: written bounds, or the dimension of every place where it stands bare (docs/notation.md, ranges).
#include <algorithm>

#include "expr/check/elaborator.h"
#include "expr/dimension_form.h"
#include "expr/print.h"
#include "expr/substitute.h"

namespace quern::expr {
namespace {

NodePtr plus_one(const NodePtr& node) {
  if (node->op == Op::kInteger) return make_integer(node->integer + 1, node->span);
  return make_op(Op::kAdd, {node, make_integer(1)}, node->span, Kind::kInt);
}

// Only dimensions and numbers, so that its value is known when the kernel is bound.
bool is_dimension(const NodePtr& node) { return dimension_form(node).has_value(); }

bool is_zero(const NodePtr& node) { return !node || (node->op == Op::kInteger && node->integer == 0); }

std::string text(const Domain& d, Symbol name) {
  Binder b;
  b.name = name;
  b.lo = is_zero(d.lo) ? nullptr : d.lo;
  b.hi = d.hi;
  // `<= e` has become e + 1, with a number that nobody spelt.
  bool next = d.hi->op == Op::kAdd && is(d.hi->args[1], Op::kInteger) && d.hi->args[1]->name.empty();
  if (next && d.hi->args[1]->integer == 1) {
    b.hi = d.hi->args[0];
    b.hi_inclusive = true;
  }
  return print(b);
}

bool same_bound(const Domain& a, const Domain& b) {
  bool lows = is_zero(a.lo) ? is_zero(b.lo) : b.lo && equal(a.lo, b.lo);
  return lows && equal(a.hi, b.hi);
}

}  // namespace

Bound* Elaborator::new_bound(Symbol name, IndexId id, Span span) {
  bounds_.push_back({.name = name, .id = id == kNoIndex ? fresh(name) : id, .span = span});
  bounds_.back().position = open_.size();
  open_.push_back(bounds_.back().id);
  return &bounds_.back();
}

std::optional<Domain> Elaborator::written_domain(const Binder& b, const Context& context) {
  Domain out;
  auto end = [&](const NodePtr& written, bool next) -> NodePtr {
    // A dimension expression has exact division, as in a type.
    bool exact = !context.function && is_dimension(written) && !is(written, Op::kUpper);
    NodePtr e = exact ? dimension(written, false) : expression(written, context);
    if (!e || !require_integer(e, written, "bound")) return nullptr;
    return next ? plus_one(e) : e;
  };
  if (b.lo) {
    out.lo = end(b.lo, b.lo_strict);
    if (!out.lo) return std::nullopt;
    if (is_zero(out.lo)) out.lo = nullptr;
  }
  out.hi = end(b.hi, b.hi_inclusive);
  if (!out.hi) return std::nullopt;
  out.dimension = !out.lo && is_dimension(out.hi);
  return out;
}

// How many indices a name of a function's body stands for: as many as the parameter it subscripts bare.
size_t Elaborator::arity(Symbol name, const std::vector<NodePtr>& scope, const Context& context) const {
  if (!context.function) return 1;
  size_t found = 1;
  auto walk = [&](auto& self, const NodePtr& node) -> void {
    if (node->op == Op::kSubscript) {
      const Meaning* m = find(node->name, context);
      if (m && m->what == Meaning::What::kFunction) {
        for (size_t i = 0; i < node->args.size() && i < m->over.size(); ++i) {
          bool bare = node->args[i]->op == Op::kName && node->args[i]->name == name;
          if (bare) found = std::max(found, m->over[i].size());
        }
      }
    }
    for (const NodePtr& arg : node->args) self(self, arg);
  };
  for (const NodePtr& node : scope) walk(walk, node);
  return found;
}

// One binder of a list. `share_outer`: a call's binder keeps the index of the name's outer meaning, so that a value
// which depends on it needs no renaming.
bool Elaborator::add_binder(Scope& scope, const Binder& b, const std::vector<NodePtr>& body, bool share_outer) {
  const Context& context = scope.context;
  if (std::ranges::find(scope.names, b.name) != scope.names.end()) {
    report(diagnose(Code::E510, b.span, {{"n", b.name.str()}}));
    return false;
  }
  scope.names.push_back(b.name);
  const Meaning* outer = find(b.name, context);
  bool outer_index = outer && outer->what == Meaning::What::kIndex;
  std::string what = outer_index ? std::string() : what_is(b.name, context);
  if (what.empty() && defines(b.name, context)) what = "local";
  if (!what.empty()) {
    report(diagnose(Code::E203, b.span, {{"n", b.name.str()}, {"what", what}}));
    scope.context.environment = bind(context.environment, b.name, {});
    return false;
  }
  Meaning meaning;
  meaning.what = Meaning::What::kIndex;
  if (!b.hi && !b.lo && outer_index && outer->group.front()->parameter) {
    // `[i]` in a function's body: the range of its index parameter, whatever the call gave.
    for (const Bound* same : Group(outer->group)) {
      Bound* bound = new_bound(same->name, context.captures ? kNoIndex : same->id, b.span);
      bound->domain = same->domain;
      bound->failed = same->failed;
      bound->parameter = true;
      meaning.group.push_back(bound);
    }
  } else {
    std::optional<Domain> domain;
    if (b.hi || b.lo) {
      Symbol before = std::exchange(defining_, b.name);
      domain = written_domain(b, context);
      defining_ = before;
      if (!domain) scope.good = false;
    }
    size_t count = domain || b.hi ? 1 : arity(b.name, body, context);
    for (size_t i = 0; i < count; ++i) {
      bool share = share_outer && outer_index && outer->group.size() == 1 && !context.captures;
      Bound* bound = new_bound(b.name, share ? outer->group.front()->id : kNoIndex, b.span);
      bound->domain = domain;
      bound->failed = (b.hi || b.lo) && !domain;
      meaning.group.push_back(bound);
    }
  }
  scope.bounds.insert(scope.bounds.end(), meaning.group.begin(), meaning.group.end());
  scope.context.environment = bind(context.environment, b.name, std::move(meaning));
  return true;
}

Elaborator::Scope Elaborator::enter(const std::vector<Binder>& binders, const Context& context,
                                    const std::vector<NodePtr>& body) {
  Scope scope;
  scope.context = context;
  scope.opened = open_.size();
  std::vector<Symbol> before = later_;
  for (size_t i = 0; i < binders.size(); ++i) {
    later_.clear();
    for (size_t j = i + 1; j < binders.size(); ++j) later_.push_back(binders[j].name);
    if (!add_binder(scope, binders[i], body, false)) scope.good = false;
  }
  later_ = std::move(before);
  return scope;
}

void Elaborator::leave(const Scope& scope) { open_.resize(scope.opened); }

// A place where the index stands bare. A domain that uses an index bound after this one can't be its range.
void Elaborator::record(Bound& bound, Domain domain, std::string owner, Span span) {
  if (bound.domain || bound.failed) return;
  if (!domain.hi) {  // a dimension with an error
    bound.failed = true;
    return;
  }
  auto outside = [&](const NodePtr& node) -> std::optional<IndexId> {
    if (!node || node->free == 0) return std::nullopt;
    for (IndexId id : free_indices(node)) {
      auto last = std::find(open_.rbegin(), open_.rend(), id);
      size_t position = static_cast<size_t>(open_.rend() - last);  // one past it
      if (last != open_.rend() && position > bound.position) return id;
    }
    return std::nullopt;
  };
  for (const NodePtr& end : {domain.lo, domain.hi}) {
    if (auto id = outside(end)) {
      report(diagnose(Code::E308, bound.span, {{"n", bound.name.str()}, {"m", program_.indices[*id].str()}})
                 .note(span, "the bound comes from " + owner));
      bound.failed = true;
      return;
    }
  }
  bound.uses.push_back({std::move(domain), std::move(owner), span});
}

bool Elaborator::resolve(Bound& bound) {
  if (bound.domain) return true;
  if (bound.failed) return false;
  bound.failed = true;
  if (bound.uses.empty()) {
    report(diagnose(Code::E301, bound.span, {{"n", bound.name.str()}}));
    return false;
  }
  const Bound::Use* first = nullptr;
  for (const Bound::Use& use : bound.uses) {
    if (use.domain.dimension) continue;
    if (first && !same_bound(first->domain, use.domain)) {
      report(diagnose(Code::E303, bound.span,
                      {{"n", bound.name.str()},
                       {"a", text(first->domain, bound.name) + " from " + first->owner},
                       {"b", text(use.domain, bound.name) + " from " + use.owner}}));
      return false;
    }
    if (!first) first = &use;
  }
  if (!first) {
    first = &bound.uses.front();
    for (const Bound::Use& use : bound.uses) {
      if (same_dimension(first->domain.hi, use.domain.hi)) continue;
      std::string a = print(first->domain.hi), b = print(use.domain.hi);
      Diagnostic d = diagnose(Code::E302, bound.span,
                              {{"n", bound.name.str()}, {"A", a}, {"x", first->owner}, {"B", b}, {"y", use.owner}});
      // One that is always the smaller, as S of S and S + 1, may well be what is meant.
      auto difference = dimension_form(make_op(Op::kSub, {first->domain.hi, use.domain.hi}));
      auto all = [&](auto sign) {
        return difference && std::ranges::all_of(difference->terms, [&](const auto& t) { return sign(t.second.num); });
      };
      bool less = all([](int64_t n) { return n < 0; }), more = all([](int64_t n) { return n > 0; });
      if (less || more) {
        d.remedy = "name the dimensions alike, or write `" + bound.name.str() + " < " + (less ? a : b) +
                   "` if only that part is meant";
      }
      report(std::move(d).note(use.span, "this use of " + use.owner));
      return false;
    }
  }
  bound.domain = first->domain;
  bound.failed = false;
  return true;
}

bool Elaborator::resolve(const std::vector<Bound*>& bounds) {
  bool good = true;
  for (Bound* b : bounds) good &= resolve(*b);
  return good;
}

Binder Elaborator::binder_of(const Bound& bound) {
  Binder b;
  b.name = bound.name;
  b.id = bound.id;
  b.span = bound.span;
  b.lo = bound.domain->lo;
  b.hi = bound.domain->hi;
  return b;
}

}  // namespace quern::expr
