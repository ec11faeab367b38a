// Instructions as text, for print.cc; appends, since a module has many.
#pragma once

#include <string>
#include <string_view>

#include "ptx/module.h"

namespace quern::ptx {

class InstructionPrinter {
 public:
  // `targets`: the names of the lists of targets, which the module does not keep.
  InstructionPrinter(const Module& module, const Function& function, const std::vector<std::string>& targets)
      : module_(module), function_(function), targets_(targets) {}

  void print(const Instruction& instruction, std::string& out) const;

 private:
  void print(const Operand& o, std::string& out) const;
  void print_offset(int64_t value, std::string& out) const;
  void print_call(const Instruction& i, std::string& out) const;

  const Module& module_;
  const Function& function_;
  const std::vector<std::string>& targets_;
};

const std::string& symbol_name(const Module& module, const Function* function, const Symbol& symbol);

// 0f3F800000, 0d3FF0000000000000
std::string float_text(uint64_t bits, bool single);

}  // namespace quern::ptx
