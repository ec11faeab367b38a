// Dot products of small types that AVX-512 has instructions for: vdpbf16ps takes two bf16 of each operand a lane,
// vpdpbusd four bytes, unsigned times signed, into i32. What is taken together are neighbouring positions of the
// innermost strip, in both operands alike; where there is no neighbour it is zero on both sides.
//
// Panels need no interleaving for it: two rows of 16 bits become lanes of 32 by a widening load, a shift and an or,
// once for all rows of the register block. LLVM has no pattern that leads to either instruction, so the intrinsics are
// named.
#include <fmt/format.h>

#include "target/x86/emitter.h"

namespace quern::target {

using tile::Expr;
using tile::Op;

// How many positions an instruction takes, or 1.
int Emitter::taken_together(const Accumulator& a) const {
  const Expr& e = *a.reduction;
  const Type& type = a.values[0].type;
  if (e.op != Op::kDot || type.lanes != 16) return 1;
  ScalarType x = e.args[0]->type, y = e.args[1]->type;
  if (cpu_.bf16_dot && type.base == Base::f32 && x == ScalarType::bf16 && y == ScalarType::bf16) return 2;
  bool bytes = (x == ScalarType::u8 && y == ScalarType::i8) || (x == ScalarType::i8 && y == ScalarType::u8);
  return cpu_.int8_dot && type.base == Base::i32 && bytes ? 4 : 1;
}

// One instruction a position of the accumulator, for the strip's positions that are pending.
void Emitter::take_pending(Accumulator& a) {
  if (a.pending.empty()) return;
  const Expr& e = *a.reduction;
  int width = 32 / taken_together(a);
  auto operand = [&](const tile::ExprPtr& x, size_t position) {
    Value packed;
    for (size_t i = 0; i < a.pending.size(); ++i) {
      at_ = a.pending[i];
      for (const tile::NestAxis& n : nest_axes_) {
        if (n.role != tile::AxisRole::kStrip) {
          at_[static_cast<size_t>(n.axis)] = a.positions[position][static_cast<size_t>(n.axis)];
        }
      }
      Value v = value(x);
      auto mask = axes_[static_cast<size_t>(lane_axis_)].strip ? lane_mask() : std::nullopt;
      if (mask) v = w_.select(*mask, spread(v), constant({v.type.base, lanes_}, 0));
      v = w_.convert("zext", v, Base::i32);
      if (i > 0) v = w_.binary("shl", v, constant(v.type, static_cast<int64_t>(i) * width));
      if (i > 0) both(packed, v);
      packed = i == 0 ? v : w_.binary("or", packed, v);
    }
    std::string as = width == 16 ? "<32 x bfloat>" : "<64 x i8>";
    Value lanes = w_.splat(packed, 16);
    Value out = w_.pure(lanes.type, fmt::format("bitcast {} to {}", lanes.typed(), as), {lanes});
    return as + " " + out.name;
  };
  for (size_t p = 0; p < a.positions.size(); ++p) {
    Value& into = a.values[p * static_cast<size_t>(a.parts) + static_cast<size_t>(a.turn % a.parts)];
    std::string x = operand(e.args[0], p), y = operand(e.args[1], p);
    if (e.args[0]->type == ScalarType::i8) std::swap(x, y);  // the unsigned one first
    std::string_view name = width == 16 ? "llvm.x86.avx512bf16.dpbf16ps.512" : "llvm.x86.avx512.vpdpbusd.512";
    std::string_view operand_type = width == 16 ? "<32 x bfloat>" : "<64 x i8>";
    std::string type = text(into.type);
    w_.module().declarations.insert(fmt::format("declare {0} @{1}({0}, {2}, {2})", type, name, operand_type));
    into = w_.effect(into.type, fmt::format("call {} @{}({}, {}, {})", type, name, into.typed(), x, y));
  }
  ++a.turn;
  a.pending.clear();
}

}  // namespace quern::target
