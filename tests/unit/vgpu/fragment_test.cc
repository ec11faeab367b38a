// wmma.load and wmma.store against the plainest way to do them: element by element, with every access asked about at
// the memory itself. All shapes, types, layouts and spaces; strides and addresses as programs have them, and as they
// shouldn't.
#include "vgpu/matrix/fragment.h"

#include <fmt/format.h>

#include <bit>
#include <map>
#include <random>
#include <set>

#include "device.h"

namespace quern::vgpu {
namespace {

struct Kind {
  int m, n, k;
  const char* type;
  Element element;
  char part;
  bool by_columns;
  const char* space;  // "global", "shared" or "" for generic
  bool store;
};

std::string shape_name(const Kind& t) { return fmt::format("m{}n{}k{}", t.m, t.n, t.k); }
std::string name_of(const Kind& t, bool one) {
  return fmt::format("{}_{}_{}_{}_{}_{}_{}", t.store ? "store" : "load", t.part, t.by_columns ? "col" : "row",
                     shape_name(t), t.type, *t.space ? t.space : "any", one ? "one" : "each");
}

std::vector<Kind> kinds() {
  struct Form {
    int m, n, k;
    const char* type;
    Element element;
    const char* c;
    Element c_element;
  };
  std::vector<Form> forms;
  for (auto [m, n] : {std::pair(16, 16), {32, 8}, {8, 32}}) {
    forms.push_back({m, n, 16, "f16", Element::kF16, "f16", Element::kF16});
    forms.push_back({m, n, 16, "bf16", Element::kBf16, "f32", Element::kF32});
    forms.push_back({m, n, 16, "s8", Element::kS8, "s32", Element::kS32});
    forms.push_back({m, n, 16, "u8", Element::kU8, "s32", Element::kS32});
  }
  forms.push_back({16, 16, 8, "tf32", Element::kTf32, "f32", Element::kF32});
  forms.push_back({8, 8, 4, "f64", Element::kF64, "f64", Element::kF64});
  forms.push_back({8, 8, 32, "s4", Element::kS4, "s32", Element::kS32});
  forms.push_back({8, 8, 32, "u4", Element::kU4, "s32", Element::kS32});
  forms.push_back({8, 8, 128, "b1", Element::kB1, "s32", Element::kS32});
  std::vector<Kind> out;
  std::set<std::string> names;  // several kinds of products have the same C
  auto add = [&](const Kind& t) {
    if (names.insert(name_of(t, true)).second) out.push_back(t);
  };
  for (const Form& f : forms) {
    const char* anywhere = out.size() % 2 ? "" : "global";
    for (const char* space : {"shared", anywhere}) {
      for (bool columns : {false, true}) {
        for (char part : {'a', 'b'}) {
          if (bits_of(f.element) < 8 && columns != (part == 'b')) continue;  // there is only one layout
          add({f.m, f.n, f.k, f.type, f.element, part, columns, space, false});
        }
        add({f.m, f.n, f.k, f.c, f.c_element, 'c', columns, space, false});
        add({f.m, f.n, f.k, f.c, f.c_element, 'd', columns, space, true});
      }
    }
  }
  return out;
}

int rows(const Kind& t) { return t.part == 'b' ? t.k : t.m; }
int columns(const Kind& t) { return t.part == 'a' ? t.k : t.n; }
int width(const Kind& t) { return bits_of(t.element) == 64 ? 8 : 4; }  // of a register, bytes
int registers(const Kind& t) { return rows(t) * columns(t) * bits_of(t.element) / 8 / 32 / width(t); }
int operands(const Kind& t) { return t.element == Element::kF16 && t.part < 'c' ? 8 : registers(t); }

constexpr int kShared = 16384;

// `data` is copied to the block's memory before, and back afterwards.
std::string copied(bool back) {
  const char* move = back ? "ld.shared.b32 %r7, [%r5]; st.global.b32 [%d8], %r7;"
                          : "ld.global.b32 %r7, [%d8]; st.shared.b32 [%r5], %r7;";
  return fmt::format(
      "bar.sync 0; ld.param.u64 %d8, [data]; mul.wide.u32 %d9, %r0, 4; add.u64 %d8, %d8, %d9;\n"
      "shl.b32 %r5, %r0, 2; mov.u32 %r4, buffer; add.u32 %r5, %r5, %r4; mov.u32 %r6, 0;\n"
      "copy{0}: {1} add.u64 %d8, %d8, 128; add.u32 %r5, %r5, 128; add.u32 %r6, %r6, 128;\n"
      "setp.lt.u32 %p2, %r6, {2}; @%p2 bra copy{0};\nbar.sync 0;\n",
      back ? 1 : 0, move, kShared);
}

// `one`: all lanes have the address and stride that the parameters are; else each has its own in arrays, and a bit of
// `lanes` that says whether it takes part.
std::string kernel(const Kind& t, bool one) {
  bool shared = !std::strcmp(t.space, "shared");
  std::string bits = width(t) == 8 ? "b64" : "b32", list, loads, stores;
  for (int r = 0; r < operands(t); ++r) {
    list += fmt::format("{}%f{}", r ? ", " : "", r);
    loads += fmt::format("ld.global.{} %f{}, [%d2+{}];\n", bits, r, r * 32 * width(t));
    stores += fmt::format("st.global.{} [%d2+{}], %f{};\n", bits, r * 32 * width(t), r);
  }
  std::string s = fmt::format(
      ".visible .entry {}(.param .u64 bases, .param .u64 strides, .param .u32 lanes, .param .u64 regs,\n"
      ".param .u64 data) {{\n.reg .b64 %d<16>; .reg .b32 %r<16>; .reg .pred %p<4>; .reg .{} %f<{}>;\n",
      name_of(t, one), bits, operands(t));
  if (shared) s += fmt::format(".shared .align 256 .b8 buffer[{}];\n", kShared);
  s += "mov.u32 %r0, %tid.x;\n";
  if (shared) s += copied(false);
  s += "ld.param.u64 %d0, [bases]; ld.param.u64 %d1, [strides]; ld.param.u32 %r1, [lanes]; ld.param.u64 %d2, [regs];\n";
  if (one) {
    s += "mov.u64 %d5, %d0; cvt.u32.u64 %r3, %d1;\n";
  } else {
    s += "mul.wide.u32 %d3, %r0, 8; add.u64 %d0, %d0, %d3; mul.wide.u32 %d4, %r0, 4; add.u64 %d1, %d1, %d4;\n"
         "shr.u32 %r2, %r1, %r0; and.b32 %r2, %r2, 1; setp.ne.u32 %p1, %r2, 0;\n"
         "ld.global.u64 %d5, [%d0]; ld.global.u32 %r3, [%d1];\n";
  }
  s += fmt::format("mul.wide.u32 %d6, %r0, {}; add.u64 %d2, %d2, %d6;\n", width(t)) + loads;
  if (shared) s += "cvt.u32.u64 %r8, %d5; mov.u32 %r9, buffer; add.u32 %r8, %r8, %r9;\n";
  std::string what = fmt::format("wmma.{}.{}.sync.aligned.{}.{}{}{}.{}", t.store ? "store" : "load", t.part,
                                 t.by_columns ? "col" : "row", shape_name(t), *t.space ? "." : "", t.space, t.type);
  s += fmt::format(fmt::runtime(t.store ? "{0}{1} [{2}], {{{3}}}, %r3;\n" : "{0}{1} {{{3}}}, [{2}], %r3;\n"),
                   one ? "" : "@%p1 ", what, shared ? "%r8" : "%d5", list);
  s += stores;
  if (shared) s += copied(true);
  return s + "ret;\n}\n";
}

// Where element i of register r of a lane is: the manual's tables for mma.
std::pair<int, int> place(const Kind& t, int r, int lane, int i) {
  int bits = bits_of(t.element), each = std::max(1, 32 / bits);
  if (t.part == 'a') return {r % (t.m / 8) * 8 + lane / 4, (r / (t.m / 8) * 4 + lane % 4) * each + i};
  if (t.part == 'b') {
    int chunks = t.k / (4 * each);
    return {(r % chunks * 4 + lane % 4) * each + i, r / chunks * 8 + lane / 4};
  }
  int q = bits == 16 ? r : r / 2, column = bits == 16 ? i : r % 2;
  return {q % (t.m / 8) * 8 + lane / 4, q / (t.m / 8) * 8 + lane % 4 * 2 + column};
}

struct Wrong {
  FaultKind kind;
  uint64_t address;
  int bytes;
  uint32_t lanes;
};

struct Trial {
  std::array<uint64_t, 32> bases{};  // of shared memory: offsets
  std::array<uint32_t, 32> strides{};
  uint32_t lanes = 0xffffffff;
};

class Fragments : public ::testing::Test {
 protected:
  // Does the instruction in `registers` and `memory`, which stands for what is at `origin`; or says what is wrong.
  std::optional<Wrong> truth(const Kind& t, const Trial& trial, std::vector<uint8_t>& regs, std::vector<uint8_t>& bytes,
                             uint64_t origin) {
    int bits = bits_of(t.element), each = t.part < 'c' ? std::max(1, 32 / bits) : bits == 16 ? 2 : 1;
    bool joined = each == 1 || (t.part == 'b' ? t.by_columns : !t.by_columns);
    int unit = joined ? width(t) : bits / 8, count = joined ? 1 : each;
    bool shared = !std::strcmp(t.space, "shared");
    for (int r = 0; r < registers(t); ++r) {
      for (int i = 0; i < count; ++i) {
        std::optional<Wrong> bad;
        std::array<uint64_t, 32> at{};
        for (int l = 0; l < 32; ++l) {
          auto lane = static_cast<size_t>(l);
          if (!(trial.lanes >> l & 1)) continue;
          auto [row, column] = place(t, r, l, i);
          auto line = static_cast<uint64_t>(t.by_columns ? column : row);
          auto element = static_cast<uint64_t>(t.by_columns ? row : column);
          at[lane] = trial.bases[lane] + line * trial.strides[lane] * static_cast<uint64_t>(bits) / 8 +
                     element * static_cast<uint64_t>(bits) / 8;
          auto wrong = shared ? wrong_in_shared(at[lane], unit) : wrong_at(at[lane], unit, t.store);
          if (!wrong) continue;
          if (!bad) bad = Wrong{*wrong, at[lane], unit, 0};
          if (bad->kind == wrong) bad->lanes |= 1u << l;
        }
        if (bad) return bad;
        for (int l = 0; l < 32; ++l) {
          if (!(trial.lanes >> l & 1)) continue;
          uint8_t* reg = regs.data() + (r * 32 + l) * width(t) + i * unit;
          uint8_t* there = &bytes.at(at[static_cast<size_t>(l)] - origin);
          std::memcpy(t.store ? there : reg, t.store ? reg : there, static_cast<size_t>(unit));
          for (int b = 0; b < unit && t.store && !shared; ++b)
            written_[at[static_cast<size_t>(l)] - origin + static_cast<uint64_t>(b)] = true;
        }
      }
    }
    for (int r = registers(t); r < operands(t) && !t.store; ++r) {
      for (int l = 0; l < 32; ++l) {
        if (!(trial.lanes >> l & 1)) continue;
        std::memcpy(regs.data() + (r * 32 + l) * width(t), regs.data() + (r % registers(t) * 32 + l) * width(t),
                    static_cast<size_t>(width(t)));
      }
    }
    return std::nullopt;
  }

  std::optional<FaultKind> wrong_at(uint64_t a, int bytes, bool store) const {
    auto in = device_->memory().find(a);
    if (!device_->memory().contains(a, bytes))
      return in && in->released ? FaultKind::kUseAfterFree : FaultKind::kOutOfBounds;
    if (a % static_cast<uint64_t>(bytes)) return FaultKind::kMisaligned;
    if (store) return in->holds == Holds::kConstant ? std::optional(FaultKind::kReadOnly) : std::nullopt;
    bool has = device_->memory().first_unwritten(a, bytes) == a + static_cast<uint64_t>(bytes);
    return has || !device_->settings.checks.init ? std::nullopt : std::optional(FaultKind::kUninitialised);
  }
  static std::optional<FaultKind> wrong_in_shared(uint64_t at, int bytes) {
    if (at + static_cast<uint64_t>(bytes) > kShared) return FaultKind::kOutOfBounds;
    return at % static_cast<uint64_t>(bytes) ? std::optional(FaultKind::kMisaligned) : std::nullopt;
  }

  void compare(const Kind& t, const Trial& trial, bool one, uint64_t origin, int64_t size) {
    std::string called = name_of(t, one);
    SCOPED_TRACE(
        fmt::format("{} base {} stride {} lanes {:x}", called, trial.bases[0] - origin, trial.strides[0], trial.lanes));
    bool shared = !std::strcmp(t.space, "shared");
    std::vector<uint8_t> regs(static_cast<size_t>(operands(t) * 32 * width(t)));
    for (uint8_t& b : regs) b = static_cast<uint8_t>(random_());
    std::vector<uint8_t> memory = device_->read<uint8_t>(origin, static_cast<size_t>(size));
    std::vector<uint8_t> had = memory, had_regs = regs;
    written_.assign(memory.size(), false);
    if (t.store && !shared) device_->memory().mark_unwritten(origin, size);
    uint64_t dregs = device_->copy(regs);
    auto expected = truth(t, trial, regs, memory, shared ? 0 : origin);
    std::vector<std::byte> arguments;
    if (one) {
      arguments = Device::pack(trial.bases[0], uint64_t{trial.strides[0]}, trial.lanes, dregs, origin);
    } else {
      uint64_t bases = device_->copy(std::vector<uint64_t>(trial.bases.begin(), trial.bases.end()));
      uint64_t strides = device_->copy(std::vector<uint32_t>(trial.strides.begin(), trial.strides.end()));
      arguments = Device::pack(bases, strides, trial.lanes, dregs, origin);
    }
    auto fault = device_->run(called.c_str(), {1, 1, 1}, {32, 1, 1}, arguments);
    ASSERT_EQ(fault.has_value(), expected.has_value()) << (fault ? fault->instruction : "no fault");
    ++(expected ? faults_[static_cast<int>(expected->kind)] : faults_[-1]);
    if (expected) {
      EXPECT_EQ(fault->kind, expected->kind);
      EXPECT_EQ(fault->address, expected->address);
      EXPECT_EQ(fault->bytes, expected->bytes);
      EXPECT_EQ(fault->lanes, expected->lanes);
      EXPECT_EQ(fault->thread[0], static_cast<uint32_t>(std::countr_zero(expected->lanes)));
      EXPECT_EQ(fault->access, t.store ? Access::kStore : Access::kLoad);
      EXPECT_NE(fault->instruction.find("wmma"), std::string::npos) << fault->instruction;
      if (shared) {
        std::memcpy(reinterpret_cast<void*>(origin), had.data(), had.size());
        return;
      }
    } else {
      EXPECT_EQ(device_->read<uint8_t>(dregs, regs.size()), regs);
    }
    EXPECT_EQ(device_->read<uint8_t>(origin, memory.size()), memory);
    for (uint64_t i = 0; i < written_.size() && t.store && !shared; ++i)
      ASSERT_EQ(device_->memory().first_unwritten(origin + i, 1) != origin + i, written_[i]) << i;
    // As it was, for the next one.
    std::memcpy(reinterpret_cast<void*>(origin), had.data(), had.size());
    if (t.store) device_->memory().mark_written(origin, size);
  }

  std::unique_ptr<Device> device_;
  std::mt19937 random_{7};
  std::vector<bool> written_;
  std::map<int, int> faults_;
};

TEST_F(Fragments, LikeElementByElement) {
  std::string text = ".version 8.4\n.target sm_90\n.address_size 64\n.const .align 256 .b8 table[16384];\n";
  for (const Kind& t : kinds()) text += kernel(t, true) + kernel(t, false);
  device_ = std::make_unique<Device>(Device::Text{text});
  constexpr int64_t kSize = 16384;
  std::vector<uint8_t> values(kSize);
  for (uint8_t& b : values) b = static_cast<uint8_t>(random_());
  // Far from everything else, so that only what is in it may be accessed.
  uint64_t good = device_->memory().allocate(kSize, 256, Holds::kGlobal, "cudaMalloc", 0, int64_t{1} << 32).value();
  std::memcpy(reinterpret_cast<void*>(good), values.data(), values.size());
  device_->memory().mark_written(good, kSize);
  uint64_t freed = device_->copy(values), table = device_->program().variable("table")->address;
  device_->memory().release(freed);
  auto below = [&](uint32_t n) { return static_cast<uint32_t>(random_()) % n; };
  for (const Kind& t : kinds()) {
    bool shared = !std::strcmp(t.space, "shared");
    auto line = static_cast<uint32_t>(t.by_columns ? rows(t) : columns(t));
    auto bits = static_cast<uint32_t>(bits_of(t.element)), unit = std::max(1u, 32 / bits);
    for (int round = 0; round < 24; ++round) {
      Trial trial;
      // Usual strides; then such as tear words apart, overlap, or reach far: not beyond what is kept free around shared
      // memory.
      const uint32_t strides[] = {line,     line + unit * below(8), line * 2, line + 1, below(line), 0,
                                  1u << 20, ~0u - below(9)};
      uint32_t stride = strides[below(round < 8 ? 3 : shared ? 7 : 8)];
      uint64_t origin = good, base = shared ? 0 : origin;
      base += round < 4 ? 0 : round < 12 ? 16 * below(64) : below(kSize);
      if (round == 23 && !shared) base = freed + 16 * below(4);
      if (round == 22 && !shared) base = t.store ? table : good - 16;
      if (round == 21 && !shared) base = reinterpret_cast<uint64_t>(values.data());
      if (round == 20 && !shared) base = below(2) ? ~uint64_t{0} - below(64) : below(64);
      trial.bases.fill(base), trial.strides.fill(stride);
      bool hole = !t.store && !shared && round % 3 == 2;
      uint64_t hole_at = good + below(kSize);
      if (hole) device_->memory().mark_unwritten(hole_at, 1);
      compare(t, trial, true, origin, kSize);
      compare(t, trial, false, origin, kSize);
      if (round % 4 == 0) {
        trial.lanes = static_cast<uint32_t>(random_());
        compare(t, trial, false, origin, kSize);
      }
      if (round % 4 == 1) {
        for (size_t l = 0; l < 32; ++l) trial.bases[l] += 16 * below(8), trial.strides[l] += unit * below(2);
        compare(t, trial, false, origin, kSize);
      }
      if (hole) device_->memory().mark_written(hole_at, 1);
      if (HasFailure()) return;
    }
  }
  // All kinds of faults were among them.
  for (FaultKind k : {FaultKind::kOutOfBounds, FaultKind::kMisaligned, FaultKind::kUseAfterFree, FaultKind::kReadOnly,
                      FaultKind::kUninitialised})
    EXPECT_GT(faults_[static_cast<int>(k)], 10) << static_cast<int>(k);
  EXPECT_GT(faults_[-1], 1000);
}

}  // namespace
}  // namespace quern::vgpu
