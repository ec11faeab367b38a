// Checks of several accesses at once. An unrolled loop reads dozens of elements at constant distances from one
// register; the words of the shadow that they need are constants too, so that they are loaded in rows and joined by
// `and`, with one test for all.
//
// The check stands at the first of the accesses, which is right where all the others are sure to follow: within one
// block, under the same mask, before anything that may write memory (a read that an earlier write of the block would
// have initialised must not be asked about before) or wait.
#include <algorithm>
#include <map>

#include "vgpu/emit.h"
#include "vgpu/traits.h"

namespace quern::vgpu {

using ptx::Family;
using ptx::Instruction;
using ptx::Operand;

namespace {

constexpr size_t kMostWords = 8192;

// Bytes of an access by a plain load or store; 0 for anything else.
int64_t access_bytes(const Instruction& in) {
  if (in.op != ptx::Op::k_ld && in.op != ptx::Op::k_st) return 0;
  auto v = in.of(ptx::ModifierGroup::kVector);
  int64_t count = !v ? 1 : *v == ptx::Modifier::kV2 ? 2 : *v == ptx::Modifier::kV4 ? 4 : 8;
  return ptx::row(in.type()).size() / 8 * count;
}

const Operand& address_of(const Instruction& in) { return in.operands[in.op == ptx::Op::k_st ? 0 : 1]; }

bool writes(const Instruction& in, int32_t reg) {
  for (int32_t r : uses(in).writes) {
    if (r == reg) return true;
  }
  return false;
}

}  // namespace

bool Emit::check_group(const Address& a, int64_t bytes, bool write, const Mask& m,
                       std::vector<CheckRecord::Member>& members) {
  if (grouped_[static_cast<size_t>(index_)]) return true;
  bool regular = a.kind == Shape::kUniform || a.kind == Shape::kPattern;
  if (!target.checks.memory || !regular || bytes < 4 || access_bytes(*in) != bytes || in->guard.reg != ptx::kNone)
    return false;
  if (a.kind == Shape::kPattern && !m.full) return false;
  const Operand& first = address_of(*in);
  const Block& block = flow_.blocks[static_cast<size_t>(block_)];
  bool by_register = first.reg != ptx::kNone;
  for (int64_t l : a.lanes) {
    if (l % bytes) return false;
  }
  if (by_register && shapes_.of[static_cast<size_t>(first.reg)].kind == Shape::kWide) return false;
  for (int32_t i = index_ + 1; i < block.end; ++i) {
    const Instruction& next = function.instructions[static_cast<size_t>(i)];
    const Instruction& last = function.instructions[static_cast<size_t>(i) - 1];
    if (by_register && writes(last, first.reg)) break;
    Family family = ptx::row(next.op).family;
    bool may_write = family == Family::kStore || family == Family::kAtomic || family == Family::kAsyncCopy;
    if (family == Family::kControl || family == Family::kBarrier || family == Family::kSystem ||
        family == Family::kMatrix)
      break;
    if (may_write && !write) break;
    int64_t size = access_bytes(next);
    bool same_way = next.op == in->op && next.space() == in->space() && next.guard.reg == ptx::kNone && size >= 4;
    if (!same_way) continue;
    const Operand& o = address_of(next);
    if (o.reg != first.reg || (!by_register && o.symbol != first.symbol)) continue;
    int64_t off = o.value - first.value;
    bool even = off % size == 0;
    for (int64_t l : a.lanes) even &= l % size == 0;
    if (!even || members.size() * static_cast<size_t>(size / 4) * (a.kind == Shape::kPattern ? 32 : 1) > kMostWords)
      continue;
    members.push_back({i, off, static_cast<int32_t>(size), write});
  }
  if (members.size() < 2) return false;
  int64_t widest = 4;
  for (const auto& member : members) widest = std::max<int64_t>(widest, member.bytes);
  // Distances are multiples of the sizes only if the first access is as aligned as the widest; and as far as they
  // reach, memory must be readable.
  std::erase_if(members, [&](const auto& member) { return std::abs(member.offset) > (1 << 20); });
  std::string bad = ir.label("bad"), done = ir.label("good");
  check_words(a, members, write, bad);
  for (const auto& member : members) grouped_[static_cast<size_t>(member.instruction)] = true;
  ir.jump(done);
  fault(a, members, m, bad);
  ir.begin(done);
  return true;
}

void Emit::check_words(const Address& a, const std::vector<CheckRecord::Member>& members, bool write,
                       const std::string& bad) {
  std::vector<int64_t> words;
  int64_t widest = 4;
  for (const auto& member : members) {
    widest = std::max<int64_t>(widest, member.bytes);
    for (size_t l = 0; l < (a.kind == Shape::kPattern ? 32u : 1u); ++l) {
      int64_t at = member.offset + (a.kind == Shape::kPattern ? a.lanes[l] : 0);
      for (int64_t b = 0; b < member.bytes; b += 4) words.push_back((at + b) >> 2);
    }
  }
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  Value ok = Ir::number("i1", 1);
  if (!a.shared) ok = in_range(a.base, 0);
  int64_t known = int64_t{1} << std::min(a.align, 30);
  if (known < widest) {
    // Members that are narrower than the widest need less, but then a mixture is rare.
    ok = ir.op("and", ok,
               ir.compare("icmp eq", ir.op("and", a.base, Ir::number("i64", widest - 1)), Ir::number("i64", 0)));
  }
  if (ok.text != "true") require(ok, bad);
  std::string base = shadow_pointer(a.base);
  int64_t nibble = write ? kWritable : kHasValue;
  // Rows of consecutive words: 32 bytes of the shadow at a time, the last ones overlapping; short rows by halves.
  Value wide, narrow;
  auto join = [&](Value& into, const Value& v) { into = into.empty() ? v : ir.op("and", into, v); };
  for (size_t i = 0; i < words.size();) {
    size_t j = i + 1;
    while (j < words.size() && words[j] == words[j - 1] + 1) ++j;
    int64_t from = words[i], count = static_cast<int64_t>(j - i);
    for (int64_t at = 0; at < count;) {
      int64_t left = count - at;
      if (count >= 32) {
        int64_t start = left >= 32 ? at : count - 32;
        Value v = ir.let("i8", true, "load <32 x i8>, ptr {}, align 1", ir.offset(base, from + start));
        join(wide, v);
        at = start + 32;
        continue;
      }
      int64_t size = left >= 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
      Value v = ir.load(fmt::format("i{}", size * 8), false, ir.offset(base, from + at), 1);
      if (size < 8) {  // the missing bytes are as they should be
        v = ir.op("or", ir.resize(v, "i64", false),
                  Ir::number("i64", static_cast<int64_t>(~uint64_t{0} << (size * 8))));
      }
      join(narrow, v);
      at += size;
    }
    i = j;
  }
  if (!wide.empty()) {
    wide = either_nibble(wide, write);
    Value need = Ir::number("i8", nibble);
    require_lanes(ir.compare_bits("icmp ne", ir.op("and", wide, need), need), {.full = true}, bad);
  }
  if (!narrow.empty()) {
    narrow = either_nibble(narrow, write);
    Value need = Ir::number("i64", static_cast<int64_t>(static_cast<uint64_t>(nibble) * 0x0101010101010101u));
    require(ir.compare("icmp eq", ir.op("and", narrow, need), need), bad);
  }
}

}  // namespace quern::vgpu
