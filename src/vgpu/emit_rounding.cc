// Rounding to zero, down and up (PTX ISA 9.7.3). Of f32 by way of f64, where products are exact, sums are made to odd,
// and quotients and roots can't come so near a float that rounding them hides on which side of it they lie: a quotient
// of 24-bit numbers that isn't a float differs from every float by 2^-48 of itself, and f64 rounds at 2^-53. Of f64 by
// a C++ function with the processor's rounding set (slow.h).
#include <cstddef>

#include "vgpu/emit.h"
#include "vgpu/slow.h"

namespace quern::vgpu {

using ptx::Op;
using ptx::Type;
using ptx::TypeKind;

Value Emit::rounded(Op op, const std::vector<Value>& v, Round round) {
  bool real64 = v[0].type == "double";
  Value one = Ir::real(v[0].type, real64 ? 0x3ff0000000000000u : 0x3f800000u);
  auto negated = [&](const Value& x) { return ir.let(x.type, x.vector, "fneg {}", x.typed()); };
  if (round == Round::kNearest) {
    switch (op) {
      case Op::k_add: return ir.op("fadd", v[0], v[1]);
      case Op::k_sub: return ir.op("fsub", v[0], v[1]);
      case Op::k_mul: return ir.op("fmul", v[0], v[1]);
      case Op::k_div: return ir.op("fdiv", v[0], v[1]);
      case Op::k_rcp: return ir.op("fdiv", one, v[0]);
      case Op::k_sqrt: return ir.intrinsic("llvm.sqrt", {v[0]});
      case Op::k_mad:
      case Op::k_fma: return ir.intrinsic("llvm.fma", {v[0], v[1], v[2]});
      default: unsupported(); return v[0];
    }
  }
  if (op == Op::k_sub) return rounded(Op::k_add, {v[0], negated(v[1])}, round);
  if (op == Op::k_rcp) return rounded(Op::k_div, {one, v[0]}, round);
  if (op == Op::k_mad) op = Op::k_fma;
  if (real64) {
    switch (op) {
      case Op::k_add: return slow(Slow::kAdd, v, round, "double");
      case Op::k_mul: return slow(Slow::kMultiply, v, round, "double");
      case Op::k_div: return slow(Slow::kDivide, v, round, "double");
      case Op::k_sqrt: return slow(Slow::kSquareRoot, v, round, "double");
      case Op::k_fma: return slow(Slow::kMultiplyAdd, v, round, "double");
      default: unsupported(); return v[0];
    }
  }
  // A sum that is zero has the sign that the direction gives it, which two-sum knows only for the upward one.
  if (round == Round::kDown && (op == Op::k_add || op == Op::k_fma)) {
    std::vector<Value> minus = v;
    minus[0] = negated(v[0]);
    minus.back() = negated(v.back());
    return negated(rounded(op, minus, Round::kUp));
  }
  std::vector<Value> d;
  for (const Value& x : v) d.push_back(ir.cast("fpext", x, "double"));
  switch (op) {
    case Op::k_add: return double_to_float(ir, sum_to_odd(ir, d[0], d[1]), round);
    case Op::k_mul: return double_to_float(ir, ir.op("fmul", d[0], d[1]), round);
    case Op::k_div: return double_to_float(ir, ir.op("fdiv", d[0], d[1]), round);
    case Op::k_sqrt: return double_to_float(ir, ir.intrinsic("llvm.sqrt", {d[0]}), round);
    case Op::k_fma: return double_to_float(ir, sum_to_odd(ir, ir.op("fmul", d[0], d[1]), d[2]), round);
    default: unsupported(); return v[0];
  }
}

Value Emit::slow(Slow what, const std::vector<Value>& v, Round round, const std::string& type) {
  bool vector = false;
  for (const Value& x : v) vector |= x.vector;
  std::string call = ir.slot(fmt::format("[{} x i64]", sizeof(SlowCall) / 8), 64);
  auto at = [&](size_t offset) { return ir.offset(call, static_cast<int64_t>(offset)); };
  ir.store(Ir::number("i32", static_cast<int>(what)), at(offsetof(SlowCall, function)), 4);
  ir.store(Ir::number("i32", static_cast<int>(round)), at(offsetof(SlowCall, round)), 4);
  ir.store(Ir::number("i32", vector ? 32 : 1), at(offsetof(SlowCall, lanes)), 4);
  for (size_t i = 0; i < v.size(); ++i) {
    Value x = ir.resize(ir.bits_to(v[i], fmt::format("i{}", bits_of(v[i].type))), "i64", false);
    ir.store(vector ? ir.splat(x) : x, at(offsetof(SlowCall, operands) + i * sizeof(SlowCall::operands[0])), 8);
  }
  service(Service::kCall, Ir::number("i32", 0), call);
  Value r = ir.load("i64", vector, at(offsetof(SlowCall, result)), 8);
  return ir.bits_to(ir.resize(r, fmt::format("i{}", bits_of(type)), false), type);
}

void Emit::directed() {
  Round round = round_of(*in);
  if (in->op != Op::k_cvt) {
    std::vector<Value> v;
    for (size_t i = 1; i < in->operands.size(); ++i) v.push_back(float_operand(i));
    return write(0, float_result(rounded(in->op, v, round)));
  }
  Type to = in->type(0), from = in->type(1);
  const ptx::TypeRow& f = ptx::row(from);
  if (f.kind == TypeKind::kFloat)
    return write(0, float_result(double_to_float(ir, read(in->operands[1], from), round)));
  bool sign = f.kind == TypeKind::kSigned;
  Value v = read_bits(in->operands[1], f.size());
  if (to == Type::k_f32) return write(0, float_result(double_to_float(ir, integer_to_odd_double(ir, v, sign), round)));
  if (f.size() <= 32) return write(0, float_result(ir.cast(sign ? "sitofp" : "uitofp", v, "double")));
  write(0, float_result(slow(sign ? Slow::kFromSigned : Slow::kFromUnsigned, {v}, round, "double")));
}

}  // namespace quern::vgpu
