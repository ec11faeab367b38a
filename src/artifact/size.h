// A size that is known at launch: an integer formula of the kernel's dimensions, in postfix order. Most are numbers;
// those of kernels compiled for every size of a dimension (`dyn`) are not. They come from a file, so evaluating one is
// safe whatever it holds.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/scalar_type.h"

namespace quern::artifact {

class Size {
 public:
  enum class Op : uint8_t { kNumber, kDim, kAdd, kSub, kMul, kFloorDiv, kCeilDiv, kMod, kMin, kMax };
  struct Step {
    Op op = Op::kNumber;
    int64_t value = 0;  // kNumber: itself; kDim: its place among the dimensions
    bool operator==(const Step&) const = default;
  };

  Size() : Size(0) {}
  Size(int64_t number) : steps_{{Op::kNumber, number}} {}
  static Size dim(int64_t place) { return Size(std::vector<Step>{{Op::kDim, place}}); }
  static Size apply(Op op, const Size& a, const Size& b);
  explicit Size(std::vector<Step> steps) : steps_(std::move(steps)) {}

  const std::vector<Step>& steps() const { return steps_; }
  // Nothing where it overflows 63 bits, divides by zero, or is no formula of so many dimensions.
  std::optional<int64_t> at(std::span<const int64_t> dims) const;
  bool operator==(const Size&) const = default;

 private:
  std::vector<Step> steps_;
};

// The product of sizes in elements of so many bits, as bytes; nothing as at(), or where a factor makes it negative.
std::optional<int64_t> bytes_of(std::span<const Size> shape, ScalarType type, std::span<const int64_t> dims);

}  // namespace quern::artifact
