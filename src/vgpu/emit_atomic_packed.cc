// Atomics on what processors have no atomics for (PTX ISA 9.7.13.5, .6): reals of 16 bits and pairs of them, vectors,
// 128 bits. Each element is atomic by itself, as the manual says, and is changed by compare and swap.
#include "vgpu/emit.h"

namespace quern::vgpu {

using ptx::Modifier;
using ptx::ModifierGroup;
using ptx::Op;
using ptx::Operand;
using ptx::Type;

Value Emit::packed_update(const Value& old, const Value& b) {
  Type t = in->type();
  auto how = *in->of(ModifierGroup::kOperation);
  if (ptx::row(t).kind != ptx::TypeKind::kFloat || ptx::row(t).bits != 16) return atomic_result(old, b, {});
  auto halves = [&](const Value& v) {
    std::vector<Value> out = {ir.resize(v, "i16", false)};
    if (ptx::row(t).lanes > 1) out.push_back(ir.resize(ir.op("lshr", v, Ir::number(v.type, 16)), "i16", false));
    return out;
  };
  Op op = how == Modifier::kOpAdd ? Op::k_add : how == Modifier::kOpMin ? Op::k_min : Op::k_max;
  if (op == Op::k_max && how != Modifier::kOpMax) return atomic_result(old, b, {});
  std::vector<Value> x = halves(old), y = halves(b), results;
  for (size_t e = 0; e < x.size(); ++e) {
    results.push_back(half_result(t, half_operation(op, t, {half_operand(t, x[e]), half_operand(t, y[e])})));
  }
  return packed(results);
}

// `change` gives what is stored for what was there. Returns that.
Value Emit::compare_and_swap(const std::string& pointer, const std::string& type,
                             const std::function<Value(const Value&)>& change) {
  std::string seen = ir.slot(type, 16);
  int64_t size = bits_of(type) / 8;
  // The first look need not be atomic: what it gets wrong, the swap refuses.
  ir.store(ir.load(type, false, pointer, size), seen, size);
  std::string again = ir.label("swap"), done = ir.label("swapped");
  ir.jump(again);
  ir.begin(again);
  Value old = ir.load(type, false, seen, size);
  Value next = change(old);
  Value both =
      ir.let("", false, "cmpxchg ptr {}, {}, {} seq_cst seq_cst, align {}", pointer, old.typed(), next.typed(), size);
  Value now = ir.let(type, false, "extractvalue {{ {}, i1 }} {}, 0", type, both.text);
  Value ok = ir.let("i1", false, "extractvalue {{ {}, i1 }} {}, 1", type, both.text);
  ir.store(now, seen, size);
  ir.branch(ok, done, again);
  ir.begin(done);
  return old;
}

void Emit::atomic_packed() {
  bool result = in->op == Op::k_atom;
  Type t = in->type();
  int bits = ptx::row(t).size();
  auto vector = in->of(ModifierGroup::kVector);
  size_t count = !vector ? 1 : *vector == Modifier::kV2 ? 2 : *vector == Modifier::kV4 ? 4 : 8;
  size_t first = result ? 1 : 0;
  int64_t size = bits / 8, all = size * static_cast<int64_t>(count);
  std::string type = fmt::format("i{}", bits);
  Address a = address(in->operands[first], in->space());
  Mask m = mask();
  check(a, all, false, m);
  check(a, all, true, m);
  bool swap = in->of(ModifierGroup::kOperation) == Modifier::kOpCas;
  std::string addresses = spill(address_vector(a));
  auto element = [&](size_t operand, size_t i) -> const Operand& {
    const Operand& o = in->operands[operand];
    return o.kind == ptx::OperandKind::kVector ? o.parts[i] : o;
  };
  struct Kept {
    Value like;
    std::string slot;
  };
  auto kept = [&](const Operand& o) {
    Value v = read_bits(o, bits);
    return Kept{v, spill(v)};
  };
  std::vector<Kept> b;
  for (size_t i = 0; i < count; ++i) b.push_back(kept(element(first + 1, i)));
  Kept c = swap ? kept(in->operands[first + 2]) : Kept{};
  std::vector<std::string> olds;
  for (size_t i = 0; result && i < count; ++i) {
    olds.push_back(ir.slot(fmt::format("[32 x {}]", type), 64));
    ir.store(Ir::zero(type, true), olds.back(), 16);
  }
  each_lane(m, [&](const Value& lane) {
    std::string start = ir.pointer(spilled(addresses, {"", "i64", true}, lane));
    for (size_t i = 0; i < count; ++i) {
      std::string p = ir.offset(start, static_cast<int64_t>(i) * size);
      Value x = spilled(b[i].slot, b[i].like, lane), y = swap ? spilled(c.slot, c.like, lane) : Value{};
      auto change = [&](const Value& old) { return swap ? atomic_result(old, x, y) : packed_update(old, x); };
      Value old;
      if (a.shared) {
        old = ir.load(type, false, p, size);
        ir.store(change(old), p, size);
      } else {
        old = compare_and_swap(p, type, change);
      }
      if (!result) continue;
      Value to = ir.let("ptr", false, "getelementptr {}, ptr {}, i32 {}", type, olds[i], lane.text);
      ir.store(old, to.text, size);
    }
  });
  for (size_t i = 0; result && i < count; ++i) write(element(0, i), ir.load(type, true, olds[i], 16));
}

}  // namespace quern::vgpu
