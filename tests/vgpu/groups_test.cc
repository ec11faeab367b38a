// What threads do together agrees with a plain loop over them (groups.cu): the cells that atomics leave, each chain of
// values that they saw, and what lanes of a warp get from each other, for whole warps and parts of them, in several
// orders of warps and blocks.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "host_real.h"
#include "scale.h"
#include "unit/vgpu/device.h"
#include "values.h"

namespace quern::oracle {
namespace {

constexpr u32 kCells = 32;

struct Groups {
  vgpu::Device device{"tests/vgpu/groups.ptx"};
  Random random{seed()};
  size_t functions = 0, inputs = 0;
  int64_t round = 0;

  // Blocks and checks by turns. Warps of `Warps` below are those of the block, whose size is then a multiple of 32.
  u32 prepare() {
    device.settings.threads = 1;
    device.settings.order = static_cast<u64>(round);
    device.settings.checks.memory = round % 3 != 2;
    device.settings.checks.init = round % 3 == 0;
    vgpu::Machine machine = vgpu::this_machine();
    if (round % 2) machine = {jit::cpu_of(jit::VectorLevel::kSse2), round % 4 == 1};
    device.settings.machine = machine;
    return std::array<u32, 3>{256, 96, 32}[static_cast<size_t>(round) % 3];
  }
};

template <class T>
void atomic(Groups& g, const std::string& name, T (*step)(T, T), bool near) {
  u32 block = g.prepare(), n = static_cast<u32>(200 + below(g.random, 800));
  if (near) block = 1024;
  bool one_cell = below(g.random, 3) == 0;
  bool counts = name.starts_with("increment") || name.starts_with("decrement");
  std::vector<T> values, cells;
  std::vector<u32> where;
  for (u32 i = 0; i < n; ++i) {
    values.push_back(random_value<T>(g.random));
    where.push_back(one_cell ? 3 : static_cast<u32>(below(g.random, kCells)));
  }
  for (u32 i = 0; i < kCells; ++i) {
    if (name.starts_with("add_f") || name.starts_with("add_bf")) {  // whole and small, of pairs zero
      cells.push_back(name.ends_with("x2") ? T{0} : static_cast<T>(below(g.random, 100)));
      continue;
    }
    cells.push_back(counts ? static_cast<T>(below(g.random, 1500)) : random_value<T>(g.random));
  }
  uint64_t to = g.device.copy(cells), seen = g.device.copy(std::vector<T>(n));
  std::string kernel = name + (near ? "_shared" : "");
  auto fault = g.device.run(kernel.c_str(), {(n + block - 1) / block, 1, 1}, {block, 1, 1},
                            vgpu::Device::pack(g.device.copy(values), g.device.copy(where), to, seen, n));
  ASSERT_FALSE(fault) << kernel;
  std::vector<T> after = g.device.read<T>(to, kCells), before = g.device.read<T>(seen, n);
  std::vector<T> right = cells;
  for (u32 i = 0; i < n; ++i) right[where[i]] = step(right[where[i]], values[i]);
  bool last_wins = name.starts_with("exchange");
  // A cell goes from its first value to its last by the values that its threads saw and those that they made of them.
  std::vector<std::vector<T>> from(kCells), into(kCells);
  for (u32 c = 0; c < kCells; ++c) from[c].push_back(after[c]), into[c].push_back(cells[c]);
  for (u32 i = 0; i < n; ++i) {
    from[where[i]].push_back(before[i]);
    into[where[i]].push_back(step(before[i], values[i]));
  }
  for (u32 c = 0; c < kCells; ++c) {
    if (!last_wins) {
      EXPECT_EQ(after[c], right[c]) << kernel << " cell " << c << " round " << g.round;
    }
    std::sort(from[c].begin(), from[c].end());
    std::sort(into[c].begin(), into[c].end());
    EXPECT_EQ(from[c], into[c]) << kernel << " cell " << c << " round " << g.round;
  }
  ++g.functions;
  g.inputs += n;
}

// A warp as the host sees it.
template <class T>
struct Lanes {
  std::array<T, 32> values{};
  std::array<u32, 32> other{};
  u32 mask = 0;
  bool has(u32 lane) const { return lane < 32 && (mask >> lane & 1); }
};

// `model` gives lane's result, or nothing where the manual leaves it open.
template <class T, class R>
void warp(Groups& g, const char* name, std::optional<R> (*model)(const Lanes<T>&, u32 lane)) {
  u32 block = g.prepare(), n = static_cast<u32>(256 + below(g.random, 512));
  std::vector<T> values;
  std::vector<u32> other, masks;
  u32 same = below(g.random, 2) ? 1 : 0;
  for (u32 i = 0; i < (n + 31) / 32 * 32; ++i) {
    values.push_back(random_value<T>(g.random));
    other.push_back(static_cast<u32>(random_value<u32>(g.random)));
    if (i % 32 && same && below(g.random, 8)) values[i] = values[i - 1];
    if (i % 32) continue;
    u32 live = n - i >= 32 ? ~0u : (1u << (n - i)) - 1;
    u32 kinds[] = {~0u, static_cast<u32>(g.random()), 1u << below(g.random, 32), 0xffff0000, 0x0000ffff};
    u32 mask = kinds[below(g.random, 5)] & live;
    masks.push_back(mask ? mask : live);
  }
  std::vector<R> start(n, of_bits<R>(0x5a5a5a5a5a5a5a5a));
  uint64_t to = g.device.copy(start);
  auto fault =
      g.device.run(name, {(n + block - 1) / block, 1, 1}, {block, 1, 1},
                   vgpu::Device::pack(g.device.copy(values), g.device.copy(other), g.device.copy(masks), to, n));
  ASSERT_FALSE(fault) << name;
  std::vector<R> found = g.device.read<R>(to, n);
  for (u32 i = 0; i < n; ++i) {
    u32 first = i / 32 * 32, lane = i % 32;
    Lanes<T> lanes;
    lanes.mask = masks[i / 32];
    for (u32 l = 0; l < 32; ++l) lanes.values[l] = values[first + l], lanes.other[l] = other[first + l];
    std::optional<R> right = lanes.has(lane) ? model(lanes, lane) : start[i];
    if (!right) continue;
    EXPECT_EQ(code_of(*right), code_of(found[i]))
        << fmt::format("{} mask 0x{:08x} lane {} round {}", name, lanes.mask, lane, g.round);
  }
  ++g.functions;
  g.inputs += n;
}

template <class T>
std::optional<T> from(const Lanes<T>& w, u32 lane, u32 source, bool inside) {
  u32 at = inside ? source : lane;
  if (!w.has(at)) return std::nullopt;
  return w.values[at];
}
template <class T, class F>
T over(const Lanes<T>& w, T start, F f) {
  for (u32 l = 0; l < 32; ++l) {
    if (w.has(l)) start = f(start, w.values[l]);
  }
  return start;
}
template <class T, class F>
u32 where(const Lanes<T>& w, F f) {
  u32 r = 0;
  for (u32 l = 0; l < 32; ++l) r |= w.has(l) && f(w.values[l]) ? 1u << l : 0;
  return r;
}

// What each atomic makes of a cell.
u32 inc(u32 a, u32) { return a >= 1000 ? 0 : a + 1; }
u32 dec(u32 a, u32) { return a == 0 || a > 1000 ? 1000 : a - 1; }
template <class T>
T sum(T a, T v) {
  return a + v;
}
template <class T>
T least(T a, T v) {
  return std::min(a, v);
}
template <class T>
T most(T a, T v) {
  return std::max(a, v);
}
template <class T>
T both_bits(T a, T v) {
  return a & v;
}
template <class T>
T either_bits(T a, T v) {
  return a | v;
}
template <class T>
T other_bits(T a, T v) {
  return a ^ v;
}
template <class T>
T last(T, T v) {
  return v;
}
template <class T>
T product(T a, T v) {
  return static_cast<T>(u64{a} * (v | 1u));
}
template <class T>
T little(T a, T v) {
  return a + static_cast<T>(static_cast<s32>(code_of(v) & 7) - 3);
}
template <class T>
T pair_of(u32 v) {
  f32 low = static_cast<f32>(v % 3) - 1, high = static_cast<f32>(v / 3 % 3) - 1;
  if constexpr (std::is_same_v<T, f16x2>) return to_f16x2(low, high);
  return T{to_bf16x2(low, high).bits};
}
template <class T>
u32 pairs(u32 a, u32 v) {
  return add(T{a}, pair_of<T>(v)).bits;
}

void atomics(Groups& g) {
  for (bool near : {false, true}) {
    atomic<u32>(g, "add_u32", sum, near);
    atomic<u64>(g, "add_u64", sum, near);
    atomic<s32>(g, "min_s32", least, near);
    atomic<s32>(g, "max_s32", most, near);
    atomic<u32>(g, "min_u32", least, near);
    atomic<u32>(g, "max_u32", most, near);
    atomic<s64>(g, "min_s64", least, near);
    atomic<s64>(g, "max_s64", most, near);
    atomic<u64>(g, "max_u64", most, near);
    atomic<u32>(g, "and_u32", both_bits, near);
    atomic<u32>(g, "or_u32", either_bits, near);
    atomic<u32>(g, "xor_u32", other_bits, near);
    atomic<u64>(g, "and_u64", both_bits, near);
    atomic<u64>(g, "xor_u64", other_bits, near);
    atomic<u32>(g, "exchange_u32", last, near);
    atomic<u64>(g, "exchange_u64", last, near);
    atomic<u32>(g, "increment_u32", inc, near);
    atomic<u32>(g, "decrement_u32", dec, near);
    atomic<u32>(g, "compare_u32", product, near);
    atomic<u64>(g, "compare_u64", product, near);
    atomic<u16>(g, "compare_u16", product, near);
    atomic<f32>(g, "add_f32", little, near);
    atomic<f64>(g, "add_f64", little, near);
    atomic<u32>(g, "add_f16x2", pairs<f16x2>, near);
    atomic<u32>(g, "add_bf16x2", pairs<bf16x2>, near);
  }
}

// shfl as the manual's pseudo code has it; `other` holds b, and c from its bit 8.
enum class Mode : uint8_t { kUp, kDown, kXor, kIndex };
template <Mode kMode>
std::optional<u32> shuffled(const Lanes<u32>& w, u32 lane) {
  u32 b = w.other[lane] & 31, c = w.other[lane] >> 8 & 31, segment = w.other[lane] >> 16 & 31;
  u32 most = (lane & segment) | (c & ~segment), source = 0;
  switch (kMode) {
    case Mode::kUp: source = lane - b; break;
    case Mode::kDown: source = lane + b; break;
    case Mode::kXor: source = lane ^ b; break;
    case Mode::kIndex: source = (lane & segment) | (b & ~segment); break;
  }
  bool up = kMode == Mode::kUp;
  bool in = up ? static_cast<s32>(source) >= static_cast<s32>(most) : source <= most;
  auto r = from(w, lane, source, in);
  return r ? std::optional(*r ^ (in ? 77 : 0)) : r;
}

void warps(Groups& g) {
  using W = Lanes<u32>;
  auto u = [&](const char* name, std::optional<u32> (*model)(const W&, u32)) { warp<u32, u32>(g, name, model); };
  u("shuffle_index", [](const W& w, u32 l) { return from(w, l, w.other[l] % 32, true); });
  u("shuffle_index_8", [](const W& w, u32 l) { return from(w, l, l / 8 * 8 + w.other[l] % 8, true); });
  u("shuffle_up", [](const W& w, u32 l) { return from(w, l, l - w.other[l] % 32, l % 16 >= w.other[l] % 32); });
  u("shuffle_down", [](const W& w, u32 l) { return from(w, l, l + w.other[l] % 32, l + w.other[l] % 32 < 32); });
  u("shuffle_xor", [](const W& w, u32 l) { return from(w, l, l ^ w.other[l] % 32, true); });
  warp<u64, u64>(g, "shuffle_down_5", [](const Lanes<u64>& w, u32 l) { return from(w, l, l + 5, l + 5 < 32); });
  warp<f64, f64>(g, "shuffle_xor_3", [](const Lanes<f64>& w, u32 l) { return from(w, l, l ^ 3, true); });
  u("shuffle_any_up", shuffled<Mode::kUp>);
  u("shuffle_any_down", shuffled<Mode::kDown>);
  u("shuffle_any_xor", shuffled<Mode::kXor>);
  u("shuffle_any_index", shuffled<Mode::kIndex>);
  using R = std::optional<u32>;
  u("ballot", [](const W& w, u32) -> R { return where(w, [](u32 v) { return v & 1; }); });
  u("any", [](const W& w, u32) -> R { return where(w, [](u32 v) { return v % 16 == 0; }) != 0; });
  u("all", [](const W& w, u32) -> R { return where(w, [](u32 v) { return v % 16 == 0; }) == 0; });
  u("match_any", [](const W& w, u32 l) -> R { return where(w, [&](u32 v) { return v % 5 == w.values[l] % 5; }); });
  warp<u64, u32>(g, "match_any_u64", [](const Lanes<u64>& w, u32 l) -> R {
    return where(w, [&](u64 v) { return v % 3 == w.values[l] % 3; });
  });
  u("match_all", [](const W& w, u32 l) -> R {
    return where(w, [&](u32 v) { return v == w.values[l]; }) == w.mask ? w.mask ^ 1u << 16 : 0;
  });
  u("reduce_add", [](const W& w, u32) -> R { return over(w, 0u, [](u32 a, u32 b) { return a + b; }); });
  using S = std::optional<s32>;
  warp<s32, s32>(g, "reduce_min", [](const Lanes<s32>& w, u32) -> S {
    return over(w, std::numeric_limits<s32>::max(), [](s32 a, s32 b) { return std::min(a, b); });
  });
  warp<s32, s32>(g, "reduce_max", [](const Lanes<s32>& w, u32) -> S {
    return over(w, std::numeric_limits<s32>::min(), [](s32 a, s32 b) { return std::max(a, b); });
  });
  u("reduce_min_u32", [](const W& w, u32) -> R { return over(w, ~0u, [](u32 a, u32 b) { return std::min(a, b); }); });
  u("reduce_max_u32", [](const W& w, u32) -> R { return over(w, 0u, [](u32 a, u32 b) { return std::max(a, b); }); });
  u("reduce_and", [](const W& w, u32) -> R { return over(w, ~0u, [](u32 a, u32 b) { return a & b; }); });
  u("reduce_or", [](const W& w, u32) -> R { return over(w, 0u, [](u32 a, u32 b) { return a | b; }); });
  u("reduce_xor", [](const W& w, u32) -> R { return over(w, 0u, [](u32 a, u32 b) { return a ^ b; }); });
}

void repeat(const char* what, void (*all)(Groups&)) {
  Budget budget;
  size_t functions = 0, inputs = 0;
  int64_t round = 0;
  while (budget.more(2)) {
    Groups g;  // its memory goes with it
    g.random.seed(seed() + static_cast<u64>(round));
    for (int64_t again = 0; again < 16 && (again == 0 || budget.is_long()); ++again) {
      g.round = round++;
      all(g);
      if (again == 0) functions = g.functions;
    }
    inputs += g.inputs;
    if (testing::Test::HasFailure()) break;
  }
  fmt::print("seed {}: {} {}, {} rounds, {} inputs\n", seed(), functions, what, round, inputs);
}

TEST(Groups, AtomicsAgreeWithALoop) { repeat("atomics", atomics); }
TEST(Groups, WarpsAgreeWithALoop) { repeat("functions of warps", warps); }

}  // namespace
}  // namespace quern::oracle
