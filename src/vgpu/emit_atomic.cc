// Atomics (PTX ISA 9.7.13): lane after lane, in the order of their numbers. In shared memory, which only the block's
// own warps see, and they take turns, a plain read and write do; elsewhere the processor's atomics are used,
// sequentially consistent, so that every order and scope holds.
#include <cstddef>

#include "vgpu/emit.h"

namespace quern::vgpu {

using ptx::Modifier;
using ptx::ModifierGroup;
using ptx::Op;
using ptx::Type;
using ptx::TypeKind;

namespace {

bool real(Type t) { return ptx::row(t).kind == TypeKind::kFloat; }

}  // namespace

// What is stored where `old` was; both as integers of the access's size.
Value Emit::atomic_result(const Value& old, const Value& b, const Value& c) {
  Type t = in->type();
  bool sign = ptx::row(t).kind == TypeKind::kSigned;
  std::string type = old.type;
  auto number = [&](int64_t n) { return Ir::number(type, n); };
  auto as_real = [&](const char* how) {
    std::string r = llvm_type(t);
    Value x = ir.bits_to(old, r), y = ir.bits_to(b, r);
    return ir.bits_to(ir.op(how, x, y), type);
  };
  switch (*in->of(ModifierGroup::kOperation)) {
    case Modifier::kOpAdd: return real(t) ? as_real("fadd") : ir.op("add", old, b);
    case Modifier::kOpMin: return ir.intrinsic(sign ? "llvm.smin" : "llvm.umin", {old, b});
    case Modifier::kOpMax: return ir.intrinsic(sign ? "llvm.smax" : "llvm.umax", {old, b});
    case Modifier::kOpAnd: return ir.op("and", old, b);
    case Modifier::kOpOr: return ir.op("or", old, b);
    case Modifier::kOpXor: return ir.op("xor", old, b);
    case Modifier::kOpExch: return b;
    case Modifier::kOpCas: return ir.select(ir.compare("icmp eq", old, b), c, old);
    case Modifier::kOpInc: return ir.select(ir.compare("icmp uge", old, b), number(0), ir.op("add", old, number(1)));
    case Modifier::kOpDec: {
      Value wraps = ir.op("or", ir.compare("icmp eq", old, number(0)), ir.compare("icmp ugt", old, b));
      return ir.select(wraps, b, ir.op("sub", old, number(1)));
    }
    default: unsupported(); return old;
  }
}

void Emit::atomic() {
  bool result = in->op == Op::k_atom;
  if (in->op != Op::k_atom && in->op != Op::k_red) return unsupported();
  Type t = in->type();
  int bits = ptx::row(t).size();
  bool narrow = ptx::row(t).lanes > 1 || (real(t) && ptx::row(t).bits < 32);
  if (in->of(ModifierGroup::kVector) || narrow || bits == 128) return atomic_packed();
  size_t first = result ? 1 : 0;
  auto space = in->space();
  Address a = address(in->operands[first], space);
  Mask m = mask();
  // An exchange may be the first to write; mostly nobody looks at what was there.
  bool exchange = in->of(ModifierGroup::kOperation) == Modifier::kOpExch;
  if (!exchange) check(a, bits / 8, false, m);
  check(a, bits / 8, true, m);
  Value b = read_bits(in->operands[first + 1], bits);
  Value c;
  bool cas = in->of(ModifierGroup::kOperation) == Modifier::kOpCas;
  if (cas) c = read_bits(in->operands[first + 2], bits);
  std::string type = fmt::format("i{}", bits);
  std::string addresses = spill(address_vector(a)), bs = spill(b), cs = cas ? spill(c) : "";
  std::string olds = result ? ir.slot(fmt::format("[32 x {}]", type), 64) : "";
  if (result) ir.store(Ir::zero(type, true), olds, 8);
  each_lane(m, [&](const Value& lane) {
    std::string p = ir.pointer(spilled(addresses, {"", "i64", true}, lane));
    Value x = spilled(bs, b, lane), y = cas ? spilled(cs, c, lane) : Value{};
    Value old = a.shared ? ir.load(type, false, p, bits / 8) : Value{};
    if (a.shared) {
      ir.store(atomic_result(old, x, y), p, bits / 8);
    } else {
      old = atomic_in_memory(p, x, y);
    }
    if (result) {
      Value to = ir.let("ptr", false, "getelementptr {}, ptr {}, i32 {}", type, olds, lane.text);
      ir.store(old, to.text, bits / 8);
    }
  });
  if (exchange) mark_written(a, bits / 8, m);
  if (result) write(0, ir.load(type, true, olds, 8));
}

Value Emit::atomic_in_memory(const std::string& p, const Value& b, const Value& c) {
  Type t = in->type();
  bool sign = ptx::row(t).kind == TypeKind::kSigned;
  auto one = [&](const char* how, const Value& v) {
    return ir.let(v.type, false, "atomicrmw {} ptr {}, {} seq_cst", how, p, v.typed());
  };
  switch (*in->of(ModifierGroup::kOperation)) {
    case Modifier::kOpAdd:
      if (real(t)) return ir.bits_to(one("fadd", ir.bits_to(b, llvm_type(t))), b.type);
      return one("add", b);
    case Modifier::kOpMin: return one(sign ? "min" : "umin", b);
    case Modifier::kOpMax: return one(sign ? "max" : "umax", b);
    case Modifier::kOpAnd: return one("and", b);
    case Modifier::kOpOr: return one("or", b);
    case Modifier::kOpXor: return one("xor", b);
    case Modifier::kOpExch: return one("xchg", b);
    case Modifier::kOpInc: return one("uinc_wrap", b);
    case Modifier::kOpDec: return one("udec_wrap", b);
    case Modifier::kOpCas: {
      Value both = ir.let("", false, "cmpxchg ptr {}, {}, {} seq_cst seq_cst", p, b.typed(), c.typed());
      return ir.let(b.type, false, "extractvalue {{ {}, i1 }} {}, 0", b.type, both.text);
    }
    default: unsupported(); return b;
  }
}

}  // namespace quern::vgpu
