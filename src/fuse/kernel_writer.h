// Writes the body of one kernel: gives names to reductions and to what is used more than once, each defined outside of
// the loops that it does not depend on.
#pragma once

#include <unordered_map>

#include "fuse/graph.h"
#include "tile/range.h"

namespace quern::fuse {

class KernelWriter {
 public:
  KernelWriter(Symbol name, const Graph& graph);

  std::vector<tile::Name>& names() { return kernel_.names; }
  // Says that an expression will be emitted: what is met twice gets a name.
  void count(const tile::ExprPtr& e);
  void count(const tile::Block& block);

  // The expression in terms of names; what it needs is defined on the way.
  tile::ExprPtr emit(const tile::ExprPtr& e);
  // Defines a name of its own for the value.
  tile::ExprPtr define(const tile::ExprPtr& e);
  // The value of an emitted expression, computed here and not where it is used.
  tile::ExprPtr keep(const tile::ExprPtr& emitted) { return named(emitted); }
  // Statements over unnamed expressions (Lets, Loops and Stores).
  void emit(const tile::Block& block);
  void add(tile::Store store);

  // The kernel with the axes of the graph that it uses, these first.
  tile::Kernel finish(const std::vector<tile::AxisId>& first);

 private:
  struct Level {  // the kernel itself, or a loop that is open
    tile::Block block;
    tile::AxisSet streamed;
  };

  bool worth_a_name(const tile::Expr& e) const;
  tile::ExprPtr compute(const tile::ExprPtr& e);
  tile::ExprPtr dots(const tile::ExprPtr& e);
  tile::ExprPtr named(const tile::ExprPtr& value);
  int level_of(const tile::ExprPtr& e);
  void loop(const tile::Loop& loop);

  const Graph& graph_;
  tile::Ranges ranges_;
  tile::Kernel kernel_;
  std::vector<Level> levels_;
  std::vector<int> name_levels_;
  std::unordered_map<const tile::Expr*, int> uses_;
  struct Done {
    tile::ExprPtr e;
    int level;
  };
  std::unordered_map<const tile::Expr*, Done> done_;
  std::unordered_map<const tile::Expr*, int> level_memo_;
  std::vector<tile::ExprPtr> kept_;  // keys of the maps stay alive
};

}  // namespace quern::fuse
