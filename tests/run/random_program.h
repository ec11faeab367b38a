// Random kernels in the shapes that kernels have: scores over ragged, triangular and windowed ranges, masks, softmax
// and other chains, products that feed products, gathers, quantised operands, integer sums, positions, updates of inout
// tensors. RandomRealKernel has every operation in any order; this has what the compiler fuses, streams and cuts.
//
// Sizes are M, N, K and E, none related to another; all subscripts stay inside for data that fit (expr/draw.h).
#pragma once

#include <string>
#include <vector>

#include "call.h"

namespace quern::expr::test {

class RandomProgram {
 public:
  explicit RandomProgram(Random& random) : random_(random) {}
  std::string text();

 private:
  int64_t below(int64_t n) { return between(random_, 0, n - 1); }
  std::string pick(const std::vector<std::string>& all);
  std::string range();
  std::string mapped(std::string x, int most);  // by up to so many functions
  std::string product();
  std::string element();
  std::string condition();
  std::string scores();
  std::string row_value();
  std::string real_type();
  void weighted_sum();
  void chain();
  void pieces();
  void updates();
  void line(const std::string& text) { body_ += "  " + text + "\n"; }
  std::string result(const std::string& shape, const std::string& type, const std::string& first = "");

  Random& random_;
  std::vector<std::string> results_;
  std::string body_, range_;
  int locals_ = 0;
};

}  // namespace quern::expr::test
