// Floating point of 32 and 64 bits (PTX ISA 9.7.3). Rounding to nearest is LLVM's own, exact by IEEE 754; the other
// modes go through the processor's (slow.cc). Subnormals are kept unless .ftz flushes operands and result.
#include "vgpu/emit.h"

namespace quern::vgpu {

using ptx::Modifier;
using ptx::ModifierGroup;
using ptx::Op;
using ptx::Type;

Value Emit::flushed(const Value& v) {
  if (v.type != "float") return v;
  Value size = ir.intrinsic("llvm.fabs", {v});
  Value small = ir.compare("fcmp olt", size, Ir::real("float", 0x00800000));
  return ir.select(small, ir.intrinsic("llvm.copysign", {Ir::real("float", 0), v}), v);
}

Value Emit::float_operand(size_t i) {
  Value v = read(i);
  return in->has(Modifier::kFtz) ? flushed(v) : v;
}

Value Emit::float_result(Value v) {
  if (in->has(Modifier::kFtz)) v = flushed(v);
  if (in->has(Modifier::kSat)) {
    // NaN becomes 0, and so does -0.
    Value zero = Ir::zero(v.type), one = Ir::real(v.type, v.type == "float" ? 0x3f800000u : 0x3ff0000000000000u);
    Value above = ir.select(ir.compare("fcmp ogt", v, zero), v, zero);
    v = ir.select(ir.compare("fcmp olt", above, one), above, one);
  }
  return v;
}

namespace {

bool directed_rounding(const ptx::Instruction& in) {
  auto mode = in.of(ModifierGroup::kRounding);
  return mode && *mode != Modifier::kRn;
}

bool half(Type t) { return ptx::row(t).bits == 16; }

}  // namespace

void Emit::float_arithmetic() {
  Type t = in->type();
  if (half(t)) return half_arithmetic();
  if (in->types.size() > 1 || t == Type::k_f32x2) return half_arithmetic();
  if (directed_rounding(*in)) return directed();
  if (in->op == Op::k_neg || in->op == Op::k_abs) {
    Value v = float_operand(1);
    return write(0,
                 in->op == Op::k_abs ? ir.intrinsic("llvm.fabs", {v}) : ir.let(v.type, v.vector, "fneg {}", v.typed()));
  }
  Value a = float_operand(1), b = float_operand(2);
  switch (in->op) {
    case Op::k_add: return write(0, float_result(ir.op("fadd", a, b)));
    case Op::k_sub: return write(0, float_result(ir.op("fsub", a, b)));
    case Op::k_mul: return write(0, float_result(ir.op("fmul", a, b)));
    case Op::k_div: return write(0, float_result(ir.op("fdiv", a, b)));  // .approx and .full allow 2 ulp; this has none
    case Op::k_copysign: return write(0, ir.intrinsic("llvm.copysign", {b, a}));
    case Op::k_min:
    case Op::k_max: {
      std::vector<Value> v = {a, b};
      if (in->operands.size() > 3) v.push_back(float_operand(3));
      return write(0, minimum(v, in->op == Op::k_min));
    }
    default: unsupported();
  }
}

// Of two or three.
Value Emit::minimum(const std::vector<Value>& v, bool min) {
  int bits = bits_of(v[0].type);
  std::string integer = fmt::format("i{}", bits);
  auto absolute = [&](const Value& x) { return in->has(Modifier::kAbs) ? ir.intrinsic("llvm.fabs", {x}) : x; };
  auto least = [&](const Value& x, const Value& y) {
    // -0 is below +0: of numbers that compare equal the one with (or without) the sign is taken.
    Value equal = ir.bits_to(ir.op(min ? "or" : "and", ir.bits_to(x, integer), ir.bits_to(y, integer)), x.type);
    Value r = ir.select(ir.compare(min ? "fcmp olt" : "fcmp ogt", x, y), x, y);
    r = ir.select(ir.compare("fcmp oeq", x, y), equal, r);
    Value x_nan = ir.compare("fcmp uno", x, x), y_nan = ir.compare("fcmp uno", y, y);
    Value canonical = Ir::real(x.type, bits == 32 ? 0x7fffffffu : 0x7fffffffffffffffu);
    if (in->has(Modifier::kNaN)) return ir.select(ir.op("or", x_nan, y_nan), canonical, r);
    r = ir.select(y_nan, x, ir.select(x_nan, y, r));
    return ir.select(ir.op("and", x_nan, y_nan), canonical, r);
  };
  Value r = absolute(v[0]);
  for (size_t i = 1; i < v.size(); ++i) r = least(r, absolute(v[i]));
  if (!in->has(Modifier::kXorsign)) return r;
  Value sign = ir.bits_to(v[0], integer);
  for (size_t i = 1; i < v.size(); ++i) sign = ir.op("xor", sign, ir.bits_to(v[i], integer));
  sign = ir.op("and", sign, Ir::number(integer, bits == 32 ? 0x80000000 : INT64_MIN));
  Value body = ir.bits_to(ir.intrinsic("llvm.fabs", {r}), integer);
  return ir.bits_to(ir.op("or", body, sign), r.type);
}

void Emit::float_multiply_add() {
  Type t = in->type();
  if (half(t) || t == Type::k_f32x2 || in->types.size() > 1) return half_arithmetic();
  if (directed_rounding(*in)) return directed();
  Value a = float_operand(1), b = float_operand(2), c = float_operand(3);
  write(0, float_result(ir.intrinsic("llvm.fma", {a, b, c})));
}

}  // namespace quern::vgpu
