// A value of the interpreter: elements over the current ranges of its axes, and the walk over several such arrays at
// once.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "base/running_error.h"
#include "tile/expression.h"

namespace quern::tile {

// [lo, hi) exists; [hi, end) is absent, and in the array only in mode kPadded.
struct Range {
  int64_t lo = 0, hi = 0, end = 0;
  int64_t extent() const { return end - lo; }
  bool single() const { return end - lo == 1; }
  bool operator==(const Range&) const = default;
};

// Integers and bools in `i`. `e` bounds the error; of a bool: not 0 if it may be otherwise.
struct Element {
  union {
    double v = 0;
    int64_t i;
  };
  double e = 0;

  static Element of(Real r) {
    Element x;
    x.v = r.v, x.e = r.e;
    return x;
  }
  static Element of(Int n) {
    Element x;
    x.i = n.v, x.e = n.e;
    return x;
  }
  static Element of(Bool b) {
    Element x;
    x.i = b.v ? 1 : 0, x.e = b.sure ? 0 : kInfinity;
    return x;
  }
  Real real() const { return {v, e}; }
  Int integer() const { return {i, e}; }
  Bool boolean() const { return {i != 0, e == 0}; }
};

Element zero_element(ScalarType type);
// What nothing defined: NaN, so that it shows when it is used.
Element undefined_element(ScalarType type);

struct Array {
  ScalarType type = ScalarType::f32;
  std::vector<AxisId> axes;  // ascending
  std::vector<Range> ranges;
  std::vector<Element> data;  // row-major
  bool kept = false;          // lay in memory: absent elements were not stored
};
using ArrayPtr = std::shared_ptr<const Array>;

// Walks the points of some ranges, last axis innermost, and keeps for each operand the offset of its element there.
class Points {
 public:
  Points(std::vector<AxisId> axes, std::vector<Range> ranges)
      : axes_(std::move(axes)), ranges_(std::move(ranges)), index_(axes_.size()) {}
  explicit Points(const Array& array) : Points(array.axes, array.ranges) {}

  // An axis that only the operand has must have one index in it.
  void add(const Array& operand);
  template <class F>
  void each(F&& f) {
    for (const Range& r : ranges_) {
      if (r.extent() <= 0) return;
    }
    for (size_t k = 0; k < axes_.size(); ++k) index_[k] = ranges_[k].lo;
    do {
      f();
    } while (next());
  }
  size_t at(size_t operand) const { return static_cast<size_t>(offsets_[operand]); }
  int64_t index(size_t axis) const { return index_[axis]; }
  const std::vector<AxisId>& axes() const { return axes_; }
  bool live() const;

 private:
  bool next();

  std::vector<AxisId> axes_;
  std::vector<Range> ranges_;
  std::vector<int64_t> index_;
  std::vector<int64_t> offsets_;
  std::vector<std::vector<int64_t>> strides_;  // operand, axis
};

}  // namespace quern::tile
