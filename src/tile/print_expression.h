// One expression as text, for print.cc.
#pragma once

#include "tile/names.h"

namespace quern::tile {

class ExpressionPrinter {
 public:
  ExpressionPrinter(const ProgramNames& program, const KernelNames* kernel) : program_(program), kernel_(kernel) {}
  // What binds less tightly than `least` stands in parentheses.
  std::string text(const ExprPtr& e, int least = 0) const;
  // name[subscripts], with `checked` and the site.
  std::string reference(int32_t parameter, const std::vector<ExprPtr>& subscripts, uint32_t checked,
                        int32_t site) const;
  std::string axis(AxisId id) const;
  std::string name(int32_t id) const;

 private:
  void add(std::string& out, const ExprPtr& e, int least) const;
  void plain(std::string& out, const Expr& e) const;
  void list(std::string& out, const std::vector<ExprPtr>& args) const;
  void axes(std::string& out, AxisSet set) const;

  const ProgramNames& program_;
  const KernelNames* kernel_;
};

}  // namespace quern::tile
