#include "vgpu/matrix/fragment.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <type_traits>

#include "vgpu/abi.h"

namespace quern::vgpu {

ElementPlace place_of(const FragmentShape& t, int reg, int lane, int i) {
  int each = t.each(), row = lane / 4, column = lane % 4;
  if (t.part == Part::kA) {
    int blocks = t.m / 8;
    return {8 * (reg % blocks) + row, 4 * each * (reg / blocks) + each * column + i};
  }
  if (t.part == Part::kB) {
    int blocks = t.k / (4 * each);
    return {4 * each * (reg % blocks) + each * column + i, 8 * (reg / blocks) + row};
  }
  int block = each == 2 ? reg : reg / 2, blocks = t.m / 8;
  return {8 * (block % blocks) + row, 8 * (block / blocks) + 2 * column + (each == 2 ? i : reg % 2)};
}

namespace {

uint8_t* memory_at(uint64_t address) { return reinterpret_cast<uint8_t*>(address); }
uint8_t* shadow_at(const Ground& g, uint64_t address) { return memory_at((address >> 2) + g.space.shadow_bias); }

template <class T>
T read(const uint8_t* p) {
  T out;
  std::memcpy(&out, p, sizeof out);
  return out;
}

// Whether the shadow of all lines has the bits that are needed; kBytes of it each, `pitch` apart.
template <int kBytes>
bool lines_allowed(const uint8_t* shadow, int lines, int64_t pitch, bool write, bool init) {
  using Word = std::conditional_t<kBytes == 2, uint16_t, std::conditional_t<kBytes == 4, uint32_t, uint64_t>>;
  constexpr int kWords = kBytes / static_cast<int>(sizeof(Word));
  auto need = static_cast<Word>(0x0101010101010101u * (write ? kWritable : kHasValue));
  int either = write || init ? 0 : 4;  // what could be written may be read where nobody asks for values
  Word all[kWords];
  std::fill_n(all, kWords, need);
  for (int line = 0; line < lines; ++line, shadow += pitch) {
    for (int i = 0; i < kWords; ++i) {
      auto s = read<Word>(shadow + i * static_cast<int>(sizeof(Word)));
      all[i] &= static_cast<Word>(s | s >> either);
    }
  }
  return std::all_of(all, all + kWords, [&](Word w) { return w == need; });
}

bool lines_allowed(int bytes, const uint8_t* shadow, int lines, int64_t pitch, bool write, bool init) {
  switch (bytes) {
    case 2: return lines_allowed<2>(shadow, lines, pitch, write, init);
    case 4: return lines_allowed<4>(shadow, lines, pitch, write, init);
    case 8: return lines_allowed<8>(shadow, lines, pitch, write, init);
    case 16: return lines_allowed<16>(shadow, lines, pitch, write, init);
    case 32: return lines_allowed<32>(shadow, lines, pitch, write, init);
    default: return false;
  }
}

// --- blocks of eight lines, or of eight elements of each line ---

template <bool kStore, int kBytes>
void move(uint8_t* reg, uint8_t* memory) {
  kStore ? std::memcpy(memory, reg, kBytes) : std::memcpy(reg, memory, kBytes);
}

// What a register holds lies in a row: four lanes to a line.
template <bool kStore, class Word>
void along_block(uint8_t* reg, uint8_t* memory, int64_t pitch) {
  constexpr int kBytes = 4 * sizeof(Word);
  for (int line = 0; line < 8; ++line) move<kStore, kBytes>(reg + line * kBytes, memory + line * pitch);
}

// It lies across lines: lane l has element l / 4 of lines kStep * (l % 4) and, where a word holds several, of the next
// ones.
template <bool kStore, class Word, class Unit, int kStep>
void across_block(uint8_t* reg, uint8_t* memory, int64_t pitch) {
  for (int l = 0; l < 32; ++l) {
    uint8_t* at = memory + l % 4 * kStep * pitch + l / 4 * static_cast<int>(sizeof(Unit));
    for (int i = 0; i < static_cast<int>(sizeof(Word) / sizeof(Unit)); ++i) {
      move<kStore, sizeof(Unit)>(reg + l * static_cast<int>(sizeof(Word)) + i * static_cast<int>(sizeof(Unit)),
                                 at + i * pitch);
    }
  }
}

// Of two registers, one has the even elements of a line, the other the odd ones.
template <bool kStore, class Word>
void paired_block(uint8_t* even, uint8_t* odd, uint8_t* memory, int64_t pitch) {
  constexpr int kBytes = sizeof(Word);
  for (int l = 0; l < 32; ++l) {
    uint8_t* at = memory + l / 4 * pitch + l % 4 * 2 * kBytes;
    move<kStore, kBytes>(even + l * kBytes, at);
    move<kStore, kBytes>(odd + l * kBytes, at + kBytes);
  }
}

template <bool kStore, class Word>
void across_pair(uint8_t* even, uint8_t* odd, uint8_t* memory, int64_t pitch) {
  across_block<kStore, Word, Word, 2>(even, memory, pitch);
  across_block<kStore, Word, Word, 2>(odd, memory + pitch, pitch);
}

using Mover = void (*)(const FragmentCall& call, uint8_t* registers, uint8_t* memory, int64_t pitch);

template <class Body>
[[gnu::always_inline]] inline void each_block(const FragmentCall& c, uint8_t* memory, int64_t pitch, Body body) {
  for (int o = 0, block = 0; o < c.outer.count; ++o) {
    uint8_t* at = memory + o * (c.outer.lines * pitch + c.outer.bytes);
    for (int i = 0; i < c.inner.count; ++i, ++block, at += c.inner.lines * pitch + c.inner.bytes) body(block, at);
  }
}

template <void (*kBlock)(uint8_t* reg, uint8_t* memory, int64_t pitch)>
void move_ones(const FragmentCall& c, uint8_t* registers, uint8_t* memory, int64_t pitch) {
  each_block(c, memory, pitch, [&](int block, uint8_t* at) { kBlock(registers + c.offsets[block], at, pitch); });
}

template <void (*kBlock)(uint8_t* even, uint8_t* odd, uint8_t* memory, int64_t pitch)>
void move_pairs(const FragmentCall& c, uint8_t* registers, uint8_t* memory, int64_t pitch) {
  each_block(c, memory, pitch, [&](int block, uint8_t* at) {
    kBlock(registers + c.offsets[2 * block], registers + c.offsets[2 * block + 1], at, pitch);
  });
}

enum Moves : int32_t {
  kAlong4,
  kAlong8,
  kAcross1,
  kAcross2,
  kAcross4,
  kAcross8,
  kPaired4,
  kPaired8,
  kTurned4,
  kTurned8
};

template <bool kStore>
constexpr Mover kMovers[] = {
    &move_ones<along_block<kStore, uint32_t>>,
    &move_ones<along_block<kStore, uint64_t>>,
    &move_ones<across_block<kStore, uint32_t, uint8_t, 4>>,
    &move_ones<across_block<kStore, uint32_t, uint16_t, 2>>,
    &move_ones<across_block<kStore, uint32_t, uint32_t, 1>>,
    &move_ones<across_block<kStore, uint64_t, uint64_t, 1>>,
    &move_pairs<paired_block<kStore, uint32_t>>,
    &move_pairs<paired_block<kStore, uint64_t>>,
    &move_pairs<across_pair<kStore, uint32_t>>,
    &move_pairs<across_pair<kStore, uint64_t>>,
};

Moves moves_of(const FragmentShape& t) {
  int bits = bits_of(t.element);
  bool along = (t.part == Part::kB) == (t.by_columns != 0), wide = bits == 64;
  if (t.part == Part::kC && bits != 16) return along ? (wide ? kPaired8 : kPaired4) : (wide ? kTurned8 : kTurned4);
  if (along) return wide ? kAlong8 : kAlong4;
  return bits == 8 ? kAcross1 : bits == 16 ? kAcross2 : wide ? kAcross8 : kAcross4;
}

// Registers that the shape doesn't have hold the elements once more.
void repeat(const FragmentCall& call, uint8_t* registers) {
  auto bytes = static_cast<size_t>(call.shape.register_bits()) * 4;
  for (int r = call.own_registers; r < call.registers; ++r)
    std::memcpy(registers + call.offsets[r], registers + call.offsets[r % call.own_registers], bytes);
}

// --- the slow way ---

bool allowed(const Ground& g, uint64_t address, int bytes, bool write) {
  if (address - g.space.first >= g.space.bytes || address % static_cast<uint64_t>(bytes)) return false;
  if (!g.checked) return true;
  const uint8_t* shadow = shadow_at(g, address);
  int shift = write ? 4 : 0;
  for (int i = 0; i < bytes; i += 4) {
    int need = bytes < 4 ? ((1 << bytes) - 1) << (address & 3) : 0xf;
    int have = shadow[i / 4] >> shift | (write || g.init ? 0 : shadow[i / 4] >> 4);
    if ((have & need) != need) return false;
  }
  return true;
}

void mark(const Ground& g, uint64_t address, int bytes) {
  uint8_t* shadow = shadow_at(g, address);
  if (bytes >= 4) {
    std::memset(shadow, 0xff, static_cast<size_t>(bytes / 4));
    return;
  }
  // Other blocks may be changing the word's other bytes.
  auto bits = static_cast<uint8_t>(((1 << bytes) - 1) << (address & 3));
  std::atomic_ref word(*shadow);
  if ((word.load(std::memory_order_relaxed) & bits) != bits) word.fetch_or(bits, std::memory_order_relaxed);
}

int32_t move_slowly(Warp* warp, const FragmentCall& call, uint8_t* registers, const uint64_t* addresses,
                    const uint32_t* strides, uint32_t lanes, int32_t check) {
  const FragmentShape& t = call.shape;
  const Ground& g = *warp->ground;
  int bytes = t.access_bytes(), width = t.register_bits() / 8;
  auto bits = static_cast<uint64_t>(bits_of(t.element));
  for (int r = 0; r < call.own_registers; ++r) {
    uint8_t* reg = registers + call.offsets[r];
    if (!call.store) std::memset(reg, 0, static_cast<size_t>(width) * 32);
    for (int i = 0; i < (t.packed() ? 1 : t.each()); ++i) {
      uint64_t at[32] = {};
      uint32_t wrong = 0;
      for (int l = 0; l < 32; ++l) {
        if (!(lanes >> l & 1)) continue;
        ElementPlace p = place_of(t, r, l, i);
        auto line = static_cast<uint64_t>(t.by_columns ? p.column : p.row);
        auto element = static_cast<uint64_t>(t.by_columns ? p.row : p.column);
        at[l] = addresses[l] + line * strides[l] * bits / 8 + element * bits / 8;
        if (!allowed(g, at[l], bytes, call.store)) wrong |= 1u << l;
      }
      if (wrong) {
        std::copy_n(at, 32, warp->address);
        warp->fault_check = check, warp->fault_lanes = lanes, warp->fault_base = 0;
        return 1;
      }
      for (int l = 0; l < 32; ++l) {
        if (!(lanes >> l & 1)) continue;
        uint8_t *here = reg + l * width + i * bytes, *there = memory_at(at[l]);
        std::memcpy(call.store ? there : here, call.store ? here : there, static_cast<size_t>(bytes));
      }
      for (int l = 0; l < 32 && call.store && g.checked && g.init; ++l) {
        if (lanes >> l & 1) mark(g, at[l], bytes);
      }
    }
  }
  if (!call.store) repeat(call, registers);
  return 0;
}

}  // namespace

FragmentCall fragment_call(const FragmentShape& t, bool store, int registers) {
  FragmentCall c;
  c.shape = t, c.store = store, c.registers = registers;
  int bits = bits_of(t.element), length = t.part == Part::kC ? 8 : 4 * t.each();
  c.own_registers = t.registers();
  c.bits = bits, c.lines = t.lines(), c.line_bytes = t.line_elements() * bits / 8;
  c.unit = std::max(t.access_bytes(), 4);
  c.mover = moves_of(t);
  // Blocks are 8 elements one way and `length` the other, which is along a line or across lines.
  bool along = (t.part == Part::kB) == (t.by_columns != 0);
  BlockStep eight = along ? BlockStep{.lines = 8} : BlockStep{.bytes = bits};
  BlockStep other = along ? BlockStep{.bytes = length * bits / 8} : BlockStep{.lines = length};
  eight.count = (t.part == Part::kB ? t.n : t.m) / 8, other.count = (t.part == Part::kC ? t.n : t.k) / length;
  c.inner = t.part == Part::kB ? other : eight, c.outer = t.part == Part::kB ? eight : other;
  return c;
}

int32_t move_fragment(Warp* warp, const FragmentCall* call, uint8_t* registers, uint64_t address, uint64_t stride,
                      int32_t check) {
  const FragmentCall& c = *call;
  const Ground& g = *warp->ground;
  auto bits = static_cast<uint64_t>(c.bits);
  auto lines = static_cast<uint64_t>(c.lines), bytes = static_cast<uint64_t>(c.line_bytes);
  uint64_t pitch = stride * bits / 8, whole = (lines - 1) * pitch + bytes, from = address - g.space.first;
  bool plain = from < g.space.bytes && whole <= g.space.bytes - from &&
               !((address | pitch) & static_cast<uint64_t>(c.unit - 1)) && !(stride * bits & 7) &&
               (!c.store || pitch >= bytes);
  uint8_t* shadow = shadow_at(g, address);
  if (plain && g.checked)
    plain = lines_allowed(c.line_bytes / 4, shadow, c.lines, static_cast<int64_t>(pitch / 4), c.store, g.init);
  if (!plain) {
    uint64_t addresses[32];
    uint32_t strides[32];
    std::fill_n(addresses, 32, address);
    std::fill_n(strides, 32, static_cast<uint32_t>(stride));
    return move_slowly(warp, c, registers, addresses, strides, 0xffffffff, check);
  }
  (c.store ? kMovers<true> : kMovers<false>)[c.mover](c, registers, memory_at(address), static_cast<int64_t>(pitch));
  if (!c.store) {
    if (c.registers > c.own_registers) repeat(c, registers);
    return 0;
  }
  for (uint64_t line = 0; line < lines && g.checked && g.init; ++line, shadow += pitch / 4)
    std::memset(shadow, 0xff, bytes / 4);
  return 0;
}

int32_t move_fragment_of_lanes(Warp* warp, const FragmentCall* call, uint8_t* registers, const uint32_t* strides,
                               uint32_t lanes, int32_t check) {
  const uint64_t* a = warp->address;
  bool one = std::all_of(a, a + 32, [&](uint64_t x) { return x == a[0]; }) &&
             std::all_of(strides, strides + 32, [&](uint32_t s) { return s == strides[0]; });
  if (one && lanes == 0xffffffff) return move_fragment(warp, call, registers, a[0], strides[0], check);
  uint64_t addresses[32];
  std::copy_n(a, 32, addresses);
  return move_slowly(warp, *call, registers, addresses, strides, lanes, check);
}

}  // namespace quern::vgpu
