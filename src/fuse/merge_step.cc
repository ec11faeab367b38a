#include "fuse/merge_step.h"

#include <fmt/format.h>

#include <optional>
#include <unordered_map>

#include "tile/rebuild.h"
#include "tile/reductions.h"

namespace quern::fuse {

using namespace tile;

namespace {

// What an expression of the step is when there is no tile: a value (null: it is made of elements, of which there are
// none), or what a reduction over nothing gives.
struct Image {
  ExprPtr value;
  std::optional<Op> nothing;  // of this reduction
};

class Merge {
 public:
  Merge(Kernel& kernel, const Loop& loop, AxisId parts) : kernel_(kernel), loop_(loop), parts_(parts) {
    for (const Walk& w : loop.walks) streamed_ |= AxisSet::of(w.axis);
  }

  std::expected<Block, std::string> run(const std::vector<ExprPtr>& states) {
    for (size_t i = 0; i < states.size(); ++i) {
      const Name& n = kernel_.names[loop_.carries[i].name];
      names_[loop_.carries[i].name] = {define(new_name(kernel_, n.name, n.type, {}), states[i]), std::nullopt};
    }
    for (const Statement& s : loop_.body) {
      const auto* let = std::get_if<Let>(&s.is);
      if (!let) return std::unexpected("its steps are not plain values");
      Image image = of(let->value);
      if (image.value) image.value = define(let->name, image.value);
      names_[let->name] = image;
    }
    for (const Carry& c : loop_.carries) {
      Image next = of(c.next);
      const std::string& name = kernel_.names[c.name].name.str();
      auto by = gathered_by_.find(next.value.get());
      bool neutral = by != gathered_by_.end() && equal(start(c.init), identity(by->second, start(c.init)->type));
      if (!next.value || next.value->axes.has(parts_) || !neutral) {
        return std::unexpected(fmt::format("{} is not what was carried joined with what the tile adds", name));
      }
      out_.push_back({Let{c.name, next.value}});
    }
    return std::move(out_);
  }

 private:
  static const ExprPtr& start(const ExprPtr& init) { return init->op == Op::kFill ? init->args[0] : init; }

  ExprPtr define(int32_t name, const ExprPtr& value) {
    if (value->op == Op::kName && row(*value).arity == 0 && value->id == name) return value;
    kernel_.names[name].axes = value->axes;
    out_.push_back({Let{name, value}});
    ExprPtr used = use(kernel_, name);
    if (auto by = gathered_by_.find(value.get()); by != gathered_by_.end()) gathered_by_[used.get()] = by->second;
    kept_.push_back(used);
    return used;
  }

  Image of(const ExprPtr& e) {
    if (!e) return {};
    if (auto at = done_.find(e.get()); at != done_.end()) return at->second;
    kept_.push_back(e);
    return done_[e.get()] = computed(e);
  }

  Image computed(const ExprPtr& e) {
    if (e->op == Op::kName) {
      auto at = names_.find(e->id);
      if (at != names_.end()) return at->second;
      return (e->axes & streamed_).empty() ? Image{e, std::nullopt} : Image{};
    }
    if (!(e->axes & streamed_).empty()) return {};  // an element
    Family family = row(*e).family;
    if (is_reduction(*e) && !(e->over & streamed_).empty()) {
      if (e->args.size() == 3) return joined(Op::kSum, of(e->args[2]));
      return {nullptr, gathering(*e)};
    }
    // The number of indices in range, n.hi - n.lo.
    if (family == Family::axis) return streamed_.has(e->id) ? Image{} : Image{e, std::nullopt};
    if (e->op == Op::kSub && family_of(e->args[0]) == Family::axis && family_of(e->args[1]) == Family::axis &&
        streamed_.has(e->args[0]->id) && e->args[0]->id == e->args[1]->id) {
      return {nullptr, Op::kSum};
    }
    std::vector<Image> args;
    for (const ExprPtr& a : e->args) args.push_back(of(a));
    size_t nothings = 0;
    for (const Image& a : args) {
      if (!a.value && !a.nothing) return {};
      nothings += a.nothing.has_value();
    }
    if (nothings > 0) return with_nothing(*e, args);
    std::vector<ExprPtr> values;
    for (const Image& a : args) values.push_back(a.value);
    Image guard = e->guard ? of(e->guard) : Image{};
    if (e->guard && !guard.value) return {};
    return {with_args(*e, std::move(values), guard.value), std::nullopt};
  }

  static Family family_of(const ExprPtr& e) { return row(*e).family; }

  // An operation on what a reduction over nothing gives.
  Image with_nothing(const Expr& e, const std::vector<Image>& args) {
    Op kind = Op::kSum;
    for (const Image& a : args) {
      if (a.nothing) kind = *a.nothing;
    }
    for (const Image& a : args) {
      if (a.nothing && *a.nothing != kind) return {};
    }
    if (e.op == combining(kind)) {
      if (args[0].nothing && args[1].nothing) return args[0];
      return joined(kind, args[0].nothing ? args[1] : args[0]);
    }
    Family family = row(e).family;
    // A choice between nothing and nothing, and whatever keeps it what it is.
    bool fill = family == Family::fill || family == Family::cast;
    bool chosen = family == Family::select && args[0].nothing && args[2].nothing;
    if (family == Family::select && args[0].nothing && args[2].value) {
      chosen = equal(start(args[2].value), identity(kind, args[2].value->type));
    }
    if (fill || chosen) return {nullptr, kind};
    if (kind != Op::kSum) return {};
    // 0 times whatever, 0 with another sign.
    bool scaled = e.op == Op::kMul || (e.op == Op::kDiv && args[0].nothing) || family == Family::negate;
    if (scaled) return {nullptr, kind};
    if (e.op == Op::kSub && args[1].nothing && args[0].value) return joined(kind, args[0]);
    if (e.op == Op::kFma && args[2].nothing && args[0].value && args[1].value) {
      return joined(kind, {apply(Op::kMul, {args[0].value, args[1].value}), std::nullopt});
    }
    return {};
  }

  // What was carried, gathered over the parts; it may have been before.
  Image joined(Op kind, const Image& carried) {
    if (!carried.value) return carried;
    auto by = gathered_by_.find(carried.value.get());
    if (by != gathered_by_.end() && by->second == kind) return carried;
    if (!carried.value->axes.has(parts_)) return {};
    ExprPtr out = reduce(kind, AxisSet::of(parts_), carried.value);
    gathered_by_[out.get()] = kind;
    kept_.push_back(out);
    return {out, std::nullopt};
  }

  Kernel& kernel_;
  const Loop& loop_;
  AxisId parts_;
  AxisSet streamed_;
  Block out_;
  std::unordered_map<int32_t, Image> names_;
  std::unordered_map<const Expr*, Image> done_;
  std::unordered_map<const Expr*, Op> gathered_by_;  // values that are the merge of one state
  std::vector<ExprPtr> kept_;                        // keys of the maps stay alive
};

}  // namespace

std::expected<Block, std::string> merge_step(Kernel& kernel, const Loop& loop, const std::vector<ExprPtr>& states,
                                             AxisId parts) {
  return Merge(kernel, loop, parts).run(states);
}

Op gathering(const Expr& reduction) { return row(reduction).family == Family::dot ? Op::kSum : reduction.op; }

}  // namespace quern::fuse
