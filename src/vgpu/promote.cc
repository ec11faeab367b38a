// .param variables that are only written and read whole, as registers.
#include <map>
#include <set>

#include "vgpu/inliner.h"

namespace quern::vgpu {
namespace {

using ptx::Function;
using ptx::Instruction;
using ptx::Op;
using ptx::Operand;
using ptx::OperandKind;
using ptx::Space;
using ptx::SymbolKind;

int count_of(const Instruction& in) {
  auto v = in.of(ptx::ModifierGroup::kVector);
  return !v ? 1 : *v == ptx::Modifier::kV2 ? 2 : *v == ptx::Modifier::kV4 ? 4 : 8;
}

}  // namespace

void promote(Function& f) {
  // Pieces of each variable by offset and size, as far as they don't overlap.
  std::map<int32_t, std::map<int64_t, int64_t>> pieces;
  std::set<int32_t> kept;
  auto local = [&](const Operand& o) {
    return o.reg == ptx::kNone && o.symbol.index != ptx::kNone && o.symbol.kind == SymbolKind::kLocal &&
           (o.kind == OperandKind::kAddress || o.kind == OperandKind::kSymbol) &&
           f.variables[static_cast<size_t>(o.symbol.index)].space == Space::kParam;
  };
  auto keep = [&](const Operand& o, auto& self) -> void {
    if (local(o)) kept.insert(o.symbol.index);
    for (const Operand& part : o.parts) self(part, self);
  };
  auto is_access = [&](const Instruction& in) {
    size_t at = in.op == Op::k_st ? 0 : 1;
    return (in.op == Op::k_ld || in.op == Op::k_st) && in.operands[at].kind == OperandKind::kAddress &&
           local(in.operands[at]) && ptx::row(in.type()).size() <= 64;
  };
  for (const Instruction& in : f.instructions) {
    if (!is_access(in)) {
      for (const Operand& o : in.operands) keep(o, keep);
      continue;
    }
    const Operand& o = in.operands[in.op == Op::k_st ? 0 : 1];
    int64_t size = ptx::row(in.type()).size() / 8;
    for (int i = 0; i < count_of(in); ++i) {
      auto [at, fresh] = pieces[o.symbol.index].emplace(o.value + i * size, size);
      if (at->second != size) kept.insert(o.symbol.index);
    }
  }
  for (auto& [variable, list] : pieces) {
    int64_t end = 0;
    for (auto [at, size] : list) {
      if (at < end) kept.insert(variable);
      end = std::max(end, at + size);
    }
  }
  std::map<std::pair<int32_t, int64_t>, int32_t> registers;
  auto register_of = [&](int32_t variable, int64_t at, int64_t size) {
    auto [found, fresh] = registers.emplace(std::pair(variable, at), static_cast<int32_t>(f.registers.size()));
    if (fresh) f.registers.push_back({"%param" + std::to_string(f.registers.size()), bits_type(size)});
    return found->second;
  };
  std::vector<Instruction> out;
  std::vector<int32_t> moved(f.instructions.size() + 1);
  for (size_t i = 0; i < f.instructions.size(); ++i) {
    moved[i] = static_cast<int32_t>(out.size());
    Instruction& in = f.instructions[i];
    bool store = in.op == Op::k_st;
    if (!is_access(in) || kept.count(in.operands[store ? 0 : 1].symbol.index)) {
      out.push_back(std::move(in));
      continue;
    }
    const Operand& o = in.operands[store ? 0 : 1];
    const Operand& value = in.operands[store ? 1 : 0];
    int64_t size = ptx::row(in.type()).size() / 8;
    for (int k = 0; k < count_of(in); ++k) {
      const Operand& part = value.kind == OperandKind::kVector ? value.parts[static_cast<size_t>(k)] : value;
      Operand reg;
      reg.kind = OperandKind::kRegister;
      reg.reg = register_of(o.symbol.index, o.value + k * size, size);
      Instruction move;
      // A conversion where the register is wider than what is stored of it, with the sign that a load extends by.
      auto bits_of = [&](const Operand& x) {
        return x.kind == OperandKind::kRegister ? ptx::row(f.registers[static_cast<size_t>(x.reg)].type).size()
                                                : static_cast<int>(size * 8);
      };
      bool same = bits_of(part) == size * 8;
      move.op = same ? Op::k_mov : Op::k_cvt;
      move.guard = in.guard, move.line = in.line, move.location = in.location;
      ptx::Type whole = size == 1   ? ptx::Type::k_u8
                        : size == 2 ? ptx::Type::k_u16
                        : size == 4 ? ptx::Type::k_u32
                                    : ptx::Type::k_u64;
      if (same) {
        move.types = {bits_type(size)};
      } else if (store) {
        move.types = {whole, bits_of(part) == 64   ? ptx::Type::k_u64
                             : bits_of(part) == 32 ? ptx::Type::k_u32
                                                   : ptx::Type::k_u16};
      } else {
        bool sign = ptx::row(in.type()).kind == ptx::TypeKind::kSigned;
        ptx::Type from = sign ? size == 1 ? ptx::Type::k_s8 : size == 2 ? ptx::Type::k_s16 : ptx::Type::k_s32 : whole;
        ptx::Type to = bits_of(part) == 64   ? sign ? ptx::Type::k_s64 : ptx::Type::k_u64
                       : bits_of(part) == 32 ? sign ? ptx::Type::k_s32 : ptx::Type::k_u32
                       : sign                ? ptx::Type::k_s16
                                             : ptx::Type::k_u16;
        move.types = {to, from};
      }
      move.operands = store ? std::vector<Operand>{reg, part} : std::vector<Operand>{part, reg};
      out.push_back(std::move(move));
    }
  }
  moved.back() = static_cast<int32_t>(out.size());
  for (ptx::Label& label : f.labels) label.instruction = moved[static_cast<size_t>(label.instruction)];
  f.instructions = std::move(out);
  // What is a register now takes no memory.
  for (size_t v = 0; v < f.variables.size(); ++v) {
    if (f.variables[v].space == Space::kParam && !kept.count(static_cast<int32_t>(v)))
      f.variables[v].space = Space::kReg;
  }
}

}  // namespace quern::vgpu
