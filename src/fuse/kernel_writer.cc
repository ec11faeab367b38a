#include "fuse/kernel_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "fuse/contract.h"
#include "fuse/rename_axes.h"

namespace quern::fuse {

using tile::AxisSet;
using tile::Expr;
using tile::ExprPtr;
using tile::Family;
using tile::Op;

KernelWriter::KernelWriter(Symbol name, const Graph& graph) : graph_(graph), ranges_(graph.program, graph.axes) {
  kernel_.name = name;
  levels_.emplace_back();
}

void KernelWriter::count(const ExprPtr& e) {
  if (!e || ++uses_[e.get()] > 1) return;
  kept_.push_back(e);
  for (const ExprPtr& a : e->args) count(a);
  count(e->guard);
}

void KernelWriter::count(const tile::Block& block) {
  for (const tile::Statement& s : block) {
    if (auto* let = std::get_if<tile::Let>(&s.is)) count(let->value);
    if (auto* l = std::get_if<tile::Loop>(&s.is)) {
      for (const tile::Carry& c : l->carries) {
        count(c.init);
        count(c.next);
      }
      count(l->body);
    }
    if (auto* store = std::get_if<tile::Store>(&s.is)) {
      count(store->value);
      count(store->when);
      for (const ExprPtr& e : store->subscripts) count(e);
    }
  }
}

// Is there anything to save by a name? Reading again, and integers of subscripts and masks, cost next to nothing.
bool KernelWriter::worth_a_name(const Expr& e) const {
  if (quern::kind(e.type) != Kind::kReal || e.axes.empty()) return false;
  switch (tile::row(e).family) {
    case Family::literal:
    case Family::name:
    case Family::load:
    case Family::fill:
    case Family::negate: return false;
    case Family::cast: return tile::row(*e.args[0]).family != Family::load;
    default: return true;
  }
}

ExprPtr KernelWriter::emit(const ExprPtr& e) {
  if (auto at = done_.find(e.get()); at != done_.end()) return at->second.e;
  ExprPtr out = compute(e);
  Family family = tile::row(*out).family;
  bool reduction = family == Family::reduce || family == Family::dot;
  if (reduction || (uses_[e.get()] > 1 && family != Family::name && worth_a_name(*out))) out = named(out);
  done_[e.get()] = {out, level_of(out)};
  kept_.push_back(e);
  return out;
}

ExprPtr KernelWriter::compute(const ExprPtr& e) {
  if (e->op == Op::kSum) {
    if (ExprPtr product = contract(e, may_regroup(ranges_, e->over))) return dots(product);
  }
  if (e->args.empty()) return e;
  std::vector<ExprPtr> args;
  for (const ExprPtr& a : e->args) args.push_back(emit(a));
  return tile::with_args(*e, std::move(args), e->guard ? emit(e->guard) : nullptr);
}

// A contraction with what was taken out of it around it: these operators are new, the other arguments the graph's.
ExprPtr KernelWriter::dots(const ExprPtr& e) {
  std::vector<ExprPtr> args;
  if (tile::row(*e).family == Family::dot) {
    for (const ExprPtr& a : e->args) args.push_back(emit(a));
    return named(tile::with_args(*e, std::move(args), nullptr));
  }
  args.push_back(dots(e->args[0]));
  for (size_t i = 1; i < e->args.size(); ++i) args.push_back(emit(e->args[i]));
  return tile::with_args(*e, std::move(args), nullptr);
}

ExprPtr KernelWriter::define(const ExprPtr& e) { return named(compute(e)); }

ExprPtr KernelWriter::named(const ExprPtr& value) {
  auto id = static_cast<int32_t>(kernel_.names.size());
  Family family = tile::row(*value).family;
  bool reduction = family == Family::reduce || family == Family::dot;
  std::string_view word = reduction ? tile::row(*value).text : family == Family::check ? "check" : "t";
  kernel_.names.push_back({Symbol(fmt::format("{}{}", word, id)), value->type, value->axes});
  int level = level_of(value);
  name_levels_.resize(kernel_.names.size(), 0);
  name_levels_[static_cast<size_t>(id)] = level;
  levels_[static_cast<size_t>(level)].block.push_back({tile::Let{id, value}});
  return tile::name(id, value->type, value->axes);
}

// The outermost level at which all that an expression mentions is there. A reduced axis is bound inside.
int KernelWriter::level_of(const ExprPtr& e) {
  if (levels_.size() == 1) return 0;
  if (e->op == Op::kName) return name_levels_[static_cast<size_t>(e->id)];
  int out = 0;
  if (tile::row(*e).family == Family::axis) {
    for (size_t l = 1; l < levels_.size(); ++l) {
      if (levels_[l].streamed.has(e->id)) out = static_cast<int>(l);
    }
    return out;
  }
  if (auto at = level_memo_.find(e.get()); at != level_memo_.end()) return at->second;
  for (const ExprPtr& a : e->args) out = std::max(out, level_of(a));
  if (e->guard) out = std::max(out, level_of(e->guard));
  kept_.push_back(e);
  return level_memo_[e.get()] = out;
}

void KernelWriter::emit(const tile::Block& block) {
  for (const tile::Statement& s : block) {
    if (auto* l = std::get_if<tile::Loop>(&s.is)) {
      loop(*l);
      continue;
    }
    if (auto* store = std::get_if<tile::Store>(&s.is)) {
      tile::Store out = *store;
      for (ExprPtr& e : out.subscripts) e = emit(e);
      if (out.when) out.when = emit(out.when);
      out.value = emit(out.value);
      add(std::move(out));
      continue;
    }
    const auto& let = std::get<tile::Let>(s.is);
    ExprPtr value = compute(let.value);
    name_levels_.resize(kernel_.names.size(), 0);
    name_levels_[static_cast<size_t>(let.name)] = static_cast<int>(levels_.size()) - 1;
    levels_.back().block.push_back({tile::Let{let.name, value}});
  }
}

void KernelWriter::loop(const tile::Loop& l) {
  tile::Loop out;
  out.walks = l.walks;
  name_levels_.resize(kernel_.names.size(), 0);
  for (const tile::Carry& c : l.carries) out.carries.push_back({c.name, emit(c.init), nullptr});
  level_memo_.clear();
  Level inner;
  for (const tile::Walk& w : l.walks) inner.streamed |= AxisSet::of(w.axis);
  levels_.push_back(std::move(inner));
  int depth = static_cast<int>(levels_.size()) - 1;
  for (const tile::Carry& c : l.carries) name_levels_[static_cast<size_t>(c.name)] = depth;
  emit(l.body);
  for (size_t i = 0; i < l.carries.size(); ++i) out.carries[i].next = emit(l.carries[i].next);
  out.body = std::move(levels_.back().block);
  levels_.pop_back();
  // What was defined inside is not there any more; what was carried is.
  std::erase_if(done_, [&](const auto& entry) { return entry.second.level >= depth; });
  level_memo_.clear();
  for (const tile::Carry& c : l.carries) name_levels_[static_cast<size_t>(c.name)] = depth - 1;
  levels_.back().block.push_back({std::move(out)});
}

void KernelWriter::add(tile::Store store) { levels_.back().block.push_back({std::move(store)}); }

tile::Kernel KernelWriter::finish(const std::vector<tile::AxisId>& first) {
  kernel_.body = std::move(levels_[0].block);
  return with_own_axes(std::move(kernel_), graph_.axes, first);
}

}  // namespace quern::fuse
