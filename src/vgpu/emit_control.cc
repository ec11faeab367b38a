// Control flow: blocks in order, a mask of waiting lanes a block, and how lanes part and meet (emit_chain.cc finds the
// next block with lanes).
#include <algorithm>
#include <cstddef>

#include "vgpu/emit.h"
#include "vgpu/traits.h"

namespace quern::vgpu {
namespace {

// Chains of their own for each way on are faster code, but their number, and with it the time to compile, grows with
// the square of the blocks at which lanes may wait. The kernels of bench/ have up to 17 ways; one of 78 blocks with
// barriers in loops had 4,698 and took 17 s.
// A long kernel whose blocks have a few each is none of those.
constexpr size_t kMostWays = 400, kMostWaysOfABlock = 8;

// Masks of more blocks than this lie in memory: each would live through most of the others as a register, and the time
// to find out grows with the square.
constexpr size_t kMostMasks = 500;

bool is_dense(const Flow& flow) {
  size_t ways = 0;
  for (const Block& b : flow.blocks) ways += b.waiting.size();
  return ways > kMostWays && ways > kMostWaysOfABlock * flow.blocks.size();
}

}  // namespace

using ptx::Family;
using ptx::Instruction;

std::string Emit::head(int32_t block) const { return block >= flow_.exit() ? "finish" : fmt::format("b{}", block); }

// Whether not all lanes of a whole warp need be in it.
bool Emit::masked(int32_t block) const { return !flow_.blocks[static_cast<size_t>(block)].waiting.empty(); }

// Instructions at which lanes may wait begin a block, but mostly the warp is whole and goes straight on: what takes
// LLVM time grows with the number of its blocks, and faster.
bool Emit::joined(int32_t b) const {
  if (!b || has_wait(b) || has_wait(b - 1)) return false;
  const Block& last = flow_.blocks[static_cast<size_t>(b) - 1];
  return last.ends == End::kNext && !last.spins && last.next == std::vector{b} &&
         flow_.blocks[static_cast<size_t>(b)].previous == std::vector{b - 1};
}

Value Emit::waiting(int32_t block) {
  Value v = ir.masks({});
  return ir.masks(ir.let("i1", true, "load {}, ptr %wait{}", v.full(), block).text);
}

Value Emit::block_lanes() { return block_mask_ ? *block_mask_ : ir.all_lanes(); }

void Emit::arrive(int32_t block, const Value& lanes) {
  if (block >= flow_.exit()) return ended(lanes);
  if (!has_wait(block)) return;
  ir.line("store {}, ptr %wait{}", ir.op("or", waiting(block), ir.splat(lanes)).typed(), block);
}

std::vector<int32_t> Emit::with(int32_t block, std::vector<int32_t> more) const {
  const auto& w = flow_.blocks[static_cast<size_t>(block)].waiting;
  more.insert(more.end(), w.begin(), w.end());
  std::sort(more.begin(), more.end());
  more.erase(std::unique(more.begin(), more.end()), more.end());
  return more;
}

void Emit::turn(int32_t from, int32_t to) {
  if (to > from) return;
  Value stop = ir.let("i32", false, "load volatile i32, ptr {}", warp_pointer(offsetof(Warp, stop)));
  std::string on = ir.label("on"), off = ir.label("stop");
  ir.branch_likely(ir.compare("icmp eq", stop, Ir::number("i32", 0)), on, off);
  ir.begin(off);
  leave(Service::kStop, block_mask_ ? ir.mask_bits(*block_mask_) : Ir::number("i32", 0xffffffff));
  ir.begin(on);
}

void Emit::follow(int32_t from, int32_t to) {
  turn(from, to);
  arrive(to, block_lanes());
  std::vector<int32_t> all = with(from, {to});
  around(from, to, all);
}

// Every sixteenth turn of a loop that waits, everybody else goes first.
void Emit::around(int32_t from, int32_t to, const std::vector<int32_t>& all) {
  if (!flow_.blocks[static_cast<size_t>(from)].spins || to > from) return go(all);
  Value turns = ir.let("i32", false, "load i32, ptr %turns");
  turns = ir.op("add", turns, Ir::number("i32", 1));
  ir.line("store i32 {}, ptr %turns", turns.text);
  std::string again = ir.label("again"), give = ir.label("give");
  ir.branch(ir.compare("icmp ne", ir.op("and", turns, Ir::number("i32", 15)), Ir::number("i32", 0)), again, give);
  ir.begin(give);
  service(Service::kYield, mask_bits({!block_mask_, block_lanes()}));
  if (dense_) {
    go_but(ir.mask_bits(waiting(to)));
    ir.begin(again);
    return go(all);
  }
  std::vector<int32_t> others;
  for (int32_t c : all) {
    if (c != to && c < flow_.exit()) others.push_back(c);
  }
  others.push_back(to);
  // Where lanes may part, it may be that none goes back.
  bool divergent = flow_.blocks[static_cast<size_t>(from)].divergent;
  if (divergent && all.back() >= flow_.exit()) others.push_back(flow_.exit());
  go(others);
  ir.begin(again);
  go(all);
}

// Lanes that are named in a barrier or an exchange but are elsewhere get the chance to come: the warp runs them first,
// unless they are waiting in such a place themselves.
void Emit::park(int32_t b) {
  ir.begin_instruction();
  std::vector<int32_t> others;
  for (int32_t c : flow_.blocks[static_cast<size_t>(b)].waiting) {
    if (c < flow_.exit() && c != b) others.push_back(c);
  }
  if (others.empty()) return;
  const Instruction& first = function.instructions[static_cast<size_t>(flow_.blocks[static_cast<size_t>(b)].begin)];
  Value here = ir.mask_bits(block_lanes());
  Value named = Ir::number("i32", 0xffffffff);
  bool whole = ptx::row(first.op).family == Family::kBarrier && first.op != ptx::Op::k_bar_warp_sync;
  bool all = whole || ptx::row(first.op).family == Family::kMatrix;
  if (!all && !first.operands.empty()) {
    Value m = read_bits(first.operands.back(), 32);
    if (m.vector) {  // of parts of a partition: all that anybody names
      ir.declare("declare i32 @llvm.vector.reduce.or.v32i32(<32 x i32>)");
      Value asked = ir.select(ir.splat(block_lanes()), m, Ir::number("i32", 0));
      m = ir.let("i32", false, "call i32 @llvm.vector.reduce.or.v32i32({})", asked.typed());
    }
    named = m;
  }
  Value parked = ir.let("i32", false, "load i32, ptr %parked");
  Value missing = ir.op("and", named, ir.op("xor", here, Ir::number("i32", 0xffffffff)));
  Value able = ir.op("and", missing, ir.op("xor", parked, Ir::number("i32", 0xffffffff)));
  Value come = Ir::number("i32", 0);
  if (dense_) {  // who neither is here nor has ended
    Value live = target.block.full ? Ir::number("i32", 0xffffffff) : ir.mask_bits(thread_lanes_);
    Value gone = ir.op("or", here, ir.let("i32", false, "load i32, ptr %ended"));
    come = ir.op("and", live, ir.op("xor", gone, Ir::number("i32", 0xffffffff)));
  } else {
    for (int32_t c : others) come = ir.op("or", come, ir.mask_bits(waiting(c)));
  }
  std::string wait = ir.label("park"), on = ir.label("all");
  ir.branch(ir.compare("icmp ne", ir.op("and", come, able), Ir::number("i32", 0)), wait, on);
  ir.begin(wait);
  ir.line("store i32 {}, ptr %parked", ir.op("or", parked, here).text);
  arrive(b, block_lanes());
  // Only those who aren't waiting themselves, and never back to here.
  if (dense_) {
    go_but(ir.op("or", parked, here));
  } else {
    for (int32_t c : others) {
      Value there = ir.op("and", ir.mask_bits(waiting(c)), ir.op("xor", parked, Ir::number("i32", 0xffffffff)));
      std::string next = ir.label("next");
      ir.branch(ir.compare("icmp ne", there, Ir::number("i32", 0)), head(c), next);
      ir.begin(next);
    }
    ir.jump(head(b));
  }
  ir.begin(on);
  if (whole) {  // those who are left wait at another barrier
    std::string alone = ir.label("alone"), apart = ir.label("apart");
    ir.branch_likely(ir.compare("icmp eq", come, Ir::number("i32", 0)), alone, apart);
    ir.begin(apart);
    leave(Service::kPark, here);
    ir.begin(alone);
  }
  ir.line("store i32 {}, ptr %parked", ir.op("and", parked, ir.op("xor", here, Ir::number("i32", 0xffffffff))).text);
}

void Emit::control(int32_t b) {
  if (b + 1 < flow_.exit() && joined(b + 1)) return;
  ir.begin_instruction();
  const Block& block = flow_.blocks[static_cast<size_t>(b)];
  const Instruction& last = function.instructions[static_cast<size_t>(block.end) - 1];
  guard_ = {};
  in = &last;
  index_ = block.end - 1;
  Value taken = Ir::number("i1", 1);
  if (block.guarded) {
    taken = read_register(last.guard.reg);
    if (last.guard.negated) taken = ir.logical_not(taken);
  }
  if (block.ends == End::kTable) {
    // An index past the list is undefined: it takes the last way.
    Value which = read_bits(last.operands[0], 32), left = block_lanes();
    for (size_t i = 0; i < block.next.size(); ++i) {
      bool rest = i + 1 == block.next.size();
      Value here = ir.compare("icmp eq", which, Ir::number("i32", static_cast<int64_t>(i)));
      if (block.divergent) {
        turn(b, block.next[i]);
        arrive(block.next[i], rest ? left : ir.op("and", here, left));
        if (!rest) left = ir.op("and", ir.logical_not(here), left);
        continue;
      }
      if (rest) return follow(b, block.next[i]);
      std::string yes = ir.label("case"), no = ir.label("other");
      ir.branch(here, yes, no);
      ir.begin(yes);
      follow(b, block.next[i]);
      ir.begin(no);
    }
    return go(with(b, block.next));
  }
  if (block.ends == End::kTrap) {
    std::string here = ir.label("trap"), past = ir.label("past");
    Value lanes = block.divergent ? ir.op("and", taken, block_lanes()) : taken;
    if (block.guarded) {
      ir.branch(ir.any(lanes), here, past);
      ir.begin(here);
    }
    leave(Service::kTrap, lanes.vector ? ir.mask_bits(lanes) : ir.mask_bits(block_lanes()));
    if (!block.guarded) return;
    ir.begin(past);
    return follow(b, block.next[0]);
  }
  if (block.ends == End::kExit) {
    if (!block.guarded) {
      ended(block_lanes());
      return go(with(b, {flow_.exit()}));
    }
    if (!block.divergent) {
      std::string yes = ir.label("end"), no = ir.label("stay");
      ir.branch(taken, yes, no);
      ir.begin(yes);
      ended(block_lanes());
      go(with(b, {flow_.exit()}));
      ir.begin(no);
      return follow(b, block.next[0]);
    }
    arrive(block.next[0], ir.op("and", ir.logical_not(taken), block_lanes()));
    ended(ir.op("and", taken, block_lanes()));
    return go(with(b, {block.next[0], flow_.exit()}));
  }
  if (!block.guarded || block.next.size() < 2) return follow(b, block.next[0]);
  if (!block.divergent) {
    std::string yes = ir.label("yes"), no = ir.label("no");
    ir.branch(taken, yes, no);
    ir.begin(yes);
    follow(b, block.next[0]);
    ir.begin(no);
    return follow(b, block.next[1]);
  }
  turn(b, block.next[0]);
  Value here = block_lanes();
  arrive(block.next[0], ir.op("and", taken, here));
  arrive(block.next[1], ir.op("and", ir.logical_not(taken), here));
  std::vector<int32_t> all = with(b, {block.next[0], block.next[1]});
  around(b, block.next[0], all);
}

void Emit::instruction(int32_t index) {
  ir.begin_instruction();
  in = &function.instructions[static_cast<size_t>(index)];
  index_ = index;
  guard_ = {};
  if (ends_block(*in)) return;
  std::string past;
  if (in->guard.reg != ptx::kNone) {
    guard_ = read_register(in->guard.reg);
    if (in->guard.negated) guard_ = ir.logical_not(guard_);
    // What has effects is jumped over where no lane wants it; the rest only keeps the old value.
    if (!is_pure(*in)) {
      std::string some = ir.label("some");
      past = ir.label("past");
      Value wanted = guard_.vector ? ir.op("and", guard_, block_lanes()) : guard_;
      ir.branch(ir.any(wanted), some, past);
      ir.begin(some);
      if (!guard_.vector) guard_ = {};
    }
  }
  switch (ptx::row(in->op).family) {
    case Family::kArithmetic: affine() ? void() : arithmetic(); break;
    case Family::kMultiplyAdd: affine() ? void() : multiply_add(); break;
    case Family::kCarry: carry(); break;
    case Family::kSpecialFunction: special_function(); break;
    case Family::kCompare: compare(); break;
    case Family::kLogic: affine() ? void() : logic(); break;
    case Family::kShift: affine() ? void() : shift(); break;
    case Family::kConvert: affine() ? void() : convert(); break;
    case Family::kMove: affine() ? void() : move(); break;
    case Family::kLoad: load(); break;
    case Family::kStore: store(); break;
    case Family::kAtomic: atomic(); break;
    case Family::kBarrier: barrier(); break;
    case Family::kFence: fence(); break;
    case Family::kWarp: warp(); break;
    case Family::kMatrix: matrix(); break;
    case Family::kAsyncCopy: async_copy(); break;
    case Family::kTexture: texture(); break;
    case Family::kVideo: video(); break;
    case Family::kSystem: system(); break;
    case Family::kControl: call(); break;
    case Family::kCache: break;  // hints
    case Family::kMbarrier: mbarrier(); break;
    case Family::kBulkCopy:
    case Family::kCluster:
    case Family::kTensorCore: unsupported(); break;
  }
  if (!past.empty()) {
    ir.jump(past);
    ir.begin(past);
  }
}

bool Emit::waits(const ptx::Function& f) {
  for (const Instruction& in : f.instructions) {
    Family family = ptx::row(in.op).family;
    if (family == Family::kBarrier && in.op != ptx::Op::k_bar_warp_sync) return true;
    if (family == Family::kMbarrier || in.op == ptx::Op::k_nanosleep) return true;
  }
  return has_spins(flow_of(f));
}

void Emit::prologue(bool loop) {
  slots();
  for (int32_t b = 0; b < flow_.exit(); ++b) {
    if (has_wait(b)) slot(fmt::format("%wait{}", b), "i1", true, dense_ || flow_.blocks.size() > kMostMasks);
  }
  for (const char* name : {"%turns", "%parked"}) slot(name, "i32", false, dense_);
  for (const char* name : {"%but", "%ended"}) {
    if (dense_) slot(name, "i32", false, true);
  }
  if (!kept_.empty()) place_kept();
  ir.line("store i32 0, ptr %turns");
  if (loop) {
    ir.line("%block = alloca i64");
    ir.line("%warp = alloca i32");
    ir.line("store i64 %begin, ptr %block");
    ir.jump("next.block");
    ir.begin("next.block");
    Value at = ir.let("i64", false, "load i64, ptr %block");
    ir.branch(ir.compare("icmp ult", at, {"%end", "i64", false}), "a.block", "over");
    ir.begin("over");
    ir.line("ret i32 0");
    ir.begin("a.block");
    Value x = ir.resize(warp_field(offsetof(Warp, nctaid), "i32"), "i64", false);
    Value y = ir.resize(warp_field(offsetof(Warp, nctaid) + 4, "i32"), "i64", false);
    Value row = ir.op("udiv", at, x);
    auto put = [&](int i, const Value& v) {
      ir.store(ir.resize(v, "i32", false), warp_pointer(offsetof(Warp, ctaid) + static_cast<size_t>(i) * 4), 4);
    };
    put(0, ir.op("sub", at, ir.op("mul", row, x)));
    Value plane = ir.op("udiv", row, y);
    put(1, ir.op("sub", row, ir.op("mul", plane, y)));
    put(2, plane);
    ir.store(ir.op("add", at, Ir::number("i64", 1)), "%block", 8);
    ir.line("store i32 0, ptr %warp");
    ir.jump("next.warp");
    ir.begin("next.warp");
    Value w = ir.let("i32", false, "load i32, ptr %warp");
    ir.branch(ir.compare("icmp ult", w, warp_field(offsetof(Warp, warps), "i32")), "a.warp", "next.block");
    ir.begin("a.warp");
    ir.store(ir.op("add", w, Ir::number("i32", 1)), "%warp", 4);
    ir.store(w, warp_pointer(offsetof(Warp, index)), 4);
  }
  for (size_t r = 0; r <= function.registers.size(); ++r) {
    // A place of %matrix has others' values between its registers' own: only what is read unwritten must be zero.
    if (auto reg = static_cast<int32_t>(r); matrix_.place.count(reg) && !has(flow_.live_in[0], reg)) continue;
    const Shape& s = shapes_.of[r];
    bool parts = s.kind == Shape::kWide || s.kind == Shape::kIndexed;
    std::string type = parts ? "i64" : r < function.registers.size() ? storage_type(function.registers[r].type) : "i1";
    Value zero = type == "i1" && s.kind == Shape::kVarying ? ir.masks("zeroinitializer")
                                                           : Ir::zero(type, s.kind == Shape::kVarying);
    ir.line("store {}, ptr {}", zero.typed(), slot_of(static_cast<int32_t>(r)));
    if (parts) ir.line("store {}, ptr %x{}", Ir::zero("i32", s.kind == Shape::kIndexed).typed(), r);
  }
  for (int32_t b = 0; b < flow_.exit(); ++b) {
    if (has_wait(b)) ir.line("store {} zeroinitializer, ptr %wait{}", ir.masks({}).full(), b);
  }
  ir.line("store i32 0, ptr %parked");
  if (dense_) ir.line("store i32 0, ptr %ended");
  if (!target.block.full) {
    // In the last warp of a block not all lanes need be threads.
    Value all = warp_field(offsetof(Warp, lanes), "i32");
    if (loop) {
      Value threads = ir.op(
          "mul", ir.op("mul", warp_field(offsetof(Warp, ntid), "i32"), warp_field(offsetof(Warp, ntid) + 4, "i32")),
          warp_field(offsetof(Warp, ntid) + 8, "i32"));
      Value left = ir.op("sub", threads, ir.op("shl", warp_field(offsetof(Warp, index), "i32"), Ir::number("i32", 5)));
      Value some = ir.compare("icmp ult", left, Ir::number("i32", 32));
      Value bits = ir.op("sub", ir.op("shl", Ir::number("i32", 1), ir.op("and", left, Ir::number("i32", 31))),
                         Ir::number("i32", 1));
      all = ir.select(some, bits, Ir::number("i32", 0xffffffff));
    }
    thread_lanes_ = ir.mask_of_bits(all);
    if (!flow_.blocks.empty()) arrive(0, thread_lanes_);
  } else if (!flow_.blocks.empty()) {
    arrive(0, ir.all_lanes());
  }
  ir.jump(flow_.blocks.empty() ? "finish" : head(0));
}

Result<std::string> Emit::text(bool loop) {
  loop_ = loop;
  grouped_.assign(function.instructions.size(), false);
  dense_ = is_dense(flow_);
  prologue(loop);
  for (int32_t b = 0; b < flow_.exit(); ++b) {
    const Block& block = flow_.blocks[static_cast<size_t>(b)];
    block_ = b;
    if (!joined(b)) ir.begin(head(b));
    block_mask_.reset();
    if (masked(b)) {
      block_mask_ = waiting(b);
    } else if (!target.block.full) {
      block_mask_ = thread_lanes_;
    }
    if (has_wait(b)) ir.line("store {} zeroinitializer, ptr %wait{}", ir.masks({}).full(), b);
    in = &function.instructions[static_cast<size_t>(block.begin)];
    index_ = block.begin;
    guard_ = {};
    if (block.parks) park(b);
    if (target.count) {
      Value table = warp_field(offsetof(Warp, counters), "i64");
      std::string at = ir.offset(ir.pointer(table), b * 8);
      ir.store(ir.op("add", ir.load("i64", false, at, 8), Ir::number("i64", 1)), at, 8);
    }
    for (int32_t i = block.begin; i < block.end; ++i) instruction(i);
    control(b);
  }
  dense_ ? dense_chains() : chains();
  fault_exit();
  ir.begin("finish");
  if (loop) {
    ir.jump("next.warp");
  } else {
    ir.line("ret i32 0");
  }
  if (!problems_.empty()) return fail(problems_);
  std::string head =
      loop ? "define i32 @kernel(ptr noalias %w, i64 %begin, i64 %end)" : "define i32 @kernel(ptr noalias %w)";
  return ir.declarations() + ir.finish(head + " nounwind \"frame-pointer\"=\"none\"") +
         "!0 = !{!\"branch_weights\", i32 2000, i32 1}\n";
}

}  // namespace quern::vgpu
