// Terms as text, as a person would write them: for remarks and for `quern derive`.
#pragma once

#include <functional>
#include <string>

#include "fuse/derive.h"
#include "fuse/derive/algebra.h"

namespace quern::fuse::algebra {

class Writer {
 public:
  explicit Writer(const Facts& facts) : facts_(facts) {}

  std::string axis(AxisId id) const;
  std::string parameter(int32_t id) const;
  std::string axes(AxisSet set) const;
  std::string text(const ExprPtr& e) const;
  // The source's own words if it has them, else the term; long ones shortened.
  std::string brief(const ExprPtr& e) const;

  // How a term is called instead of being written out; nothing: it is written out.
  std::function<std::string(const ExprPtr&)> call;

 private:
  std::string write(const ExprPtr& e, int outer) const;

  const Facts& facts_;
};

std::string number_text(double value);

}  // namespace quern::fuse::algebra
