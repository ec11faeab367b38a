// Copies that the chip does on the side (PTX ISA 9.7.9.25) and the barriers that tell of them (9.7.13.15). A copy is
// done when it is issued, which is one of the orders that the manual allows, so that waiting for groups is nothing.
#include <cstddef>

#include "vgpu/emit.h"
#include "vgpu/mbarrier.h"
#include "vgpu/traits.h"

namespace quern::vgpu {

using ptx::Modifier;
using ptx::ModifierGroup;
using ptx::Op;
using ptx::Operand;
using ptx::OperandKind;
using ptx::Space;

void Emit::async_copy() {
  if (in->op == Op::k_cp_async_bulk) return bulk_copy();
  if (in->op != Op::k_cp_async) return;  // commit_group, wait_group, wait_all; prefetches
  auto bytes = constant(in->operands[2]);
  if (!bytes || (*bytes != 4 && *bytes != 8 && *bytes != 16)) return unsupported();
  Address to = address(in->operands[0], Space::kShared), from = address(in->operands[1], Space::kGlobal);
  Mask m = mask();
  // How much of it is read: all, or as many bytes as an operand says, or nothing where a predicate says so.
  size_t count = in->operands.size() - (in->has(Modifier::kL2CacheHint) ? 1 : 0);
  if (count <= 3) return copy_lanes(to, from, *bytes, m);
  const Operand& o = in->operands[3];
  bool predicate_given =
      o.kind == OperandKind::kRegister && function.registers[static_cast<size_t>(o.reg)].type == ptx::Type::k_pred;
  Value size = Ir::number("i32", *bytes), given;
  if (predicate_given) {
    given = ir.select(ir.splat(predicate(o)), Ir::number("i32", 0), size);
  } else {
    if (constant(o) == *bytes) return copy_lanes(to, from, *bytes, m);
    given = ir.splat(read_bits(o, 32));
  }
  Value whole = ir.compare("icmp uge", given, size);
  Value all = m.full ? whole : ir.op("and", whole, m.lanes);
  Value part = ir.logical_not(whole);
  if (!m.full) part = ir.op("and", part, m.lanes);
  std::string some = ir.label("whole"), rest = ir.label("rest"), less = ir.label("less"), done = ir.label("copied");
  ir.branch(ir.any(all), some, rest);
  ir.begin(some);
  copy_lanes(to, from, *bytes, {.full = false, .lanes = all});
  ir.jump(rest);
  ir.begin(rest);
  ir.branch(ir.any(part), less, done);
  ir.begin(less);
  copy_parts(to, from, *bytes, given, {.full = false, .lanes = part});
  ir.jump(done);
  ir.begin(done);
}

void Emit::copy_lanes(const Address& to, const Address& from, int64_t bytes, const Mask& m) {
  auto simple = [](const Address& a) { return a.kind == Shape::kPattern; };
  if (simple(to) && simple(from)) {
    return store_elements(to, load_elements(from, 32, static_cast<int>(bytes / 4), m), m);
  }
  auto vector = [&](const Address& a) {
    return Address{.kind = Shape::kVarying, .all = address_vector(a), .shared = a.shared};
  };
  Address source = from.kind == Shape::kIndexed ? from : vector(from), target_at = simple(to) ? to : vector(to);
  check(source, bytes, false, m);
  check(target_at, bytes, true, m);
  std::string reads = spill(address_vector(source));
  std::string writes = simple(to) && m.full ? std::string{} : spill(address_vector(target_at));
  std::string type = fmt::format("<{} x i32>", bytes / 4);
  auto copy = [&](const Value& lane, const std::string& to_pointer) {
    std::string p = ir.pointer(spilled(reads, {"", "i64", true}, lane));
    Value v = ir.let("i32", false, "load {}, ptr {}, align 4", type, p);
    ir.line("store {} {}, ptr {}, align 4", type, v.text, to_pointer);
  };
  auto to_lane = [&](const Value& lane) { return ir.pointer(spilled(writes, {"", "i64", true}, lane)); };
  if (m.full) {
    std::string base = simple(to) ? ir.pointer(to.base) : std::string{};
    for (int l = 0; l < kLanes; ++l) {
      Value lane = Ir::number("i32", l);
      copy(lane, simple(to) ? ir.offset(base, to.lanes[static_cast<size_t>(l)]) : to_lane(lane));
    }
  } else {
    each_lane(m, [&](const Value& lane) { copy(lane, to_lane(lane)); });
  }
  mark_written(target_at, bytes, m);
}

// Lanes that read fewer bytes than they write; the others are zeros.
void Emit::copy_parts(const Address& to, const Address& from, int64_t bytes, const Value& given, const Mask& m) {
  Address target_at{.kind = Shape::kVarying, .all = address_vector(to), .shared = to.shared};
  check(target_at, bytes, true, m);
  std::string reads = spill(address_vector(from)), writes = spill(target_at.all), sizes = spill(given);
  std::string at = ir.slot("i64");
  each_lane(m, [&](const Value& lane) {
    Value to_address = spilled(writes, {"", "i64", true}, lane), from_address = spilled(reads, {"", "i64", true}, lane);
    ir.line("store <{0} x i32> zeroinitializer, ptr {1}, align 4", bytes / 4, ir.pointer(to_address));
    Value size = ir.resize(spilled(sizes, given, lane), "i64", false);
    Mask own{.full = false, .lanes = ir.mask_of_bits(ir.op("shl", Ir::number("i32", 1), lane))};
    std::string loop = ir.label("byte"), turn = ir.label("one"), over = ir.label("bytes");
    ir.line("store i64 0, ptr {}", at);
    ir.jump(loop);
    ir.begin(loop);
    Value i = ir.let("i64", false, "load i64, ptr {}", at);
    ir.branch(ir.compare("icmp ult", i, size), turn, over);
    ir.begin(turn);
    Address one{.kind = Shape::kUniform, .base = ir.op("add", from_address, i)};
    check(one, 1, false, own);
    ir.store(ir.load("i8", false, ir.pointer(one.base), 1), ir.pointer(ir.op("add", to_address, i)), 1);
    ir.line("store i64 {}, ptr {}", ir.op("add", i, Ir::number("i64", 1)).text, at);
    ir.jump(loop);
    ir.begin(over);
  });
  mark_written(target_at, bytes, m);
}

void Emit::mbarrier() {
  Mask m = mask();
  if (in->op == Op::k_mbarrier_pending_count) {
    Value state = read_bits(in->operands[1], 64);
    return write(0, ir.resize(ir.op("and", state, Ir::number("i64", kMbarrierMost)), "i32", false));
  }
  size_t at = result_count(*in);
  const Operand& object = in->operands[at];
  auto operand = [&](size_t i, int64_t otherwise) {
    if (at + i >= in->operands.size()) return Ir::number("i64", otherwise);
    return ir.resize(read_bits(in->operands[at + i], 32), "i64", false);
  };
  Address a = address(object, in->space());
  if (a.kind == Shape::kWide || a.kind == Shape::kIndexed)
    a = {.kind = Shape::kVarying, .all = address_vector(a), .shared = a.shared};
  Mbarrier what = Mbarrier::kTest;
  Value given = Ir::number("i64", 0), bytes = Ir::number("i64", 0);
  switch (in->op) {
    case Op::k_mbarrier_init: what = Mbarrier::kInit, given = operand(1, 1); break;
    case Op::k_mbarrier_inval: return check(a, 8, true, m);
    case Op::k_mbarrier_expect_tx: what = Mbarrier::kExpect, given = operand(1, 0); break;
    case Op::k_mbarrier_complete_tx: what = Mbarrier::kComplete, given = operand(1, 0); break;
    case Op::k_mbarrier_arrive:
    case Op::k_mbarrier_arrive_drop:
      what = in->op == Op::k_mbarrier_arrive ? Mbarrier::kArrive : Mbarrier::kDrop;
      if (in->has(Modifier::kExpectTx)) {
        bytes = operand(1, 0), given = Ir::number("i64", 1);
      } else {
        given = operand(1, 1);
      }
      break;
    case Op::k_cp_async_mbarrier_arrive:
      // Copies are done, so the arrival comes at once; without .noinc it was one more that was expected.
      if (!in->has(Modifier::kNoinc)) return check(a, 8, true, m);
      what = Mbarrier::kArrive, given = Ir::number("i64", 1);
      break;
    case Op::k_mbarrier_test_wait:
    case Op::k_mbarrier_try_wait:
      given = in->has(Modifier::kParity) ? operand(1, 0) : read_bits(in->operands[at + 1], 64);
      break;
    default: return unsupported();
  }
  if (what != Mbarrier::kInit) check(a, 8, false, m);
  if (what != Mbarrier::kTest) check(a, 8, true, m);
  std::string call = ir.slot(fmt::format("[{} x i8]", sizeof(MbarrierCall)), 64);
  auto field = [&](size_t offset) { return ir.offset(call, static_cast<int64_t>(offset)); };
  ir.store(Ir::number("i32", static_cast<int32_t>(what)), field(offsetof(MbarrierCall, operation)), 4);
  ir.store(Ir::number("i32", in->has(Modifier::kParity)), field(offsetof(MbarrierCall, parity)), 4);
  ir.store(address_vector(a), field(offsetof(MbarrierCall, address)), 8);
  ir.store(ir.splat(given), field(offsetof(MbarrierCall, operand)), 8);
  ir.store(ir.splat(bytes), field(offsetof(MbarrierCall, bytes)), 8);
  service(Service::kMbarrier, mask_bits(m), call);
  if (what == Mbarrier::kInit) mark_written(a, 8, m);
  if (!at) return;
  Value result = ir.load("i64", true, field(offsetof(MbarrierCall, result)), 8);
  if (what != Mbarrier::kTest) return write(0, result);
  Value done = ir.compare("icmp ne", result, Ir::number("i64", 0));
  if (in->op == Op::k_mbarrier_try_wait) {
    // Whoever would wait lets the others run, and looks once more.
    Value missing = ir.logical_not(done);
    if (!m.full) missing = ir.op("and", missing, m.lanes);
    std::string wait = ir.label("wait"), on = ir.label("waited");
    ir.branch(ir.any(missing), wait, on);
    ir.begin(wait);
    service(Service::kYield, mask_bits(m));
    service(Service::kMbarrier, mask_bits(m), call);
    ir.jump(on);
    ir.begin(on);
    result = ir.load("i64", true, field(offsetof(MbarrierCall, result)), 8);
    done = ir.compare("icmp ne", result, Ir::number("i64", 0));
  }
  write(0, done);
}

}  // namespace quern::vgpu
