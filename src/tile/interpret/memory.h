// The tensors of a run, element by element, and who touched them: stored exactly once, no two grid points in one
// element.
#pragma once

#include <vector>

#include "tile/interpret.h"
#include "tile/interpret/array.h"

namespace quern::tile {

class Tensor {
 public:
  // `data` holds what an in, const or inout has; the shape is not negative.
  Tensor(const Parameter& parameter, std::vector<int64_t> shape, const void* data);

  const std::vector<int64_t>& shape() const { return shape_; }
  // A grid point of a kernel: points are numbered through the whole run, `first` is the kernel's first one.
  struct Point {
    int64_t number = 0, first = 0;
  };
  Element read(int64_t at, Point by);
  void write(int64_t at, Element x, Mode mode, Point by);
  // `atomic`: other points may add to the element too.
  void add(int64_t at, Element x, Mode mode, Point by, bool atomic);
  // Every element of an `out` must have been stored by now.
  Output output(int32_t number, Mode mode) const;

 private:
  struct Touched {
    int64_t wrote = -1, read = -1;  // points; read: the last one, or kMany
    bool atomic = false, stored = false;
  };
  // What was added to an element: its bound does not depend on the order.
  struct Added {
    double magnitude = 0, count = 0;
  };
  void touch(int64_t at, Point by, bool atomic);
  Element element(int64_t at) const;

  const Parameter& parameter_;
  std::vector<int64_t> shape_;
  std::vector<Element> elements_;
  std::vector<Touched> touched_;  // of those that can be written
  std::vector<Added> added_;      // empty until something is added
  bool writable_ = false;
};

}  // namespace quern::tile
