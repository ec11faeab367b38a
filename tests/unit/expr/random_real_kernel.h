// Random kernels of real arithmetic, as text: every operation of the table, reductions, branches on computed values,
// locals with and without a type, contractions, scatters. All subscripts are in range, whatever the data.
#pragma once

#include <string>

#include "call.h"

namespace quern::expr::test {

class RandomRealKernel {
 public:
  explicit RandomRealKernel(Random& random) : random_(random) {}
  std::string text();

 private:
  std::string real(int depth);
  std::string whole(int depth);
  std::string condition(int depth);
  std::string leaf();
  std::string reduction(int depth);
  std::string pick(std::initializer_list<const char*> all);
  std::string product();

  Random& random_;
  bool k_ = false;  // is k bound here?
  bool n_ = true;   // … and n?
  int locals_ = 0;  // how many locals there are
};

}  // namespace quern::expr::test
