// What only placed and laid programs have.
#include <fmt/format.h>

#include "tile/verify/verifier.h"

namespace quern::tile {
namespace {

template <class T>
bool has(const std::vector<T>& list, int32_t id) {
  return id >= 0 && static_cast<size_t>(id) < list.size();
}

}  // namespace

void Verifier::find_keeps(const Block& body) {
  for (const Statement& s : body) {
    if (auto* keep = std::get_if<Keep>(&s.is)) {
      if (!has(kernel_->names, keep->name)) {
        wrong("a name is not declared");
        continue;
      }
      auto id = static_cast<size_t>(keep->name);
      if (kept_[id]) wrong(fmt::format("{} is kept twice", shown(keep->name)));
      kept_[id] = true;
    }
    if (auto* loop = std::get_if<Loop>(&s.is)) find_keeps(loop->body);
    if (auto* branch = std::get_if<If>(&s.is)) find_keeps(branch->body);
    if (auto* nest = std::get_if<Nest>(&s.is)) find_keeps(nest->body);
  }
}

void Verifier::statement(const Keep& s) {
  if (!placed()) wrong("there is a keep");
  if (nest_) wrong("a nest holds a keep");
  if (!has(kernel_->names, s.name) || s.layout.empty()) return;
  AxisSet axes = kernel_->names[static_cast<size_t>(s.name)].axes, rest;
  for (const Digit& d : s.layout) {
    if (!has(kernel_->axes, d.axis) || !axes.has(d.axis) || d.divide < 1 || d.modulo < 0) {
      return wrong(fmt::format("the layout of {} has a digit that its type does not have", shown(s.name)));
    }
    if (d.modulo != 0) continue;
    if (rest.has(d.axis))
      wrong(fmt::format("the layout of {} has {} without end twice", shown(s.name), axis_name(d.axis)));
    rest |= AxisSet::of(d.axis);
  }
  if (rest != axes) wrong(fmt::format("the layout of {} ends before its axes do", shown(s.name)));
}

void Verifier::nest_axes(const Nest& s) {
  AxisSet axes;
  int lanes = 0;
  bool strip = false;
  strips_ = held_ = {};
  for (const NestAxis& a : s.axes) {
    if (!has(kernel_->axes, a.axis)) return wrong("an axis is not declared");
    std::string named = axis_name(a.axis);
    if (axes.has(a.axis)) wrong(fmt::format("{} is twice in a nest", named));
    if (kernel_->scalar.has(a.axis)) wrong(fmt::format("the scalar axis {} is in a nest", named));
    if (a.size < 1) wrong(fmt::format("{} has {} indices at once in a nest", named, a.size));
    axes |= AxisSet::of(a.axis);
    lanes += a.lanes;
    if (a.role == AxisRole::kStrip) strips_ |= AxisSet::of(a.axis), strip = true;
    if (a.role == AxisRole::kHeld) held_ |= AxisSet::of(a.axis);
    if (a.role == AxisRole::kBlock && strip) wrong(fmt::format("the block axis {} stands behind a strip", named));
  }
  if (lanes > 1) wrong("two axes of a nest lie in lanes");
  if (lanes > 0 && program_.stage != Stage::kLaid) wrong("an axis lies in lanes");
}

void Verifier::in_nest(const Nest& s, const ExprPtr& e, AxisSet axes) {
  AxisSet own;
  for (const NestAxis& a : s.axes) {
    if (has(kernel_->axes, a.axis)) own |= AxisSet::of(a.axis);
  }
  AxisSet missing = type_axes(e->axes | axes) - own;
  if (!missing.empty()) wrong(fmt::format("{} is in a type and not in its nest", axis_name(missing.list()[0])));
}

// In a nest a reduction is over the strips, all of them; over held axes it is a matter of registers.
void Verifier::reduction_axes(const Expr& e) {
  AxisSet over = type_axes(e.over);
  if (!nest_ || over.empty()) return;
  if (over == strips_ || held_.contains(over)) return;
  wrong(fmt::format("a reduction over {} does not fit its nest", axis_name(over.list()[0])));
}

Verifier::Reduces Verifier::reduces(const ExprPtr& e, const std::vector<bool>& after, bool inside) {
  Reduces out;
  if (e->op == Op::kName) {
    out.depends = has(after, e->id) && after[static_cast<size_t>(e->id)];
    if (out.depends && inside) wrong(fmt::format("a reduction of a nest needs {}, another one's result", shown(e->id)));
    return out;
  }
  bool reduction = !(e->over & strips_).empty() && (row(*e).family == Family::reduce || row(*e).family == Family::dot);
  if (reduction && inside) wrong("a reduction of a nest stands in another one");
  out.holds = reduction;
  for (size_t i = 0; i < e->args.size(); ++i) {
    // What a dot adds to is not walked over.
    Reduces part = reduces(e->args[i], after, inside || (reduction && i < 2));
    out.holds |= part.holds;
    out.depends |= part.depends;
  }
  if (e->guard) {
    Reduces part = reduces(e->guard, after, inside);
    out.holds |= part.holds;
    out.depends |= part.depends;
  }
  return out;
}

void Verifier::statement(const Nest& s) {
  if (!placed()) return wrong("there is a nest");
  if (nest_) return wrong("a nest stands in another one");
  nest_axes(s);
  nest_ = &s;
  ++nest_number_;
  std::vector<bool> before = visible_;
  std::vector<bool> after(kernel_->names.size());  // names that need a reduction over the strips
  bool finished = false;                           // what needs reductions has begun
  for (const Statement& inner : s.body) {
    seen_.clear();
    auto* let = std::get_if<Let>(&inner.is);
    auto* store = std::get_if<Store>(&inner.is);
    size_t findings = found_.size();
    std::visit([&](const auto& is) { statement(is); }, inner.is);
    if ((!let && !store) || found_.size() != findings) continue;
    AxisSet axes = let ? let->value->axes : store->value->axes;
    std::vector<ExprPtr> parts = {let ? let->value : store->value};
    if (store) {
      parts.insert(parts.end(), store->subscripts.begin(), store->subscripts.end());
      if (store->when) parts.push_back(store->when);
      for (const ExprPtr& e : parts) axes |= e->axes;
    }
    Reduces all;
    for (const ExprPtr& e : parts) {
      in_nest(s, e, {});
      Reduces part = reduces(e, after, false);
      all.holds |= part.holds;
      all.depends |= part.depends;
    }
    bool in_strip = !(axes & strips_).empty();
    std::string named = let ? shown(let->name) : "a store";
    if (in_strip && (all.depends || all.holds)) {
      wrong(fmt::format("{} has a strip axis and needs a reduction over it", named));
    }
    if ((in_strip || all.holds) && finished)
      wrong(fmt::format("{} stands behind what needs its nest's reductions", named));
    if (all.depends && !all.holds) finished = true;
    if (let && (all.holds || all.depends)) after[static_cast<size_t>(let->name)] = true;
  }
  // Names of the nest stay in scope; what uses them elsewhere needs a keep (crossing()).
  for (const Statement& inner : s.body) {
    auto* let = std::get_if<Let>(&inner.is);
    if (let && has(kernel_->names, let->name)) before[static_cast<size_t>(let->name)] = true;
  }
  visible_ = before;
  nest_ = nullptr;
  strips_ = held_ = {};
}

// What is used in another nest than the one that defines it, or carried, lies in memory. One integer lies anywhere.
void Verifier::crossing() {
  if (!placed()) return;
  for (size_t n = 0; n < kernel_->names.size(); ++n) {
    const Name& name = kernel_->names[n];
    bool one_integer = name.axes.empty() && (name.type == ScalarType::i64 || name.type == ScalarType::boolean);
    bool carried = nest_of_[n] == -2;
    if (defined_[n] && !one_integer && (crosses_[n] || carried) && !kept_[n]) {
      wrong(fmt::format("{} is {} and not kept", name.name.str(), carried ? "carried" : "used in another nest"));
    }
  }
}

}  // namespace quern::tile
