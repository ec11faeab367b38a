// Does what an instruction is given fit its row: number and kinds of operands, types of registers and constants, the
// modifiers it can't be without? The rules on sizes are the manual's (PTX ISA 9.0, sections 6.2 and 9.2): registers of
// another kind but the same size serve only as .b; loads, stores and conversions take wider ones.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "ptx/module.h"

namespace quern::ptx {

struct Fault {
  Code code = Code::E909;
  int32_t operand = kNone;  // kNone: the instruction as a whole
  std::string what;         // E905 and E910: why; E909: what it takes
};

// The first thing that is wrong with an instruction of `function`.
std::optional<Fault> check(const Module& module, const Function& function, const Instruction& instruction);

// All of a module that was not parsed but made: every index in range, every instruction right. Messages have no place
// but the line of the text that the instruction came from. Parsed modules have passed it.
Diagnostics verify(const Module& module);

// A fault as a message; `shown` is the operand, or what the instruction was given.
Diagnostic diagnose(const Instruction& instruction, const Fault& fault, Span span, std::string shown);

// "a register of .u32, a constant": what the instruction was given, for messages.
std::string describe(const Function& function, const Instruction& instruction);

}  // namespace quern::ptx
