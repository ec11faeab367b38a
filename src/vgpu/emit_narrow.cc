// Conversions from and to reals of 16 bits and fewer, and tf32 (PTX ISA 9.7.9.21), and cvt.pack (9.7.9.22). All go by
// way of f32: what is wider is rounded to odd on the way, so that one rounding is left.
#include <algorithm>

#include "vgpu/emit.h"

namespace quern::vgpu {

using ptx::Modifier;
using ptx::ModifierGroup;
using ptx::Type;
using ptx::TypeKind;

namespace {

Value i32(int64_t n) { return Ir::number("i32", n); }

bool is_real(Type t) { return ptx::row(t).kind == TypeKind::kFloat; }

// The exponents alone: 2^(code - 127). The sign is not looked at.
Value narrow_exponent(Ir& ir, const Value& v, Round round, bool satfinite) {
  Value size = ir.op("and", ir.bits_to(v, "i32"), i32(0x7fffffff));
  Value nan = ir.compare("icmp ugt", size, i32(0x7f800000));
  // 0 stands for 2^-127, which is half of the least normal float.
  Value code = ir.op("lshr", size, i32(23));
  if (round == Round::kUp) {
    Value up = ir.op("lshr", ir.op("add", size, i32(0x7fffff)), i32(23));
    Value least = ir.compare("icmp ule", size, i32(0x00400000));
    code = ir.select(least, i32(0), up);
  }
  Value large = ir.compare("icmp ugt", code, i32(0xfe));
  code = ir.select(large, i32(satfinite ? 0xfe : 0xff), code);
  return ir.select(nan, i32(0xff), code);
}

}  // namespace

// A value of any type but f64 and integers of more than 24 bits as a float, exactly; those to odd.
Value Emit::as_float(const ptx::Operand& o, Type from) {
  const ptx::TypeRow& f = ptx::row(from);
  switch (f.kind) {
    case TypeKind::kFloat:
      if (from == Type::k_f64) return double_to_odd_float(ir, read(o, from));
      if (from == Type::k_f32) {
        Value v = read(o, from);
        return in->has(Modifier::kFtz) ? flushed(v) : v;
      }
      if (f.bits == 16) {
        Value bits = read_bits(o, 16);
        // Of f32's flag only: f16 is never flushed by a conversion.
        return from_half(ir, from, bits, target.f16c);
      }
      if (from == Type::k_tf32) return ir.bits_to(read_bits(o, 32), "float");
      unsupported();
      return Ir::real("float", 0);
    default:
      return double_to_odd_float(ir, integer_to_odd_double(ir, read_bits(o, f.size()), f.kind == TypeKind::kSigned));
  }
}

// Clamped as .relu and .sat ask, which no rounding undoes.
Value Emit::clamped(Value v) {
  Value zero = Ir::real("float", 0), one = Ir::real("float", 0x3f800000);
  if (in->has(Modifier::kRelu)) v = ir.select(ir.compare("fcmp ole", v, zero), zero, v);
  if (in->has(Modifier::kSat)) {
    v = ir.select(ir.compare("fcmp ogt", v, zero), v, zero);
    v = ir.select(ir.compare("fcmp olt", v, one), v, one);
  }
  return v;
}

// The code of one element in an i32.
Value Emit::narrowed(Type to, const Value& v, const Value& random, int random_bits) {
  Round round = round_of(*in);
  bool satfinite = in->has(Modifier::kSatfinite);
  Value x = clamped(v);
  if (to == Type::k_ue8m0x2) return narrow_exponent(ir, x, round, satfinite);
  bool plain = ptx::row(to).bits == 16 && round == Round::kNearest && !satfinite;
  if (plain) return ir.resize(to_half(ir, to, x, round, target.f16c), "i32", false);
  return narrow_real(ir, *real_format(to), x, round, satfinite, random, random_bits);
}

void Emit::convert_narrow() {
  Type to = in->type(0), from = in->type(1);
  const ptx::TypeRow &t = ptx::row(to), &f = ptx::row(from);
  auto rounding = in->of(ModifierGroup::kRounding);
  if (!is_real(to)) return write_integer(as_float(in->operands[1], from), to, from);
  bool narrow = real_format(to) || to == Type::k_ue8m0x2;
  if (t.lanes > 1) return narrow_packed();
  if (f.lanes > 1) return unsupported();
  Value v = as_float(in->operands[1], from);
  if (rounding && *rounding >= Modifier::kRni && *rounding <= Modifier::kRpi) {
    v = ir.intrinsic(integer_rounding(*rounding), {v});
  }
  if (!narrow) {
    if (to == Type::k_f64) return write(0, float_result(ir.cast("fpext", clamped(v), "double")));
    return write(0, float_result(v));
  }
  Value code = narrowed(to, v, {}, 0);
  if (to == Type::k_tf32) code = ir.op("shl", code, i32(13));
  write(0, to == Type::k_tf32 ? code : ir.resize(code, fmt::format("i{}", t.register_bits()), false));
}

const char* Emit::integer_rounding(Modifier how) {
  switch (how) {
    case Modifier::kRni: return "llvm.roundeven";
    case Modifier::kRmi: return "llvm.floor";
    case Modifier::kRpi: return "llvm.ceil";
    default: return "llvm.trunc";
  }
}

// Several at once. Of scalar sources the first goes highest.
void Emit::narrow_packed() {
  Type to = in->type(0), from = in->type(1);
  const ptx::TypeRow &t = ptx::row(to), &f = ptx::row(from);
  int each = t.register_bits() / t.lanes;  // six-bit formats lie in bytes
  if (t.bits == 4) each = 4;
  std::vector<Value> values;  // the lowest first
  if (f.lanes > 1) {
    int source = f.bits == 6 ? 8 : f.bits;
    for (const Value& code : elements(in->operands[1], source, f.lanes)) {
      Value wide = ir.resize(code, "i32", false);
      if (f.bits == 16) {
        values.push_back(from_half(ir, from, code, target.f16c));
      } else if (from == Type::k_ue8m0x2) {
        Value v = ir.select(ir.compare("icmp eq", wide, i32(0)), i32(0x00400000), ir.op("shl", wide, i32(23)));
        v = ir.select(ir.compare("icmp eq", wide, i32(0xff)), i32(0x7fffffff), v);
        values.push_back(ir.bits_to(v, "float"));
      } else if (const RealFormat* format = real_format(from)) {
        values.push_back(widen_real(ir, *format, wide));
      } else {
        return unsupported();
      }
    }
  } else {
    std::vector<ptx::Operand> sources;
    if (in->operands[1].kind == ptx::OperandKind::kVector) {
      sources = in->operands[1].parts;
    } else {
      sources.assign(in->operands.begin() + 1, in->operands.begin() + 1 + t.lanes);
    }
    for (auto s = sources.rbegin(); s != sources.rend(); ++s) values.push_back(as_float(*s, from));
  }
  if (static_cast<int>(values.size()) != t.lanes || (!real_format(to) && to != Type::k_ue8m0x2)) return unsupported();
  // Random bits: the upper half of the operand for the upper values, the lower half for the lower ones.
  bool random = round_of(*in) == Round::kRandom;
  Value given = random ? read_bits(in->operands.back(), 32) : Value{};
  std::vector<Value> codes;
  for (size_t i = 0; i < values.size(); ++i) {
    bool upper = i >= values.size() / 2;
    int count = to == Type::k_f16x2 ? 13 : t.bits == 4 ? 8 : 16;
    Value part;
    if (random) {
      // Of e2m1x4 a pair shares a byte of each half.
      int at = t.bits == 4 ? (upper ? 8 : 0) + (i % 2 ? 16 : 0) : upper ? 16 : 0;
      part = ir.op("and", ir.op("lshr", given, i32(at)), i32((1 << count) - 1));
    }
    codes.push_back(ir.resize(narrowed(to, values[i], part, count), fmt::format("i{}", std::max(each, 8)), false));
  }
  if (each < 8) {
    Value all;
    for (size_t i = 0; i < codes.size(); ++i) {
      Value wide = ir.op("shl", ir.resize(codes[i], "i32", false), i32(static_cast<int64_t>(i) * each));
      all = i ? ir.op("or", all, wide) : wide;
    }
    return write(0, ir.resize(all, fmt::format("i{}", t.register_bits()), false));
  }
  write(0, packed(codes));
}

// Two integers, clamped to the type, above what is left of a third.
void Emit::convert_pack() {
  const ptx::TypeRow& t = ptx::row(in->type(0));
  bool sign = t.kind == TypeKind::kSigned;
  int64_t most = sign ? (int64_t{1} << (t.bits - 1)) - 1 : (int64_t{1} << t.bits) - 1;
  auto part = [&](size_t operand) {
    Value v = read_bits(in->operands[operand], 32);
    v = ir.intrinsic("llvm.smin", {v, i32(most)});
    v = ir.intrinsic("llvm.smax", {v, i32(sign ? -most - 1 : 0)});
    return ir.op("and", v, i32((int64_t{1} << t.bits) - 1));
  };
  Value both = ir.op("or", ir.op("shl", part(1), i32(t.bits)), part(2));
  if (in->operands.size() > 3) {
    both = ir.op("or", both, ir.op("shl", read_bits(in->operands[3], 32), i32(2 * t.bits)));
  }
  write(0, both);
}

}  // namespace quern::vgpu
