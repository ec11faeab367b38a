// Comparisons and what is chosen by them (PTX ISA 9.7.6, 9.7.7), moves and addresses (9.7.9).
#include <cstddef>

#include "vgpu/emit.h"

namespace quern::vgpu {

using ptx::Modifier;
using ptx::ModifierGroup;
using ptx::Op;
using ptx::OperandKind;
using ptx::Space;
using ptx::Type;
using ptx::TypeKind;

Value Emit::comparison(Modifier how, Type type, const Value& a, const Value& b) {
  const ptx::TypeRow& t = ptx::row(type);
  if (t.kind == TypeKind::kFloat) {
    switch (how) {
      case Modifier::kEq: return ir.compare("fcmp oeq", a, b);
      case Modifier::kNe: return ir.compare("fcmp one", a, b);
      case Modifier::kLt: return ir.compare("fcmp olt", a, b);
      case Modifier::kLe: return ir.compare("fcmp ole", a, b);
      case Modifier::kGt: return ir.compare("fcmp ogt", a, b);
      case Modifier::kGe: return ir.compare("fcmp oge", a, b);
      case Modifier::kEqu: return ir.compare("fcmp ueq", a, b);
      case Modifier::kNeu: return ir.compare("fcmp une", a, b);
      case Modifier::kLtu: return ir.compare("fcmp ult", a, b);
      case Modifier::kLeu: return ir.compare("fcmp ule", a, b);
      case Modifier::kGtu: return ir.compare("fcmp ugt", a, b);
      case Modifier::kGeu: return ir.compare("fcmp uge", a, b);
      case Modifier::kNum: return ir.compare("fcmp ord", a, b);
      case Modifier::kNan: return ir.compare("fcmp uno", a, b);
      default: unsupported("a comparison of integers"); return Ir::number("i1", 0);
    }
  }
  bool sign = t.kind == TypeKind::kSigned;
  switch (how) {
    case Modifier::kEq: return ir.compare("icmp eq", a, b);
    case Modifier::kNe: return ir.compare("icmp ne", a, b);
    case Modifier::kLt: return ir.compare(sign ? "icmp slt" : "icmp ult", a, b);
    case Modifier::kLe: return ir.compare(sign ? "icmp sle" : "icmp ule", a, b);
    case Modifier::kGt: return ir.compare(sign ? "icmp sgt" : "icmp ugt", a, b);
    case Modifier::kGe: return ir.compare(sign ? "icmp sge" : "icmp uge", a, b);
    case Modifier::kCompareLo: return ir.compare("icmp ult", a, b);
    case Modifier::kLs: return ir.compare("icmp ule", a, b);
    case Modifier::kCompareHi: return ir.compare("icmp ugt", a, b);
    case Modifier::kHs: return ir.compare("icmp uge", a, b);
    default: unsupported("a comparison of reals"); return Ir::number("i1", 0);
  }
}

void Emit::compare() {
  const auto& o = in->operands;
  Type t = in->op == Op::k_set ? in->type(1) : in->type(0);
  if (in->op == Op::k_selp) {
    int bits = ptx::row(t).size();
    return write(0, ir.select(predicate(o[3]), read_bits(o[1], bits), read_bits(o[2], bits)));
  }
  if (in->op == Op::k_slct) {
    int bits = ptx::row(t).size();
    Type by = in->type(1);
    Value c = read(o[3], by);
    if (ptx::row(by).kind == TypeKind::kFloat && in->has(Modifier::kFtz)) c = flushed(c);
    Value yes = ptx::row(by).kind == TypeKind::kFloat ? ir.compare("fcmp oge", c, Ir::zero("float"))
                                                      : ir.compare("icmp sge", c, Ir::number(c.type, 0));
    return write(0, ir.select(yes, read_bits(o[1], bits), read_bits(o[2], bits)));
  }
  bool half = ptx::row(t).kind == TypeKind::kFloat && ptx::row(t).bits == 16;
  if (half) return half_arithmetic();
  if (in->op == Op::k_testp) {
    Value v = read(1);
    std::string type = v.type;
    int bits = bits_of(type);
    Value size = ir.intrinsic("llvm.fabs", {v});
    uint64_t inf = bits == 32 ? 0x7f800000u : 0x7ff0000000000000u,
             least = bits == 32 ? 0x00800000u : 0x0010000000000000u;
    Value infinite = Ir::real(type, inf), normal = Ir::real(type, least);
    auto is = [&](std::string_view how, const Value& x) { return ir.compare(how, size, x); };
    switch (*in->of(ModifierGroup::kTest)) {
      case Modifier::kFinite: return write(0, is("fcmp olt", infinite));
      case Modifier::kInfinite: return write(0, is("fcmp oeq", infinite));
      case Modifier::kNumber: return write(0, is("fcmp ord", size));
      case Modifier::kNotanumber: return write(0, is("fcmp uno", size));
      case Modifier::kNormal: return write(0, ir.op("and", is("fcmp oge", normal), is("fcmp olt", infinite)));
      default: return write(0, ir.op("and", is("fcmp olt", normal), ir.compare("fcmp one", size, Ir::zero(type))));
    }
  }
  size_t first = in->pair_results ? 2 : 1;
  // Where all lanes of a pattern compare alike, its base stands for them (shape.cc: compared_alike).
  bool one = false;
  for (size_t i = 0; i < first; ++i)
    one |= o[i].kind == OperandKind::kRegister && shapes_.of[static_cast<size_t>(o[i].reg)].scalar();
  bool alike = one && in->op == Op::k_setp && shape(o[first]).kind == Shape::kPattern;
  auto get = [&](size_t i) {
    if (alike && i == first) return pattern_base(o[i]);
    Value v = read(o[i], t);
    return in->has(Modifier::kFtz) ? flushed(v) : v;
  };
  Value r = comparison(*in->of(ModifierGroup::kCompare), t, get(first), get(first + 1));
  Value other = in->pair_results ? ir.logical_not(r) : Value{};
  if (auto join = in->of(ModifierGroup::kBoolean); join && o.size() > first + 2) {
    const char* how = *join == Modifier::kAnd ? "and" : *join == Modifier::kOr ? "or" : "xor";
    Value with = predicate(o[first + 2]);
    r = ir.op(how, r, with);
    if (!other.empty()) other = ir.op(how, other, with);
  }
  if (in->op == Op::k_set) {
    return write(0, set_value(r, in->type(), 1));
  }
  write(0, r);
  if (in->pair_results) write(1, other);
}

void Emit::move() {
  const auto& o = in->operands;
  int bits = in->types.empty() ? 64 : ptx::row(in->type()).size();
  switch (in->op) {
    case Op::k_mov: return write(0, in->type() == Type::k_pred ? predicate(o[1]) : read_bits(o[1], bits));
    case Op::k_cvta: {
      Value v = read_bits(o[1], bits);
      bool to = in->has(Modifier::kTo);
      if (in->space() == Space::kShared) {
        Value base = ir.resize(warp_field(offsetof(Warp, shared), "i64"), v.type, false);
        v = ir.op(to ? "sub" : "add", v, base);
      } else if (in->space() == Space::kLocal) {
        std::array<int64_t, 32> lanes;
        for (size_t l = 0; l < 32; ++l) lanes[l] = static_cast<int64_t>(l) * frame_.local_bytes;
        Value base =
            ir.op("add", ir.resize(warp_field(offsetof(Warp, local), "i64"), v.type, false), Ir::lanes(v.type, lanes));
        Value r = ir.op(to ? "sub" : "add", v, base);
        // A generic address that all lanes share less what each of them starts at: the analysis knows it as one number
        // only where the lanes' parts cancel.
        if (shapes_.of[static_cast<size_t>(o[0].reg)].scalar()) {
          Value b = ir.resize(warp_field(offsetof(Warp, local), "i64"), v.type, false);
          Value first = v.vector ? ir.element(v, Ir::number("i64", 0)) : v;
          r = ir.op("sub", first, b);
        }
        v = r;
      }
      return write(0, v);
    }
    case Op::k_isspacep: {
      Value v = read_bits(o[1], 64);
      auto within = [&](const Value& base, int64_t size) {
        return ir.compare("icmp ult", ir.op("sub", v, base), Ir::number("i64", size));
      };
      switch (in->space()) {
        case Space::kShared: return write(0, within(warp_field(offsetof(Warp, shared), "i64"), int64_t{1} << 32));
        case Space::kLocal:
          return write(0,
                       within(warp_field(offsetof(Warp, local), "i64"), std::max<int64_t>(frame_.local_bytes * 32, 1)));
        case Space::kGlobal: {
          Value shared = within(warp_field(offsetof(Warp, shared), "i64"), int64_t{1} << 32);
          Value local = within(warp_field(offsetof(Warp, local), "i64"), std::max<int64_t>(frame_.local_bytes * 32, 1));
          Value all = within(Ir::number("i64", static_cast<int64_t>(target.space.first)),
                             static_cast<int64_t>(target.space.bytes));
          return write(0, ir.op("and", all, ir.logical_not(ir.op("or", shared, local))));
        }
        default: return write(0, Ir::number("i1", 0));
      }
    }
    default: unsupported();
  }
}

}  // namespace quern::vgpu
