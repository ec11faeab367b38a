#include "vgpu/traits.h"

namespace quern::vgpu {

using ptx::Family;
using ptx::Instruction;
using ptx::Modifier;
using ptx::ModifierGroup;
using ptx::Op;

namespace {

Family family(const Instruction& in) { return ptx::row(in.op).family; }

}  // namespace

bool executes(Op op) {
  switch (ptx::row(op).family) {
    case Family::kBulkCopy:
    case Family::kCluster:
    case Family::kTensorCore: return false;
    default: return true;
  }
}

bool ends_block(const Instruction& in) {
  return in.op == Op::k_bra || in.op == Op::k_brx_idx || in.op == Op::k_ret || in.op == Op::k_exit ||
         in.op == Op::k_trap;
}

bool waits_for_lanes(const Instruction& in) {
  bool together = family(in) == Family::kWarp || family(in) == Family::kMatrix;
  return family(in) == Family::kBarrier || (together && in.has(Modifier::kSync));
}

size_t result_count(const Instruction& in) {
  size_t pair = in.pair_results ? 2 : 1;
  switch (family(in)) {
    case Family::kStore:
    case Family::kFence:
    case Family::kCache:
    case Family::kAsyncCopy:
    case Family::kBulkCopy: return 0;
    case Family::kControl: return static_cast<size_t>(in.op == Op::k_call ? in.call_results : 0);
    case Family::kBarrier: return in.of(ModifierGroup::kBarrier) == Modifier::kRed ? 1 : 0;
    case Family::kAtomic: return in.op == Op::k_red ? 0 : 1;
    case Family::kTexture: return in.op == Op::k_sust || in.op == Op::k_sured ? 0 : pair;
    case Family::kMatrix: return in.op == Op::k_wmma_store || in.op == Op::k_stmatrix ? 0 : 1;
    case Family::kMbarrier: return in.operands[0].kind == ptx::OperandKind::kAddress ? 0 : 1;
    case Family::kSystem: return in.op == Op::k_stacksave || in.op == Op::k_alloca ? 1 : 0;
    default: return in.operands.empty() ? 0 : pair;
  }
}

std::vector<ptx::Operand> parts_of(const ptx::Operand& o) {
  return o.kind == ptx::OperandKind::kVector ? o.parts : std::vector<ptx::Operand>{o};
}

bool reads_result(const Instruction&) { return false; }

bool writes_carry(const Instruction& in) { return in.has(Modifier::kCc); }

bool reads_carry(const Instruction& in) { return family(in) == Family::kCarry; }

bool is_pure(const Instruction& in) {
  switch (family(in)) {
    case Family::kArithmetic:
    case Family::kMultiplyAdd:
    case Family::kCarry:
    case Family::kSpecialFunction:
    case Family::kCompare:
    case Family::kLogic:
    case Family::kShift:
    case Family::kConvert:
    case Family::kMove:
    case Family::kVideo: return true;
    default: return false;
  }
}

bool may_wait(const Instruction& in) {
  if (family(in) == Family::kAtomic || family(in) == Family::kMbarrier) return true;
  if (in.op == Op::k_nanosleep) return true;
  if (family(in) != Family::kLoad) return false;
  auto order = in.of(ModifierGroup::kOrder);
  return (order && *order != Modifier::kWeak) || in.has(Modifier::kMmio) || in.has(Modifier::kCv);
}

}  // namespace quern::vgpu
