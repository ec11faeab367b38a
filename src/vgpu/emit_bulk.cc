// Bulk copies (PTX ISA 9.7.9.25.5): any number of 16 bytes from global memory to shared or back, done when they are
// issued. cuda::memcpy_async is one of them on chips since 9.0. A block is a cluster of its own, so that an address in
// shared::cluster is one of the block's.
#include <cstddef>

#include "vgpu/emit.h"
#include "vgpu/mbarrier.h"

namespace quern::vgpu {

using ptx::Modifier;
using ptx::ModifierGroup;
using ptx::Space;

void Emit::bulk_copy() {
  std::vector<Space> spaces;
  for (Modifier m : in->modifiers) {
    if (auto space = ptx::space_of(m)) spaces.push_back(*space);
  }
  bool tells = in->of(ModifierGroup::kCompletion) == Modifier::kMbarrierCompleteTxBytes;
  bool special = in->of(ModifierGroup::kMulticast) || in->has(Modifier::kCpMask) || in->has(Modifier::kIgnoreOob);
  if (spaces.size() != 2 || special) return unsupported();
  Mask m = mask();
  Address to = address(in->operands[0], spaces[0]), from = address(in->operands[1], spaces[1]);
  Value bytes = ir.splat(ir.resize(read_bits(in->operands[2], 32), "i64", false));
  Address object;
  if (tells) {
    object = {.kind = Shape::kVarying, .all = address_vector(address(in->operands[3], Space::kShared)), .shared = true};
    check(object, 8, false, m), check(object, 8, true, m);
  }
  copy_pieces(to, from, bytes, m);
  if (!tells) return;
  std::string call = ir.slot(fmt::format("[{} x i8]", sizeof(MbarrierCall)), 64);
  auto field = [&](size_t offset) { return ir.offset(call, static_cast<int64_t>(offset)); };
  ir.store(Ir::number("i32", static_cast<int32_t>(Mbarrier::kComplete)), field(offsetof(MbarrierCall, operation)), 4);
  ir.store(Ir::number("i32", 0), field(offsetof(MbarrierCall, parity)), 4);
  ir.store(object.all, field(offsetof(MbarrierCall, address)), 8);
  ir.store(bytes, field(offsetof(MbarrierCall, operand)), 8);
  ir.store(ir.splat(Ir::number("i64", 0)), field(offsetof(MbarrierCall, bytes)), 8);
  service(Service::kMbarrier, mask_bits(m), call);
}

// Each lane its bytes, 16 at a time. What is no multiple of 16 is found as a misaligned access: the rest moves the
// first one.
void Emit::copy_pieces(const Address& to, const Address& from, const Value& bytes, const Mask& m) {
  std::string reads = spill(address_vector(from)), writes = spill(address_vector(to)), sizes = spill(bytes);
  std::string at = ir.slot("i64");
  each_lane(m, [&](const Value& lane) {
    Value to_address = spilled(writes, {"", "i64", true}, lane), from_address = spilled(reads, {"", "i64", true}, lane);
    Value size = spilled(sizes, {"", "i64", true}, lane);
    Value rest = ir.op("and", size, Ir::number("i64", 15));
    Mask own{.full = false, .lanes = ir.mask_of_bits(ir.op("shl", Ir::number("i32", 1), lane))};
    std::string loop = ir.label("piece"), turn = ir.label("one"), over = ir.label("pieces");
    ir.line("store i64 0, ptr {}", at);
    ir.jump(loop);
    ir.begin(loop);
    Value i = ir.let("i64", false, "load i64, ptr {}", at);
    ir.branch(ir.compare("icmp ult", i, size), turn, over);
    ir.begin(turn);
    Value step = ir.op("add", i, rest);
    Address source{.kind = Shape::kUniform, .base = ir.op("add", from_address, step)};
    Address target_at{.kind = Shape::kUniform, .base = ir.op("add", to_address, step)};
    check(source, 16, false, own), check(target_at, 16, true, own);
    Value piece = ir.let("i32", false, "load <4 x i32>, ptr {}, align 4", ir.pointer(source.base));
    ir.line("store <4 x i32> {}, ptr {}, align 4", piece.text, ir.pointer(target_at.base));
    mark_written(target_at, 16, own);
    ir.line("store i64 {}, ptr {}", ir.op("add", i, Ir::number("i64", 16)).text, at);
    ir.jump(loop);
    ir.begin(over);
  });
}

}  // namespace quern::vgpu
