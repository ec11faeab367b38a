// Turns expressions of a checked program into tile expressions.
//
// Laziness. `a if c else b` evaluates one branch, a tile program both: then a load happens under the conditions on its
// way, its *path*. A load that is in range without any of them needs no guard, and most are; so a node is first
// expanded without a path, which shares best, and once more with it only if something below needs it.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "expr/bind.h"
#include "expr/contraction.h"
#include "expr/precision.h"
#include "expr/prove.h"
#include "fuse/expand.h"
#include "fuse/intern.h"
#include "tile/range.h"

namespace quern::fuse {

class Expander {
 public:
  Expander(const expr::Program& program, const expr::Binding& binding, const ExpandOptions& options);

  Result<Graph> run();

 private:
  // A condition on the way; the mask of an axis says of which range.
  struct Condition {
    tile::ExprPtr e;
    tile::AxisId axis = -1;  // lo <= axis < hi; -1 with ends: lo < hi; without: any other condition
    tile::ExprPtr lo, hi;
  };
  using Path = std::vector<Condition>;

  struct Value {
    tile::ExprPtr e;
    bool needs = false;  // the path: something below may be out of range, or reports, elsewhere
  };
  // Which elements of an axis are meant: all of them, or where `mask` holds.
  struct Ranged {
    tile::AxisId axis = -1;
    tile::ExprPtr index;  // the axis, or the only index there is
    Condition mask;       // without expression: all
    bool needs = false;
  };
  struct Bound {  // of a range by data that is cut to a dimension
    int64_t limit = -1;
    Symbol tensor;
    bool write = false;
  };

  struct Memory {
    int32_t parameter = -1;  // -1: the local is computed where it is read
    bool whole = false;      // every element is written
  };

  void declare();
  void define(const expr::Update& update);
  void store(size_t local);
  void finish(Definition definition, const std::function<void()>& look);
  tile::ExprPtr walk(Definition& definition, const expr::Binder& binder, const Bound& bound, Path& path,
                     tile::AxisSet& taken);
  void settle_roles();
  bool none(const Definition& definition) const;

  // value.cc
  Value value(const expr::NodePtr& node, const Path& path);
  Value compute(const expr::NodePtr& node, const Path& path);
  Value operation(const expr::NodePtr& node, const Path& path);
  Value select(const expr::NodePtr& node, const Path& path);
  Value logic(const expr::NodePtr& node, const Path& path);
  Value cast(const expr::NodePtr& node, const Path& path);
  Value read(const expr::NodePtr& node, const Path& path);
  Value local(const expr::NodePtr& node, const Path& path);
  Value stored(const Memory& memory, const std::vector<tile::ExprPtr>& at, const Path& path);
  Value within(const expr::NodePtr& node, const Path& path);
  Value checked_range(const expr::Node& at, const tile::ExprPtr& index, const tile::ExprPtr& lo,
                      const tile::ExprPtr& hi, Symbol name, int axis, const Path& path);
  // rounding.cc: which operands of products may be rounded
  void note_rounding(const expr::NodePtr& sum, const tile::ExprPtr& made,
                     const std::optional<expr::Contraction>& contraction);
  void settle_roundings();
  // ends.cc: every range that is cut, with all conditions on its way
  void collect(const expr::NodePtr& node, const Path& path);
  void collect_under(const std::vector<expr::Binder>& binders, const std::vector<expr::NodePtr>& bodies, Path path);
  // range.cc
  Value reduction(const expr::NodePtr& node, const Path& path);
  tile::ExprPtr reduced(tile::Op op, tile::AxisSet over, const tile::ExprPtr& body);
  Value position(const expr::NodePtr& node, tile::AxisSet over, const tile::ExprPtr& body, const tile::ExprPtr& mask);
  Ranged enter(const expr::Binder& binder, const Path& path, tile::AxisSet taken, const Bound& bound);
  Bound bound_of(const expr::Binder& binder, const expr::NodePtr& body) const;
  void bound_of(expr::IndexId index, const expr::NodePtr& node, Bound& bound) const;
  void check_ends(const expr::Binder& binder, const Path& path, const Bound& bound);
  tile::AxisId axis_for(Symbol name, const tile::ExprPtr& lo, const tile::ExprPtr& hi, tile::AxisSet taken);
  bool may_share(tile::AxisId id) const;
  // Axes on which the indices that are free in a node stand.
  tile::AxisSet axes_below(const expr::NodePtr& node);

  // Interned construction; integers are folded.
  tile::ExprPtr in(tile::ExprPtr e) { return intern_(std::move(e)); }
  tile::ExprPtr integer(int64_t v) { return in(tile::integer(v)); }
  tile::ExprPtr folded(tile::Op op, const std::vector<tile::ExprPtr>& args);
  tile::ExprPtr make(tile::Op op, std::vector<tile::ExprPtr> args);
  tile::ExprPtr condition(const Path& path);  // all of it
  Path with(Path path, const tile::ExprPtr& condition);
  Path with(Path path, const Condition& condition);
  Path projected(const Path& path, tile::AxisSet axes);
  // Does evaluating `condition` do all that in `e` must not be done elsewhere?
  bool covered(const tile::ExprPtr& e, const tile::ExprPtr& condition);
  tile::ExprPtr both(const tile::ExprPtr& a, const tile::ExprPtr& b);  // a and b; null is true
  tile::ExprPtr negated(const tile::ExprPtr& a);
  tile::ExprPtr chosen(const tile::ExprPtr& condition, tile::ExprPtr then, tile::ExprPtr otherwise);
  tile::ExprPtr to(ScalarType type, const tile::ExprPtr& e);  // a number, in f32, f64 or i64
  ScalarType precision(const expr::NodePtr& node);            // in which a real is computed, or reals are compared
  tile::ExprPtr widened(const tile::ExprPtr& e);
  bool literal(const tile::ExprPtr& e) const;
  int32_t site(Code code, Span span, std::string tensor, std::string subscript,
               std::optional<tile::Site::End> end = std::nullopt);

  expr::Proof proof(const expr::Node& subscript, Symbol tensor, int axis, bool write) const;
  const std::vector<expr::IndexId>& free(const expr::NodePtr& node);

  const expr::Program& program_;
  const expr::Binding& binding_;
  const ExpandOptions& options_;
  Graph graph_;
  Interner intern_;
  tile::Ranges ranges_;
  std::vector<Symbol> index_names_;  // of each axis: the first index that stood on it
  tile::AxisSet ending_;             // axes over which ends of ranges are reduced
  tile::AxisSet reduced_;            // axes of reductions
  bool in_reduction_ = false;        // the range at hand is one of a reduction
  expr::Precisions precisions_;
  std::unordered_map<expr::IndexId, tile::ExprPtr> env_;
  std::map<std::vector<const void*>, Value> done_;
  std::unordered_map<const expr::Node*, std::vector<expr::IndexId>> free_;
  std::unordered_set<const tile::Expr*> unsafe_;  // loads that are not in range everywhere
  std::unordered_map<const tile::Expr*, std::vector<const tile::Expr*>> needy_;
  std::unordered_map<const tile::Expr*, std::unordered_set<const tile::Expr*>> below_;
  using PlaceKey = std::tuple<const Source*, uint32_t, uint32_t, std::string, int, bool>;
  std::map<PlaceKey, expr::Proof> proofs_;
  std::map<std::tuple<Code, const Source*, uint32_t, uint32_t, std::string>, int32_t> sites_;
  bool cuts_ = false;                  // some range was cut
  std::vector<tile::ExprPtr> checks_;  // of the definition at hand
  std::map<std::pair<const tile::Expr*, int32_t>, std::vector<std::set<const tile::Expr*>>> looked_at_;  // by checks_
  std::set<std::vector<const void*>> collected_;
  std::vector<Memory> stored_;      // of each local
  std::vector<int32_t> snapshots_;  // of each tensor: the parameter that holds it as it was, or -1
  bool reads_snapshot_ = false;
  bool too_many_axes_ = false;
  std::map<const tile::Expr*, std::optional<Rounding>> sums_;  // what each allows
  Diagnostics lacking_;                                        // N902
};

}  // namespace quern::fuse
