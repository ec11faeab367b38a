// What passes over PTX ask of an instruction: one place for each question.
#pragma once

#include <cstddef>
#include <vector>

#include "ptx/module.h"

namespace quern::vgpu {

// Others are N920 where a launched kernel contains them.
bool executes(ptx::Op op);
// Control does not simply go on behind it: branches, returns, traps.
bool ends_block(const ptx::Instruction& in);
// Lanes wait there until others have come, so it must stand at the head of a block.
bool waits_for_lanes(const ptx::Instruction& in);
// How many of the operands, from the first, are written.
size_t result_count(const ptx::Instruction& in);
// The elements of a vector operand, or the operand itself.
std::vector<ptx::Operand> parts_of(const ptx::Operand& operand);
// The results are read as well.
bool reads_result(const ptx::Instruction& in);
// Reads or writes the carry flag, which is a register of its own: number `function.registers.size()`.
bool writes_carry(const ptx::Instruction& in);
bool reads_carry(const ptx::Instruction& in);
// Its results depend on its operands alone, so that equal operands in all lanes give equal results.
bool is_pure(const ptx::Instruction& in);
// Waits for what other threads do if it stands in a loop: atomics and loads that may see others' stores.
bool may_wait(const ptx::Instruction& in);

}  // namespace quern::vgpu
