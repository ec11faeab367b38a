// Special registers (PTX ISA, section 10).
#include <cstddef>

#include "vgpu/emit.h"

namespace quern::vgpu {

using ptx::Special;

namespace {

std::array<int64_t, 32> lane_numbers(int64_t (*f)(int64_t)) {
  std::array<int64_t, 32> out;
  for (int64_t l = 0; l < 32; ++l) out[static_cast<size_t>(l)] = f(l);
  return out;
}

}  // namespace

// Where the shape is a pattern, the base alone: affine() and read_bits() add the lanes.
Value Emit::special(Special s) {
  auto field = [&](size_t offset) { return warp_field(offset, "i32"); };
  auto third = [&](size_t offset, Special x) {
    return field(offset + 4 * (static_cast<size_t>(s) - static_cast<size_t>(x)));
  };
  switch (s) {
    case Special::kLaneid: return Ir::number("i32", 0);
    case Special::kTidX:
    case Special::kTidY:
    case Special::kTidZ: return thread_index(static_cast<int>(s) - static_cast<int>(Special::kTidX));
    case Special::kNtidX:
    case Special::kNtidY:
    case Special::kNtidZ: return third(offsetof(Warp, ntid), Special::kNtidX);
    case Special::kCtaidX:
    case Special::kCtaidY:
    case Special::kCtaidZ: return third(offsetof(Warp, ctaid), Special::kCtaidX);
    case Special::kNctaidX:
    case Special::kNctaidY:
    case Special::kNctaidZ: return third(offsetof(Warp, nctaid), Special::kNctaidX);
    case Special::kTidW:
    case Special::kCtaidW:
    case Special::kClusteridX:
    case Special::kClusterCtaidX:
    case Special::kClusterCtaidY:
    case Special::kClusterCtaidZ:
    case Special::kClusterCtarank:
      return s == Special::kClusteridX ? field(offsetof(Warp, ctaid)) : Ir::number("i32", 0);
    case Special::kClusteridY: return field(offsetof(Warp, ctaid) + 4);
    case Special::kClusteridZ: return field(offsetof(Warp, ctaid) + 8);
    case Special::kNclusteridX: return field(offsetof(Warp, nctaid));
    case Special::kNclusteridY: return field(offsetof(Warp, nctaid) + 4);
    case Special::kNclusteridZ: return field(offsetof(Warp, nctaid) + 8);
    case Special::kNtidW:
    case Special::kNctaidW:
    case Special::kClusterNctaidX:
    case Special::kClusterNctaidY:
    case Special::kClusterNctaidZ:
    case Special::kClusterNctarank: return Ir::number("i32", 1);
    case Special::kIsExplicitCluster: return Ir::number("i1", 0);
    case Special::kWarpid: return field(offsetof(Warp, index));
    case Special::kNwarpid: return field(offsetof(Warp, warps));
    case Special::kSmid: return field(offsetof(Warp, smid));
    case Special::kNsmid: return field(offsetof(Warp, nsmid));
    case Special::kGridid: return warp_field(offsetof(Warp, grid_id), "i64");
    case Special::kLanemaskEq: return Ir::lanes("i32", lane_numbers([](int64_t l) { return int64_t{1} << l; }));
    case Special::kLanemaskLe: return Ir::lanes("i32", lane_numbers([](int64_t l) { return (int64_t{2} << l) - 1; }));
    case Special::kLanemaskLt: return Ir::lanes("i32", lane_numbers([](int64_t l) { return (int64_t{1} << l) - 1; }));
    case Special::kLanemaskGe:
      return Ir::lanes("i32", lane_numbers([](int64_t l) { return 0xffffffff & ~((int64_t{1} << l) - 1); }));
    case Special::kLanemaskGt:
      return Ir::lanes("i32", lane_numbers([](int64_t l) { return 0xffffffff & ~((int64_t{2} << l) - 1); }));
    case Special::kEnvreg1: return field(offsetof(Warp, envreg));
    case Special::kEnvreg2: return field(offsetof(Warp, envreg) + 4);
    case Special::kDynamicSmemSize: return field(offsetof(Warp, dynamic_shared));
    case Special::kTotalSmemSize:
    case Special::kAggrSmemSize: return field(offsetof(Warp, total_shared));
    case Special::kClock:
    case Special::kClock64:
    case Special::kClockHi:
    case Special::kGlobaltimer:
    case Special::kGlobaltimerLo:
    case Special::kGlobaltimerHi: {
      // Nanoseconds, or cycles of the chip's clock; both go on while the kernel runs.
      bool timer = s == Special::kGlobaltimer || s == Special::kGlobaltimerLo || s == Special::kGlobaltimerHi;
      std::string slot = ir.slot("[2 x i64]", 8);
      ir.line("store i64 {}, ptr {}", timer ? 1 : 0, slot);
      service(Service::kClock, Ir::number("i32", 0), slot);
      Value now = ir.load("i64", false, ir.offset(slot, 8), 8);
      if (s == Special::kClockHi || s == Special::kGlobaltimerHi) now = ir.op("lshr", now, Ir::number("i64", 32));
      bool wide = s == Special::kClock64 || s == Special::kGlobaltimer;
      return wide ? now : ir.resize(now, "i32", false);
    }
    default: return Ir::number(ptx::row(s).type == ptx::Type::k_u64 ? "i64" : "i32", 0);
  }
}

// tid.x, .y, .z: what all lanes share; the lanes' part is the shape's.
Value Emit::thread_index(int which) {
  auto field = [&](size_t offset) { return warp_field(offset, "i32"); };
  Value first = ir.op("shl", field(offsetof(Warp, index)), Ir::number("i32", 5));  // of the warp's threads
  Value x = field(offsetof(Warp, ntid)), y = field(offsetof(Warp, ntid) + 4);
  switch (target.block.kind) {
    case BlockClass::kLine: return which == 0 ? first : Ir::number("i32", 0);
    case BlockClass::kRows: {
      Value row = ir.op("udiv", first, x);
      if (which == 0) return ir.op("sub", first, ir.op("mul", row, x));
      Value plane = ir.op("udiv", row, y);
      return which == 2 ? plane : ir.op("sub", row, ir.op("mul", plane, y));
    }
    case BlockClass::kNarrow: {
      if (which == 0) return Ir::number("i32", 0);
      Value row = ir.op("udiv", first, Ir::number("i32", target.block.narrow));
      Value plane = ir.op("udiv", row, y);
      return which == 2 ? plane : ir.op("sub", row, ir.op("mul", plane, y));
    }
    case BlockClass::kAny: {
      Value all = ir.op("add", first, Ir::lanes("i32", lane_numbers([](int64_t l) { return l; })));
      Value row = ir.op("udiv", all, x);
      if (which == 0) return ir.op("sub", all, ir.op("mul", row, x));
      Value plane = ir.op("udiv", row, y);
      return which == 2 ? plane : ir.op("sub", row, ir.op("mul", plane, y));
    }
  }
  return {};
}

}  // namespace quern::vgpu
