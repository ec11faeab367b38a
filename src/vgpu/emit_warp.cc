// What lanes of a warp do together: exchange, votes, barriers and fences (PTX ISA 9.7.9.6, 9.7.13). All lanes of a warp
// are values of one function, so an exchange is a permutation of a vector.
#include <cstddef>

#include "vgpu/emit.h"

namespace quern::vgpu {

using ptx::Modifier;
using ptx::ModifierGroup;
using ptx::Op;
using ptx::Type;

namespace {

std::array<int64_t, 32> numbered() {
  std::array<int64_t, 32> out;
  for (size_t l = 0; l < 32; ++l) out[l] = static_cast<int64_t>(l);
  return out;
}

}  // namespace

void Emit::shuffle() {
  size_t first = in->pair_results ? 2 : 1;
  Value a = ir.splat(read_bits(in->operands[first], 32));
  Value b = read_bits(in->operands[first + 1], 32), c = read_bits(in->operands[first + 2], 32);
  Value lane = Ir::lanes("i32", numbered());
  auto number = [&](int64_t n) { return Ir::number("i32", n); };
  // The manual's pseudo code: the segment's mask and clamp are in c, 5 bits each.
  Value bval = ir.op("and", b, number(31)), cval = ir.op("and", c, number(31));
  Value mask = ir.op("and", ir.op("lshr", c, number(8)), number(31));
  Value inverse = ir.op("xor", mask, number(31));
  Value most = ir.op("or", ir.op("and", lane, mask), ir.op("and", cval, inverse));
  Value least = ir.op("and", lane, mask);
  Value from, valid;
  switch (*in->of(ModifierGroup::kShuffle)) {
    case Modifier::kUp:
      from = ir.op("sub", lane, bval);
      valid = ir.compare("icmp sge", from, most);
      break;
    case Modifier::kDown:
      from = ir.op("add", lane, bval);
      valid = ir.compare("icmp sle", from, most);
      break;
    case Modifier::kBfly:
      from = ir.op("xor", lane, bval);
      valid = ir.compare("icmp sle", from, most);
      break;
    default: from = ir.op("or", least, ir.op("and", bval, inverse)); valid = ir.compare("icmp sle", from, most);
  }
  Value source = ir.select(valid, from, lane);
  auto cb = constant(in->operands[first + 1]), cc = constant(in->operands[first + 2]);
  Value r;
  if (cb && cc) {  // a constant permutation
    std::vector<int> which;
    int64_t m = *cc >> 8 & 31, cv = *cc & 31, bv = *cb & 31;
    for (int64_t l = 0; l < 32; ++l) {
      int64_t hi = (l & m) | (cv & ~m & 31), j = 0;
      bool p = false;
      switch (*in->of(ModifierGroup::kShuffle)) {
        case Modifier::kUp: j = l - bv, p = j >= hi; break;
        case Modifier::kDown: j = l + bv, p = j <= hi; break;
        case Modifier::kBfly: j = l ^ bv, p = j <= hi; break;
        default: j = (l & m) | (bv & ~m & 31), p = j <= hi;
      }
      which.push_back(static_cast<int>(p ? j : l));
    }
    r = ir.shuffle(a, 32, which);
  } else {
    std::string slot = spill(a);
    Value at = ir.let("ptr", true, "getelementptr i32, ptr {}, {}", slot, ir.splat(source).typed());
    r = gather("i32", at, {.full = true}, 4);
  }
  write(0, r);
  if (in->pair_results) write(1, valid);
}

// The lanes that act together with each lane: those here that its mask names. One number, unless lanes name different
// masks in one instruction, as parts of a partition do.
Value Emit::companions(const Mask& m) {
  Value here = mask_bits(m);
  if (!in->has(Modifier::kSync) || shape(in->operands.back()).scalar()) return here;
  return ir.op("and", read_bits(in->operands.back(), 32), here);
}

// `reduce` of each group of lanes, which get the result.
Value Emit::of_each_group(const Value& groups, const Mask& m, const std::function<Value(const Mask&)>& reduce) {
  if (!groups.vector) return reduce(m);
  std::string all = spill(groups), result = ir.slot("[32 x i32]", 128);
  ir.store(Ir::zero("i32", true), result, 128);
  Value lowest = ir.op("and", groups, ir.op("sub", Ir::number("i32", 0), groups));
  std::array<int64_t, 32> own;
  for (size_t l = 0; l < 32; ++l) own[l] = int64_t{1} << l;
  Value leads = ir.op("and", ir.compare("icmp eq", lowest, Ir::lanes("i32", own)), mask_lanes(m));
  each_lane({false, leads}, [&](const Value& lane) {
    Value members = ir.mask_of_bits(spilled(all, groups, lane));
    Value r = ir.splat(reduce({false, members}));
    ir.store(ir.select(members, r, ir.load("i32", true, result, 128)), result, 128);
  });
  return ir.load("i32", true, result, 128);
}

// Of the lanes of `m`, i32.
Value Emit::reduced(const char* how, const Value& v, int64_t neutral, const Mask& m) {
  Value x = m.full ? v : ir.select(m.lanes, v, Ir::number("i32", neutral));
  ir.declare(fmt::format("declare i32 @llvm.vector.reduce.{}.v32i32(<32 x i32>)", how));
  return ir.let("i32", false, "call i32 @llvm.vector.reduce.{}.v32i32({})", how, x.typed());
}

// Floats in the order of integers: the bits of those below zero turned around, so that -0 comes right before +0. NaNs
// are left out, or make the result one.
void Emit::reduce_floats(const Mask& m) {
  auto number = [](int64_t n) { return Ir::number("i32", n); };
  auto operation = in->of(ModifierGroup::kOperation);
  if (operation != Modifier::kOpMin && operation != Modifier::kOpMax) return unsupported();
  bool min = operation == Modifier::kOpMin;
  auto turned = [&](const Value& v) {
    return ir.op("xor", v, ir.op("and", ir.op("ashr", v, number(31)), number(0x7fffffff)));
  };
  Value bits = ir.splat(read_bits(in->operands[1], 32));
  Value size = ir.op("and", bits, number(0x7fffffff));
  Value nan = ir.compare("icmp ugt", size, number(0x7f800000));
  int64_t neutral = min ? INT32_MAX : INT32_MIN;
  Value key = ir.select(nan, number(neutral), turned(in->has(Modifier::kAbs) ? size : bits));
  write(0, of_each_group(companions(m), m, [&](const Mask& group) {
          Value r = reduced(min ? "smin" : "smax", key, neutral, group);
          Value none = ir.compare("icmp eq", r, number(neutral));
          if (in->has(Modifier::kNaN)) {
            Value with = ir.mask_bits(nan);
            if (!group.full) with = ir.op("and", with, mask_bits(group));
            none = ir.compare("icmp ne", with, number(0));
          }
          return ir.select(none, number(0x7fffffff), turned(r));
        }));
}

void Emit::warp() {
  Mask m = mask();
  switch (in->op) {
    case Op::k_shfl: return shuffle();
    case Op::k_activemask: return write(0, mask_bits(m));
    case Op::k_vote: {
      Value p = predicate(in->operands[1]);
      Value bits = ir.mask_bits(ir.splat(p));
      Value all = companions(m);
      if (!m.full || all.vector) bits = ir.op("and", bits, all);
      switch (*in->of(ModifierGroup::kVote)) {
        case Modifier::kBallot: return write(0, bits);
        case Modifier::kAny: return write(0, ir.compare("icmp ne", bits, Ir::number("i32", 0)));
        case Modifier::kAll: return write(0, ir.compare("icmp eq", bits, all));
        default:
          return write(
              0, ir.op("or", ir.compare("icmp eq", bits, all), ir.compare("icmp eq", bits, Ir::number("i32", 0))));
      }
    }
    case Op::k_match: {
      size_t first = in->pair_results ? 2 : 1;
      int bits = ptx::row(in->type()).size();
      Value v = ir.splat(read_bits(in->operands[first], bits));
      Value all = companions(m), here = mask_bits(m);
      std::string values = spill(v), result = ir.slot("[32 x i32]", 64);
      ir.store(Ir::zero("i32", true), result, 64);
      each_lane(m, [&](const Value& lane) {
        Value same = ir.mask_bits(ir.compare("icmp eq", v, ir.splat(spilled(values, v, lane))));
        Value p = ir.let("ptr", false, "getelementptr i32, ptr {}, i32 {}", result, lane.text);
        ir.store(ir.op("and", same, here), p.text, 4);
      });
      Value found = ir.load("i32", true, result, 64);
      if (all.vector) found = ir.op("and", found, all);
      if (in->of(ModifierGroup::kVote) == Modifier::kAny) return write(0, found);
      Value whole = ir.compare("icmp eq", found, all);
      write(0, ir.select(whole, found, Ir::number("i32", 0)));
      if (in->pair_results) write(1, whole);
      return;
    }
    case Op::k_redux: {
      if (in->type() == Type::k_f32) return reduce_floats(m);
      Value v = ir.splat(read(in->operands[1], in->type()));
      if (v.type != "i32") return unsupported();
      bool sign = ptx::row(in->type()).kind == ptx::TypeKind::kSigned;
      auto reduce = [&](const char* how, int64_t neutral) {
        return of_each_group(companions(m), m, [&](const Mask& group) { return reduced(how, v, neutral, group); });
      };
      switch (*in->of(ModifierGroup::kOperation)) {
        case Modifier::kOpAdd: return write(0, reduce("add", 0));
        case Modifier::kOpMin: return write(0, sign ? reduce("smin", INT32_MAX) : reduce("umin", 0xffffffff));
        case Modifier::kOpMax: return write(0, sign ? reduce("smax", INT32_MIN) : reduce("umax", 0));
        case Modifier::kOpAnd: return write(0, reduce("and", -1));
        case Modifier::kOpOr: return write(0, reduce("or", 0));
        case Modifier::kOpXor: return write(0, reduce("xor", 0));
        default: return unsupported();
      }
    }
    case Op::k_elect: {
      ir.declare("declare i32 @llvm.cttz.i32(i32, i1)");
      Value lane = ir.let("i32", false, "call i32 @llvm.cttz.i32(i32 {}, i1 false)", mask_bits(m).text);
      write(0, lane);
      if (in->pair_results) write(1, ir.compare("icmp eq", Ir::lanes("i32", numbered()), lane));
      return;
    }
    default: unsupported();
  }
}

void Emit::barrier() {
  if (in->op == Op::k_bar_warp_sync) return;  // the block's head waited for its lanes
  if (in->op != Op::k_bar && in->op != Op::k_barrier) return unsupported();
  auto kind = in->of(ModifierGroup::kBarrier);
  bool red = kind == Modifier::kRed;
  size_t first = red ? 1 : 0;
  size_t count = in->operands.size() - first - (red ? 1 : 0);
  Value number = ir.element(read_bits(in->operands[first], 32), Ir::number("i64", 0));
  Value threads =
      count > 1 ? ir.element(read_bits(in->operands[first + 1], 32), Ir::number("i64", 0)) : Ir::number("i32", 0);
  std::string call = ir.slot("[5 x i32]", 8);
  int what = kind == Modifier::kArrive ? 1 : 0;
  Mask m = mask();
  Value wanted = Ir::number("i32", 0);
  if (red) {
    auto op = in->of(ModifierGroup::kOperation);
    what = op == Modifier::kOpPopc ? 2 : op == Modifier::kOpAnd ? 3 : 4;
    wanted = ir.mask_bits(ir.splat(predicate(in->operands.back())));
  }
  ir.store(number, call, 4);
  ir.store(threads, ir.offset(call, 4), 4);
  ir.store(Ir::number("i32", what), ir.offset(call, 8), 4);
  ir.store(wanted, ir.offset(call, 12), 4);
  service(Service::kBarrier, mask_bits(m), call);
  if (!red) return;
  Value r = ir.load("i32", false, ir.offset(call, 16), 4);
  if (what == 2) return write(0, r);
  write(0, ir.compare("icmp ne", r, Ir::number("i32", 0)));
}

void Emit::fence() { ir.line("fence seq_cst"); }

}  // namespace quern::vgpu
