// Blocks, liveness, and the fixed point of waiting sets.
#include "vgpu/flow.h"

#include <algorithm>

#include "vgpu/traits.h"

namespace quern::vgpu {
namespace {

using ptx::Instruction;
using ptx::Op;
using ptx::Operand;
using ptx::OperandKind;

void registers(const Operand& operand, std::vector<int32_t>& out) {
  if (operand.reg != ptx::kNone) out.push_back(operand.reg);
  for (const Operand& part : operand.parts) registers(part, out);
}

void split(const ptx::Function& f, Flow& flow) {
  auto count = static_cast<int32_t>(f.instructions.size());
  std::vector<bool> starts(static_cast<size_t>(count) + 1, false);
  starts[0] = true;
  for (const ptx::Label& label : f.labels) starts[static_cast<size_t>(label.instruction)] = true;
  for (int32_t i = 0; i < count; ++i) {
    const Instruction& in = f.instructions[static_cast<size_t>(i)];
    if (ends_block(in)) starts[static_cast<size_t>(i) + 1] = true;
    if (waits_for_lanes(in)) starts[static_cast<size_t>(i)] = true;
  }
  flow.block_of.assign(static_cast<size_t>(count), 0);
  for (int32_t i = 0; i < count; ++i) {
    if (starts[static_cast<size_t>(i)]) flow.blocks.push_back({.begin = i, .end = i});
    flow.blocks.back().end = i + 1;
    flow.block_of[static_cast<size_t>(i)] = static_cast<int32_t>(flow.blocks.size()) - 1;
  }
}

void connect(const ptx::Function& f, Flow& flow) {
  // A jump to a plain return is a return.
  auto at = [&](int64_t instruction) {
    if (instruction >= static_cast<int64_t>(f.instructions.size())) return flow.exit();
    const Instruction& in = f.instructions[static_cast<size_t>(instruction)];
    bool ends = (in.op == Op::k_ret || in.op == Op::k_exit) && in.guard.reg == ptx::kNone;
    return ends ? flow.exit() : flow.block_of[static_cast<size_t>(instruction)];
  };
  auto target = [&](int64_t label) { return at(f.labels[static_cast<size_t>(label)].instruction); };
  for (size_t b = 0; b < flow.blocks.size(); ++b) {
    Block& block = flow.blocks[b];
    const Instruction& last = f.instructions[static_cast<size_t>(block.end) - 1];
    int32_t following = static_cast<int32_t>(b) + 1;
    block.guarded = last.guard.reg != ptx::kNone && ends_block(last);
    if (last.op == Op::k_bra) {
      block.ends = End::kBranch;
      block.next.push_back(target(last.operands[0].value));
      if (block.guarded) block.next.push_back(following);
    } else if (last.op == Op::k_brx_idx) {
      block.ends = End::kTable;
      for (int32_t label : f.target_lists[static_cast<size_t>(last.operands[1].value)]) {
        block.next.push_back(target(label));
      }
    } else if (last.op == Op::k_ret || last.op == Op::k_exit) {
      block.ends = End::kExit;
      if (block.guarded) block.next.push_back(following);
    } else if (last.op == Op::k_trap) {
      block.ends = End::kTrap;
      if (block.guarded) block.next.push_back(following);
    } else {
      block.next.push_back(following);
    }
  }
  for (size_t b = 0; b < flow.blocks.size(); ++b) {
    for (int32_t n : flow.blocks[b].next) {
      if (n < flow.exit()) flow.blocks[static_cast<size_t>(n)].previous.push_back(static_cast<int32_t>(b));
    }
  }
}

void find_live(const ptx::Function& f, Flow& flow) {
  size_t words = f.registers.size() / 64 + 1;
  std::vector<Bits> read(flow.blocks.size(), Bits(words)), written = read;
  for (size_t b = 0; b < flow.blocks.size(); ++b) {
    for (int32_t i = flow.blocks[b].begin; i < flow.blocks[b].end; ++i) {
      const Instruction& in = f.instructions[static_cast<size_t>(i)];
      Uses u = uses(in, static_cast<int32_t>(f.registers.size()));
      for (int32_t r : u.reads) {
        if (!has(written[b], r)) add(read[b], r);
      }
      // A guarded write leaves the old value in some lanes.
      for (int32_t r : u.writes) {
        if (in.guard.reg == ptx::kNone) {
          add(written[b], r);
        } else if (!has(written[b], r)) {
          add(read[b], r);
        }
      }
    }
  }
  flow.live_in = read;
  std::vector<int32_t> work;
  std::vector<bool> queued(flow.blocks.size(), true);
  for (int32_t b = 0; b < flow.exit(); ++b) work.push_back(b);
  while (!work.empty()) {
    int32_t b = work.back();
    work.pop_back();
    queued[static_cast<size_t>(b)] = false;
    Bits& in = flow.live_in[static_cast<size_t>(b)];
    bool changed = false;
    for (int32_t n : flow.blocks[static_cast<size_t>(b)].next) {
      if (n >= flow.exit()) continue;
      const Bits& out = flow.live_in[static_cast<size_t>(n)];
      for (size_t w = 0; w < words; ++w) {
        uint64_t more = out[w] & ~written[static_cast<size_t>(b)][w] & ~in[w];
        if (more) in[w] |= more, changed = true;
      }
    }
    if (!changed) continue;
    for (int32_t p : flow.blocks[static_cast<size_t>(b)].previous) {
      if (!queued[static_cast<size_t>(p)]) queued[static_cast<size_t>(p)] = true, work.push_back(p);
    }
  }
}

// Registers that depend on what other threads may write, and the loops whose end depends on such a register.
void find_spins(const ptx::Function& f, Flow& flow) {
  Bits heard(f.registers.size() / 64 + 1);
  for (bool changed = true; changed;) {
    changed = false;
    for (const Instruction& in : f.instructions) {
      Uses u = uses(in, static_cast<int32_t>(f.registers.size()));
      bool from = may_wait(in);
      for (int32_t r : u.reads) from |= has(heard, r);
      if (!from) continue;
      for (int32_t r : u.writes) {
        if (!has(heard, r)) add(heard, r), changed = true;
      }
    }
  }
  for (int32_t b = 0; b < flow.exit(); ++b) {
    Block& block = flow.blocks[static_cast<size_t>(b)];
    for (int32_t n : block.next) {
      for (int32_t c = n; c <= b && !block.spins; ++c) {
        const Block& inside = flow.blocks[static_cast<size_t>(c)];
        const Instruction& last = f.instructions[static_cast<size_t>(inside.end) - 1];
        block.spins = inside.guarded && has(heard, last.guard.reg);
      }
    }
  }
}

}  // namespace

bool has_spins(const Flow& flow) {
  return std::any_of(flow.blocks.begin(), flow.blocks.end(), [](const Block& b) { return b.spins; });
}

Uses uses(const Instruction& in, int32_t carry) {
  Uses out;
  if (in.guard.reg != ptx::kNone) out.reads.push_back(in.guard.reg);
  size_t results = result_count(in);
  for (size_t i = 0; i < in.operands.size(); ++i) {
    const Operand& operand = in.operands[i];
    bool written = i < results && operand.kind != OperandKind::kAddress;
    registers(operand, written ? out.writes : out.reads);
    if (written && reads_result(in)) registers(operand, out.reads);
  }
  if (carry != ptx::kNone && reads_carry(in)) out.reads.push_back(carry);
  if (carry != ptx::kNone && writes_carry(in)) out.writes.push_back(carry);
  return out;
}

Flow flow_of(const ptx::Function& f) {
  Flow flow;
  if (f.instructions.empty()) return flow;
  split(f, flow);
  connect(f, flow);
  find_live(f, flow);
  find_spins(f, flow);
  return flow;
}

void find_waiting(Flow& flow) {
  size_t count = flow.blocks.size();
  std::vector<Bits> wait(count, Bits(count / 64 + 1));
  std::vector<int32_t> work{0};
  std::vector<bool> seen(count, false);
  auto enter = [&](int32_t c, const Bits& candidates) {
    if (c >= flow.exit()) return;
    Bits& into = wait[static_cast<size_t>(c)];
    bool changed = !seen[static_cast<size_t>(c)];
    for (size_t w = 0; w < into.size(); ++w) {
      uint64_t more = candidates[w] & ~into[w];
      if (w == static_cast<size_t>(c) / 64) more &= ~(uint64_t{1} << (c % 64));
      if (more) into[w] |= more, changed = true;
    }
    if (changed) {
      seen[static_cast<size_t>(c)] = true;
      work.push_back(c);
    }
  };
  // The lowest candidate that has lanes runs; the candidates above it may be waiting. A block that parks goes on with
  // others while its own lanes wait.
  auto go = [&](Bits candidates, bool skip_first) {
    std::vector<int32_t> list;
    for (int32_t c = 0; c <= flow.exit(); ++c) {
      if (has(candidates, c)) list.push_back(c);
    }
    Bits above = candidates;
    for (int32_t c : list) {
      above[static_cast<size_t>(c) / 64] &= ~(uint64_t{1} << (c % 64));
      enter(c, skip_first ? candidates : above);
    }
  };
  while (!work.empty()) {
    int32_t b = work.back();
    work.pop_back();
    const Block& block = flow.blocks[static_cast<size_t>(b)];
    Bits candidates = wait[static_cast<size_t>(b)];
    bool others = std::any_of(candidates.begin(), candidates.end(), [](uint64_t w) { return w != 0; });
    if (block.parks && others) {
      Bits all = candidates;
      add(all, b);
      go(all, true);
    }
    if (block.divergent) {
      for (int32_t n : block.next) add(candidates, n);
      if (block.ends == End::kExit) add(candidates, flow.exit());
      go(candidates, block.spins);
    } else if (block.next.empty()) {
      // Lanes that end here are not among those that go on elsewhere.
      if (block.ends == End::kExit && others) add(candidates, flow.exit());
      go(candidates, false);
    } else {
      for (int32_t n : block.next) {
        Bits to = candidates;
        add(to, n);
        go(to, block.spins);
      }
    }
  }
  for (size_t b = 0; b < count; ++b) {
    flow.blocks[b].waiting.clear();
    for (int32_t c = 0; c <= flow.exit(); ++c) {
      if (has(wait[b], c)) flow.blocks[b].waiting.push_back(c);
    }
  }
}

}  // namespace quern::vgpu
