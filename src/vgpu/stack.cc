// Memory of the stack that a function takes for itself (PTX ISA 9.7.17): alloca, stacksave and stackrestore become
// moves of the pointer to the stack's top that calls have, too. What a function took is free when it returns.
#include "vgpu/inliner.h"

namespace quern::vgpu {

using ptx::Function;
using ptx::Instruction;
using ptx::Modifier;
using ptx::Op;
using ptx::Operand;
using ptx::Type;

bool moves_stack(const Instruction& in) {
  return in.op == Op::k_alloca || in.op == Op::k_stacksave || in.op == Op::k_stackrestore;
}

bool moves_stack(const Function& f) {
  for (const Instruction& in : f.instructions) {
    if (moves_stack(in)) return true;
  }
  return false;
}

// The stack's registers have 64 bits; operands may have 32.
void Inliner::move_stack(const Instruction& in) {
  int32_t past = new_label("stack.past");
  if (in.guard.reg != ptx::kNone) branch(in, past, {in.guard.reg, !in.guard.negated});
  bool narrow = in.type() == Type::k_u32;
  auto wide = [&](const Operand& o) {
    if (!narrow) return o;
    Operand out = new_register(Type::k_u64);
    add(made(in, Op::k_cvt, {}, {Type::k_u64, Type::k_u32}, {out, o}));
    return out;
  };
  auto give = [&](const Operand& to, const Operand& value) {
    add(narrow ? made(in, Op::k_cvt, {}, {Type::k_u32, Type::k_u64}, {to, value})
               : made(in, Op::k_mov, {}, {Type::k_u64}, {to, value}));
  };
  if (in.op == Op::k_stacksave) give(in.operands[0], stack_top_);
  if (in.op == Op::k_stackrestore) add(made(in, Op::k_mov, {}, {Type::k_u64}, {stack_top_, wide(in.operands[0])}));
  if (in.op == Op::k_alloca) {
    int64_t align = in.operands.size() > 2 ? in.operands[2].value : 8;
    Operand size = wide(in.operands[1]), at = new_register(Type::k_u64), left = new_register(Type::k_u64);
    add(made(in, Op::k_add, {}, {Type::k_s64}, {at, stack_top_, integer_operand(align - 1)}));
    add(made(in, Op::k_and, {}, {Type::k_b64}, {at, at, integer_operand(-align)}));
    // What is left may be less than nothing, of either sign.
    Operand full = new_register(Type::k_pred);
    auto stop_if = [&](const Operand& a, const Operand& b) {
      add(made(in, Op::k_setp, {Modifier::kGt}, {Type::k_u64}, {full, a, b}));
      Instruction trap = made(in, Op::k_trap, {}, {}, {integer_operand(kNoRoom)});
      trap.guard.reg = full.reg;
      add(std::move(trap));
    };
    stop_if(at, stack_end_);
    add(made(in, Op::k_sub, {}, {Type::k_s64}, {left, stack_end_, at}));
    stop_if(size, left);
    // Frames of calls start at multiples of 16.
    add(made(in, Op::k_add, {}, {Type::k_s64}, {stack_top_, at, size}));
    add(made(in, Op::k_add, {}, {Type::k_s64}, {stack_top_, stack_top_, integer_operand(15)}));
    add(made(in, Op::k_and, {}, {Type::k_b64}, {stack_top_, stack_top_, integer_operand(-16)}));
    give(in.operands[0], at);
  }
  put(past);
}

}  // namespace quern::vgpu
