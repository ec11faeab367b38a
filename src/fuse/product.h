// An expression as a product of factors, and back.
#pragma once

#include <vector>

#include "tile/expression.h"

namespace quern::fuse {

struct Factor {
  tile::ExprPtr value;
  bool inverse = false;  // 1 / value
};

struct Product {
  std::vector<Factor> factors;  // left to right
  bool negative = false;
};
Product product_of(const tile::ExprPtr& e);

// The product of the factors, numerators first, after `start`.
tile::ExprPtr product(const std::vector<Factor>& factors, tile::ExprPtr start = nullptr);

// `value if mask else 0`, the form that a range that was cut gives a summand; without mask if it is none.
struct Masked {
  tile::ExprPtr value, mask;
};
Masked masked(const tile::ExprPtr& e);

}  // namespace quern::fuse
