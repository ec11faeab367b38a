// The state of the verifier while it walks a kernel.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "tile/program.h"

namespace quern::tile {

class Verifier {
 public:
  explicit Verifier(const Program& program) : program_(program) {}
  Diagnostics run();

 private:
  // Records a finding of the statement at hand; after many, no more.
  void wrong(std::string what);

  // --- expressions: each returns whether the tree can be looked at further ---
  bool expression(const ExprPtr& e);
  bool node(const Expr& e);
  void types(const Expr& e);
  void load(const Expr& e);
  void dot(const Expr& e);
  void reduced_ranges(const Expr& e, AxisSet operands);
  bool references(int32_t parameter, const std::vector<ExprPtr>& subscripts, uint32_t checked, int32_t site);
  bool whole(const ExprPtr& e, std::string_view what);  // an integer of rank 0
  AxisSet type_axes(AxisSet axes) const { return axes - kernel_->scalar; }
  bool known_axes(AxisSet axes) const;
  std::string axis_name(AxisId axis) const;
  std::string shown(int32_t name) const;

  // --- kernels and statements ---
  void header();
  void kernel();
  void declared_axes();
  bool walk(const Walk& w, bool grid);
  void block(const Block& body);
  void statement(const Let& s);
  void statement(const Store& s);
  void statement(const Loop& s);
  void statement(const If& s);
  void statement(const Nest& s);
  void statement(const Keep& s);
  void define(int32_t name, const ExprPtr& value);
  void carried(const Carry& c, const ExprPtr& value, std::string_view which);
  void body_in_scope(const Block& body);
  void ragged(AxisSet axes);

  // --- placed and laid ---
  bool placed() const { return program_.stage >= Stage::kPlaced; }
  void nest_axes(const Nest& s);
  void in_nest(const Nest& s, const ExprPtr& e, AxisSet axes);
  // What a nest's expression has to do with its reductions.
  struct Reduces {
    bool holds = false;    // a reduction stands in it
    bool depends = false;  // on a reduction of a statement before
  };
  Reduces reduces(const ExprPtr& e, const std::vector<bool>& after, bool inside);
  void reduction_axes(const Expr& e);
  void find_keeps(const Block& body);
  void crossing();

  const Program& program_;
  const Kernel* kernel_ = nullptr;
  Diagnostics found_;
  std::unordered_set<const Expr*> seen_;  // expressions of the statement at hand that are in order
  std::vector<bool> defined_, visible_;   // names
  std::vector<int> nest_of_;              // where a name is defined: a nest's number, -1 outside, -2 carried
  std::vector<bool> kept_;
  std::vector<bool> crosses_;
  std::vector<int64_t> walked_;  // by axis: size of the innermost walk in scope, -1 none
  bool in_range_ = false;        // of a declared axis or of the grid: no names
  const Nest* nest_ = nullptr;
  int nest_number_ = 0;
  AxisSet strips_, held_;
};

}  // namespace quern::tile
