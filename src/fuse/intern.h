// Equal tile expressions as one object, so that equality is that of pointers, memos are keyed by pointers, and what is
// computed twice is seen.
#pragma once

#include <unordered_set>

#include "tile/expression.h"

namespace quern::fuse {

class Interner {
 public:
  // The one object that is equal to `e`, whose arguments must be interned already. Spans are not compared: the first
  // one stays.
  tile::ExprPtr operator()(tile::ExprPtr e);

 private:
  struct Hash {
    size_t operator()(const tile::ExprPtr& e) const;
  };
  struct Same {
    bool operator()(const tile::ExprPtr& a, const tile::ExprPtr& b) const;
  };
  std::unordered_set<tile::ExprPtr, Hash, Same> all_;
};

}  // namespace quern::fuse
