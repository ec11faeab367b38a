#include "fuse/rename_axes.h"

#include <unordered_map>

namespace quern::fuse {

using tile::AxisId;
using tile::AxisSet;
using tile::Expr;
using tile::ExprPtr;

namespace {

class Renaming {
 public:
  Renaming(const std::vector<tile::Axis>& axes, std::vector<tile::Axis>& out) : axes_(axes), out_(out) {}

  AxisId operator()(AxisId old) {
    if (auto at = ids_.find(old); at != ids_.end()) return at->second;
    tile::Axis copy = axes_[static_cast<size_t>(old)];
    if (copy.lo) copy.lo = (*this)(copy.lo);
    copy.hi = (*this)(copy.hi);
    auto id = static_cast<AxisId>(out_.size());
    out_.push_back(std::move(copy));
    return ids_[old] = id;
  }
  AxisSet operator()(AxisSet old) {
    AxisSet out;
    for (AxisId a : old.list()) out |= AxisSet::of((*this)(a));
    return out;
  }
  ExprPtr operator()(const ExprPtr& e) {
    if (!e) return e;
    if (auto at = done_.find(e.get()); at != done_.end()) return at->second;
    Expr copy = *e;
    for (ExprPtr& a : copy.args) a = (*this)(a);
    copy.guard = (*this)(e->guard);
    copy.over = (*this)(e->over);
    copy.axes = (*this)(e->axes);
    if (tile::row(*e).family == tile::Family::axis) copy.id = (*this)(e->id);
    kept_.push_back(e);
    return done_[e.get()] = std::make_shared<const Expr>(std::move(copy));
  }
  void operator()(tile::Block& block) {
    for (tile::Statement& s : block) {
      if (auto* let = std::get_if<tile::Let>(&s.is)) {
        let->value = (*this)(let->value);
      } else if (auto* store = std::get_if<tile::Store>(&s.is)) {
        for (ExprPtr& e : store->subscripts) e = (*this)(e);
        store->value = (*this)(store->value);
        store->when = (*this)(store->when);
      } else if (auto* loop = std::get_if<tile::Loop>(&s.is)) {
        for (tile::Walk& w : loop->walks) {
          w.axis = (*this)(w.axis);
          w.lo = (*this)(w.lo);
          w.hi = (*this)(w.hi);
        }
        for (tile::Carry& c : loop->carries) {
          c.init = (*this)(c.init);
          c.next = (*this)(c.next);
        }
        (*this)(loop->body);
      }
    }
  }

 private:
  const std::vector<tile::Axis>& axes_;
  std::vector<tile::Axis>& out_;
  std::unordered_map<AxisId, AxisId> ids_;
  std::unordered_map<const Expr*, ExprPtr> done_;
  std::vector<ExprPtr> kept_;
};

}  // namespace

tile::Kernel with_own_axes(tile::Kernel kernel, const std::vector<tile::Axis>& axes, const std::vector<AxisId>& first) {
  Renaming rename(axes, kernel.axes);
  for (AxisId a : first) rename(a);
  rename(kernel.body);
  for (tile::Name& n : kernel.names) n.axes = rename(n.axes);
  return kernel;
}

}  // namespace quern::fuse
