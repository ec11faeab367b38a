// The canonical text of a module: what parse() reads back as the same module, lines of the text apart, and what prints
// the same again. ptxas takes it too.
#pragma once

#include <string>

#include "ptx/module.h"

namespace quern::ptx {

std::string print(const Module& module);

// One instruction without its semicolon, as messages show it.
std::string print(const Module& module, const Function& function, const Instruction& instruction);

}  // namespace quern::ptx
