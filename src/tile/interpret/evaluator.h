// The state of a run, and its parts: expressions (evaluate.cc), reductions (reduce.cc), statements (run.cc).
#pragma once

#include <map>
#include <optional>
#include <unordered_map>

#include "tile/interpret.h"
#include "tile/interpret/anchors.h"
#include "tile/interpret/array.h"
#include "tile/interpret/memory.h"

namespace quern::tile {

class Evaluator {
 public:
  Evaluator(const Program& program, const Launch& launch);
  Interpreted run();

 private:
  // --- expressions ---
  // Over the current ranges of its axes.
  ArrayPtr evaluate(const ExprPtr& e);
  ArrayPtr compute(const ExprPtr& e);
  ArrayPtr constant(const Expr& e);
  ArrayPtr named(const Expr& e);
  ArrayPtr load(const Expr& e);
  ArrayPtr check(const Expr& e);
  ArrayPtr map(const ExprPtr& e);
  ArrayPtr filled(const Expr& e);
  int64_t integer(const ExprPtr& e);  // one integer, in an array of one element
  std::shared_ptr<Array> array(ScalarType type, AxisSet axes);
  Range range(AxisId axis);
  void set_range(AxisId axis, std::optional<Range> range);

  // --- reductions ---
  ArrayPtr reduce(const Expr& e);
  ArrayPtr dot(const Expr& e);
  template <class State, class Take, class Value>
  ArrayPtr accumulate(const Expr& e, State first, Take take, Value value);
  ArrayPtr real_sum(const Expr& e);
  ArrayPtr real_product(const Expr& e);
  // Calls f once for each way to fix the axes on which ranges of `over` depend.
  template <class F>
  void each_piece(AxisSet over, F&& f);
  AxisSet dependences(AxisSet over);

  // --- statements ---
  void run_kernel();
  void grid(size_t depth);
  void block(const Block& body);
  void statement(const Let& s);
  void statement(const Store& s);
  void statement(const Loop& s);
  void statement(const If& s);
  void statement(const Nest& s);
  void statement(const Keep&) {}
  template <class F>
  void walk(const Walk& w, F&& trip);
  void trips(const Loop& s, size_t depth);
  void nest_axes(const Nest& s, size_t depth);
  void store_piece(const Store& s);
  void bind(int32_t name, ArrayPtr value);
  ArrayPtr without_scalars(int32_t name, ArrayPtr value);
  void forget_defined_in(const Block& body);

  // Where the access goes: the element's number, or nothing if a checked subscript is outside, which is reported.
  struct Access {
    std::optional<int64_t> at;
    bool sure = true;
  };
  Access access(const Tensor& tensor, int32_t parameter, uint32_t checked, int32_t site,
                const std::vector<ArrayPtr>& subscripts, const Points& points);
  void report(int32_t site, int64_t value, Range allowed, const Points& points);
  Tensor::Point point() const { return {point_, first_point_}; }
  const std::string& called(int32_t name) const;

  const Program& program_;
  const Launch& launch_;
  Mode mode_;
  Anchors anchors_;
  std::vector<Tensor> tensors_;
  std::map<int32_t, Diagnostic> findings_;  // by site

  const Kernel* kernel_ = nullptr;
  size_t kernel_number_ = 0;
  std::vector<std::optional<Range>> ranges_;  // by axis; none: the declared one
  std::vector<ArrayPtr> names_;
  std::vector<bool> kept_;                           // names with a keep
  std::vector<std::shared_ptr<Array>> kept_arrays_;  // of the nest at hand
  bool in_nest_ = false;
  int64_t point_ = 0, first_point_ = 0;
  std::unordered_map<const Expr*, ArrayPtr> known_;  // until a range or a name changes
};

}  // namespace quern::tile
