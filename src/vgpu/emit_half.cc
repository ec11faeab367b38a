// Reals of 16 bits, alone or in pairs, pairs of f32, and forms that mix widths (PTX ISA 9.7.4, 9.7.5, 9.7.3.3 to .6).
// Each element is widened, computed with and rounded once. A sum of two f16 or bf16 that is rounded to f32 first comes
// out the same, since f32 has twice their digits and two more (Figueroa, 1995); products of f16 are exact in f32, those
// of bf16 in f64; what is added to a product is added to odd (real.h).
#include "vgpu/emit.h"

namespace quern::vgpu {

using ptx::Family;
using ptx::Modifier;
using ptx::ModifierGroup;
using ptx::Op;
using ptx::Type;

namespace {

bool bfloat(Type t) { return t == Type::k_bf16 || t == Type::k_bf16x2; }
bool half(Type t) { return ptx::row(t).kind == ptx::TypeKind::kFloat && ptx::row(t).bits == 16; }
Value i16(int64_t n) { return Ir::number("i16", n); }

}  // namespace

std::vector<Value> Emit::elements(const ptx::Operand& operand, int bits, int count) {
  Value all = read_bits(operand, bits * count);
  std::vector<Value> out;
  for (int i = 0; i < count; ++i) {
    Value v = i ? ir.op("lshr", all, Ir::number(all.type, int64_t{i} * bits)) : all;
    out.push_back(ir.resize(v, fmt::format("i{}", bits), false));
  }
  return out;
}

Value Emit::packed(const std::vector<Value>& v) {
  int bits = bits_of(v[0].type);
  std::string type = fmt::format("i{}", bits * static_cast<int>(v.size()));
  Value all = ir.resize(v[0], type, false);
  for (size_t i = 1; i < v.size(); ++i) {
    Value up = ir.op("shl", ir.resize(v[i], type, false), Ir::number(type, static_cast<int64_t>(i) * bits));
    all = ir.op("or", all, up);
  }
  return all;
}

Value Emit::half_flushed(Type type, const Value& bits) {
  Value size = ir.op("and", bits, i16(0x7fff));
  Value small = ir.compare("icmp ult", size, i16(bfloat(type) ? 0x0080 : 0x0400));
  return ir.select(small, ir.op("and", bits, i16(INT16_MIN)), bits);
}

Value Emit::half_operand(Type type, const Value& bits) {
  return from_half(ir, type, in->has(Modifier::kFtz) ? half_flushed(type, bits) : bits, target.f16c);
}

Value Emit::half_result(Type type, Value v) {
  Value zero = Ir::real("float", 0), one = Ir::real("float", 0x3f800000);
  if (in->has(Modifier::kRelu)) v = ir.select(ir.compare("fcmp ole", v, zero), zero, v);
  if (in->has(Modifier::kSat)) {  // NaN becomes 0
    v = ir.select(ir.compare("fcmp ogt", v, zero), v, zero);
    v = ir.select(ir.compare("fcmp olt", v, one), v, one);
  }
  Value bits = to_half(ir, type, v, Round::kNearest, target.f16c);
  return in->has(Modifier::kFtz) ? half_flushed(type, bits) : bits;
}

// One operation on elements, as a float that rounds to the right result.
Value Emit::half_operation(Op op, Type type, const std::vector<Value>& v) {
  auto wide = [&](const Value& x) { return ir.cast("fpext", x, "double"); };
  switch (op) {
    case Op::k_add: return ir.op("fadd", v[0], v[1]);
    case Op::k_sub: return ir.op("fsub", v[0], v[1]);
    case Op::k_mul:
      if (!bfloat(type)) return ir.op("fmul", v[0], v[1]);
      return double_to_odd_float(ir, ir.op("fmul", wide(v[0]), wide(v[1])));
    case Op::k_fma: {
      if (!bfloat(type)) return sum_to_odd(ir, ir.op("fmul", v[0], v[1]), v[2]);
      Value p = ir.op("fmul", wide(v[0]), wide(v[1]));
      return double_to_odd_float(ir, sum_to_odd(ir, p, wide(v[2])));
    }
    case Op::k_min:
    case Op::k_max: return minimum(v, op == Op::k_min);
    case Op::k_ex2: return exponential(v[0]);
    case Op::k_tanh: return hyperbolic_tangent(v[0]);
    default: unsupported(); return v[0];
  }
}

void Emit::half_arithmetic() {
  if (ptx::row(in->op).family == Family::kCompare) return half_compare();
  Type t = in->type();
  if (t == Type::k_f32x2) return float_pairs();
  if (in->types.size() > 1) return mixed_arithmetic();
  if (in->has(Modifier::kOob) || round_of(*in) != Round::kNearest) return unsupported();
  int count = ptx::row(t).lanes;
  if (in->op == Op::k_neg || in->op == Op::k_abs) {
    std::vector<Value> all = elements(in->operands[1], 16, count);
    for (Value& v : all) {
      if (in->has(Modifier::kFtz)) v = half_flushed(t, v);
      v = in->op == Op::k_neg ? ir.op("xor", v, i16(INT16_MIN)) : ir.op("and", v, i16(0x7fff));
    }
    return write(0, packed(all));
  }
  std::vector<std::vector<Value>> operands;
  for (size_t i = 1; i < in->operands.size(); ++i) operands.push_back(elements(in->operands[i], 16, count));
  std::vector<Value> results;
  for (size_t e = 0; e < static_cast<size_t>(count); ++e) {
    std::vector<Value> v;
    for (const auto& o : operands) v.push_back(half_operand(t, o[e]));
    results.push_back(half_result(t, half_operation(in->op, t, v)));
  }
  write(0, packed(results));
}

// add.f32.f16 and its kin: what is narrow is widened, the rest is f32.
void Emit::mixed_arithmetic() {
  Type wide = in->type(0), narrow = in->type(1);
  if (wide != Type::k_f32 || !half(narrow)) return unsupported();
  std::vector<Value> v;
  size_t last = in->operands.size() - 1;
  for (size_t i = 1; i < last; ++i) v.push_back(from_half(ir, narrow, read_bits(in->operands[i], 16), target.f16c));
  v.push_back(read(in->operands[last], wide));
  write(0, float_result(rounded(in->op, v, round_of(*in))));
}

void Emit::float_pairs() {
  std::vector<std::vector<Value>> operands;
  for (size_t i = 1; i < in->operands.size(); ++i) operands.push_back(elements(in->operands[i], 32, 2));
  std::vector<Value> results;
  for (size_t e = 0; e < 2; ++e) {
    std::vector<Value> v;
    for (const auto& o : operands) {
      Value x = ir.bits_to(o[e], "float");
      v.push_back(in->has(Modifier::kFtz) ? flushed(x) : x);
    }
    results.push_back(ir.bits_to(float_result(rounded(in->op, v, round_of(*in))), "i32"));
  }
  write(0, packed(results));
}

// Pairs give two predicates, or the halves of a result.
void Emit::half_compare() {
  const auto& o = in->operands;
  Type t = in->op == Op::k_set ? in->type(1) : in->type(0);
  int count = ptx::row(t).lanes;
  size_t first = in->pair_results ? 2 : 1;
  std::vector<Value> a = elements(o[first], 16, count), b = elements(o[first + 1], 16, count), found;
  auto join = in->of(ModifierGroup::kBoolean);
  Value with = join && o.size() > first + 2 ? predicate(o[first + 2]) : Value{};
  auto joined = [&](const Value& r) {
    if (with.empty()) return r;
    return ir.op(*join == Modifier::kAnd ? "and" : *join == Modifier::kOr ? "or" : "xor", r, with);
  };
  for (size_t e = 0; e < static_cast<size_t>(count); ++e) {
    found.push_back(comparison(*in->of(ModifierGroup::kCompare), t, half_operand(t, a[e]), half_operand(t, b[e])));
  }
  if (in->op == Op::k_setp) {
    write(0, joined(found[0]));
    if (in->pair_results) write(1, joined(count > 1 ? found[1] : ir.logical_not(found[0])));
    return;
  }
  std::vector<Value> results;
  for (const Value& r : found) results.push_back(set_value(joined(r), in->type(0), count));
  write(0, packed(results));
}

// What `set` writes for true: all ones, or 1.0.
Value Emit::set_value(const Value& is, Type type, int parts) {
  int bits = ptx::row(type).size() / parts;
  std::string to = fmt::format("i{}", bits);
  int64_t one = -1;
  if (ptx::row(type).kind == ptx::TypeKind::kFloat) one = bfloat(type) ? 0x3f80 : bits == 16 ? 0x3c00 : 0x3f800000;
  return ir.select(is, Ir::number(to, one), Ir::number(to, 0));
}

}  // namespace quern::vgpu
