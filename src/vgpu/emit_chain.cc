// Finding the next block with lanes: static chains of tests, no table. A chain is shared by all that may go on the same
// way, and is empty where the warp is whole.
//
// Where lanes may wait at many blocks while many others run ("dense"), there is one chain for all: a test for each
// block in order, entered at the lowest block that may have lanes. It tests more, but has a part a block, while the
// number of different chains grows with the square. Every block has a mask of waiting lanes then, also those in which
// the warp is whole; a second chain finds the first block with lanes other than some. What is kept from block to block
// lies in memory: in registers each of it would have a phi in each part of the chains, and 3,000 instructions took
// minutes.
#include <algorithm>
#include <cstddef>

#include "vgpu/emit.h"

namespace quern::vgpu {

void Emit::slot(const std::string& name, const std::string& type, bool vector, bool kept) {
  Value v{{}, type, vector, type == "i1" && vector && ir.wide_masks};
  if (!kept) return ir.line("{} = alloca {}", name, v.full());
  int64_t bits = v.wide ? 32 : bits_of(type);
  int64_t bytes = std::max<int64_t>(1, (vector ? 32 * bits : bits) / 8);
  kept_bytes_ = (kept_bytes_ + bytes - 1) / bytes * bytes;
  kept_.emplace_back(name, kept_bytes_);
  kept_bytes_ += bytes;
}

// One piece of memory, entered at a place that LLVM doesn't know, so that it makes no registers of its parts.
void Emit::place_kept() {
  ir.line("%kept.all = alloca [{} x i8], align 512", kept_bytes_);
  Value zero = warp_field(offsetof(Warp, zero), "i32");
  ir.line("%kept = getelementptr i8, ptr %kept.all, i32 {}", zero.text);
  for (const auto& [name, at] : kept_) ir.line("{} = getelementptr i8, ptr %kept, i64 {}", name, at);
}

void Emit::go(const std::vector<int32_t>& candidates) {
  if (candidates.size() == 1) return ir.jump(head(candidates[0]));
  if (dense_) return ir.jump(candidates[0] < flow_.exit() ? fmt::format("first{}", candidates[0]) : "finish");
  std::string name = "chain";
  for (int32_t c : candidates) name += fmt::format(".{}", c);
  if (chains_.insert(name).second) chain_queue_.emplace_back(name, candidates);
  ir.jump(name);
}

void Emit::chains() {
  while (!chain_queue_.empty()) {
    auto [name, list] = std::move(chain_queue_.back());
    chain_queue_.pop_back();
    ir.begin(name);
    std::vector<int32_t> rest(list.begin() + 1, list.end());
    if (list[0] >= flow_.exit()) {  // lanes that ended: only where nobody else is left
      go(rest);
      continue;
    }
    std::string other = ir.label("none");
    ir.branch(ir.any(waiting(list[0])), head(list[0]), other);
    ir.begin(other);
    go(rest);
  }
}

void Emit::go_but(const Value& lanes) {
  ir.line("store i32 {}, ptr %but", lanes.text);
  ir.jump("other0");
}

void Emit::ended(const Value& lanes) {
  if (!dense_) return;
  Value before = ir.let("i32", false, "load i32, ptr %ended");
  ir.line("store i32 {}, ptr %ended", ir.op("or", before, ir.mask_bits(ir.splat(lanes))).text);
}

void Emit::dense_chains() {
  auto next = [&](const char* chain, int32_t b, const char* last) {
    return b + 1 < flow_.exit() ? fmt::format("{}{}", chain, b + 1) : last;
  };
  for (int32_t b = 0; b < flow_.exit(); ++b) {
    ir.begin(fmt::format("first{}", b));
    ir.branch(ir.any(waiting(b)), head(b), next("first", b, "finish"));
  }
  for (int32_t b = 0; b < flow_.exit(); ++b) {
    ir.begin(fmt::format("other{}", b));
    Value but = ir.op("xor", ir.let("i32", false, "load i32, ptr %but"), Ir::number("i32", 0xffffffff));
    Value there = ir.op("and", ir.mask_bits(waiting(b)), but);
    ir.branch(ir.compare("icmp ne", there, Ir::number("i32", 0)), head(b), next("other", b, "first0"));
  }
}

}  // namespace quern::vgpu
