// A slow evaluator of tile expressions and statements, written without any code of the library's passes: one element
// after the other, memoised. Reference values come from it in long double, derived programs run in double.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include "tile/program.h"

namespace quern::fuse {

struct Tensor {
  std::vector<int64_t> shape;
  std::vector<double> data;
};

// What a program reads: tensors by parameter, sizes by dim, ranges by axis.
struct World {
  std::vector<Tensor> tensors;
  std::vector<int64_t> dims;
  std::vector<tile::Axis> axes;
};

template <class Real>
class Evaluator {
 public:
  struct Value {
    std::vector<int64_t> lo, extent;  // by axis of the list below
    std::vector<tile::AxisId> axes;
    std::vector<Real> data;
  };

  explicit Evaluator(const World& world);

  // The indices now in range.
  void range(tile::AxisId axis, int64_t lo, int64_t hi);
  std::pair<int64_t, int64_t> range(tile::AxisId axis) const { return {lo_[axis], hi_[axis]}; }
  // All elements of an expression over the ranges of its axes; first axis outermost.
  Value all(const tile::ExprPtr& e);
  Real at(const tile::ExprPtr& e, const std::vector<int64_t>& index);
  void set(int32_t name, Value value) { names_[name] = std::move(value); }
  const Value& name(int32_t id) const { return names_.at(id); }
  // Lets and loops; a loop's first axis is cut into tiles of `tile` indices.
  void run(const tile::Block& block, int64_t tile);
  void loop(const tile::Loop& loop, int64_t tile, bool initial = true);

 private:
  Real eval(const tile::ExprPtr& e);
  Real compute(const tile::ExprPtr& e);
  Real reduce(const tile::Expr& e);

  const World& world_;
  std::vector<int64_t> lo_, hi_, index_;
  std::map<int32_t, Value> names_;
  std::map<std::pair<const tile::Expr*, std::vector<int64_t>>, Real> memo_;
};

extern template class Evaluator<double>;
extern template class Evaluator<long double>;

}  // namespace quern::fuse
