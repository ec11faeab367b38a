// Random kernels of index arithmetic, as text: subscripts of every shape the prover knows, under guards, filters and
// ranges of every kind, in range or not.
#pragma once

#include <string>
#include <vector>

#include "call.h"

namespace quern::expr::test {

class RandomIndexKernel {
 public:
  explicit RandomIndexKernel(Random& random) : random_(random) {}
  std::string text();

 private:
  std::string pick(const std::vector<std::string>& all);
  std::string whole(int depth);
  std::string linear();
  std::string small();
  std::string condition(const std::string& about, int depth);
  std::string bound();
  std::string read(int depth);
  std::string value(int depth);

  Random& random_;
  std::vector<std::string> scope_;                   // indices
  std::vector<std::pair<std::string, int>> locals_;  // with their ranks
  int fresh_ = 0;
};

}  // namespace quern::expr::test
