// Before which values an anchor stands: names and tensors through which one has passed.
#pragma once

#include <unordered_map>
#include <vector>

#include "tile/program.h"

namespace quern::tile {

class Anchors {
 public:
  explicit Anchors(const Program& program);
  bool before(size_t kernel, const ExprPtr& e) const;

 private:
  bool look(size_t kernel, const Expr& e) const;
  bool scan(size_t kernel, const Block& block);
  bool mark(std::vector<bool>& of, int32_t id, bool anchored);

  std::vector<std::vector<bool>> names_;  // kernel, name
  std::vector<bool> parameters_;
  mutable std::vector<std::unordered_map<const Expr*, bool>> known_;  // by kernel
};

}  // namespace quern::tile
