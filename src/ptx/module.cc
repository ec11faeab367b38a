#include "ptx/module.h"

#include <algorithm>

namespace quern::ptx {

bool Instruction::has(Modifier m) const { return std::ranges::find(modifiers, m) != modifiers.end(); }

std::optional<Modifier> Instruction::of(ModifierGroup group) const {
  for (Modifier m : modifiers) {
    if (row(m).group == group) return m;
  }
  return std::nullopt;
}

Space Instruction::space() const {
  auto m = of(ModifierGroup::kSpace);
  return m ? space_of(*m).value_or(Space::kGeneric) : Space::kGeneric;
}

int64_t Variable::elements() const {
  int64_t out = 1;
  for (int64_t d : dims) out *= d;
  return out;
}

int64_t Variable::bytes() const { return elements() * vector * row(type).register_bits() / 8; }

Pipe pipe(const Instruction& instruction) {
  const OpRow& r = row(instruction.op);
  bool by_type = r.pipe == Pipe::kAlu || r.pipe == Pipe::kFma || r.pipe == Pipe::kXu;
  if (!by_type || instruction.types.empty()) return r.pipe;
  auto is = [&](int bits, bool all) {
    auto fits = [&](Type t) { return row(t).kind == TypeKind::kFloat && row(t).bits == bits; };
    return all ? std::ranges::all_of(instruction.types, fits) : std::ranges::any_of(instruction.types, fits);
  };
  if (is(64, false)) return Pipe::kFp64;
  bool computes = r.family == Family::kArithmetic || r.family == Family::kMultiplyAdd;
  if (computes && is(16, true)) return Pipe::kHalf;
  bool sums = r.family == Family::kArithmetic && instruction.has(Modifier::kRn);
  if (computes && (sums || r.pipe == Pipe::kFma)) return Pipe::kFma;
  return r.pipe;
}

}  // namespace quern::ptx
