// cvt (PTX ISA 9.7.9.21): integers, reals, and reals of 16 bits and fewer. Real to integer clamps; rounding is as the
// modifier says; what LLVM's default rounding can't do goes through directed().
#include "vgpu/emit.h"

namespace quern::vgpu {

using ptx::Modifier;
using ptx::ModifierGroup;
using ptx::Op;
using ptx::Type;
using ptx::TypeKind;

void Emit::convert() {
  if (in->op == Op::k_cvt_pack) return convert_pack();
  if (in->types.size() < 2) return unsupported();
  Type to = in->type(0), from = in->type(1);
  const ptx::TypeRow &t = ptx::row(to), &f = ptx::row(from);
  auto rounding = in->of(ModifierGroup::kRounding);
  bool sat = in->has(Modifier::kSat);
  bool narrow = (t.kind == TypeKind::kFloat && (t.bits < 32 || to == Type::k_tf32)) ||
                (f.kind == TypeKind::kFloat && (f.bits < 32 || from == Type::k_tf32));
  if (narrow || in->operands.size() > 2) return convert_narrow();
  if (t.kind != TypeKind::kFloat && f.kind != TypeKind::kFloat) {
    Value v = read_bits(in->operands[1], f.size());
    bool sign = f.kind == TypeKind::kSigned, to_sign = t.kind == TypeKind::kSigned;
    if (sat) {  // clamps to what the result can hold
      int wide = std::max(f.size(), t.size()) + 1 <= 64 ? 64 : 128;
      std::string w = fmt::format("i{}", wide);
      Value x = ir.resize(v, w, sign);
      uint64_t most = to_sign ? ~uint64_t{0} >> (65 - t.size()) : ~uint64_t{0} >> (64 - t.size());
      std::string high = std::to_string(most);
      std::string low = to_sign ? fmt::format("-{}", most + 1) : "0";
      x = ir.intrinsic("llvm.smin", {x, {high, w, false}});
      x = ir.intrinsic("llvm.smax", {x, {low, w, false}});
      return write_extended(in->operands[0], ir.resize(x, fmt::format("i{}", t.size()), false), to_sign);
    }
    Value r = ir.resize(v, fmt::format("i{}", t.size()), sign);
    return write_extended(in->operands[0], r, to_sign);
  }
  if (t.kind != TypeKind::kFloat) {  // real to integer
    Value v = read(in->operands[1], from);
    if (in->has(Modifier::kFtz)) v = flushed(v);
    return write_integer(v, to, from);
  }
  if (f.kind != TypeKind::kFloat) {  // integer to real
    if (rounding && *rounding != Modifier::kRn) return directed();
    Value v = read_bits(in->operands[1], f.size());
    return write(0, float_result(ir.cast(f.kind == TypeKind::kSigned ? "sitofp" : "uitofp", v, llvm_type(to))));
  }
  // Between f32 and f64, or to an integer of the same type.
  Value v = read(in->operands[1], from);
  if (in->has(Modifier::kFtz)) v = flushed(v);
  if (to == from) {
    if (rounding && *rounding >= Modifier::kRni) v = ir.intrinsic(integer_rounding(*rounding), {v});
    return write(0, float_result(v));
  }
  if (t.size() > f.size()) return write(0, float_result(ir.cast("fpext", v, llvm_type(to))));
  if (rounding && *rounding != Modifier::kRn) return directed();
  write(0, float_result(ir.cast("fptrunc", v, llvm_type(to))));
}

// NaN becomes 0; where 64 bits take part, on either side as the manual has it, the highest bit alone.
void Emit::write_integer(const Value& v, Type to, Type from) {
  const ptx::TypeRow& t = ptx::row(to);
  bool sign = t.kind == TypeKind::kSigned;
  std::string type = fmt::format("i{}", t.size());
  Value whole = ir.intrinsic(integer_rounding(in->of(ModifierGroup::kRounding).value_or(Modifier::kRzi)), {v});
  Value r = ir.convert_intrinsic(sign ? "llvm.fptosi.sat" : "llvm.fptoui.sat", whole, type);
  if (from == Type::k_f64 || t.size() == 64) {
    r = ir.select(ir.compare("fcmp uno", v, v), Ir::number(type, INT64_MIN >> (64 - t.size())), r);
  }
  write_extended(in->operands[0], r, sign);
}

}  // namespace quern::vgpu
