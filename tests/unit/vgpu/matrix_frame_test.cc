// Registers of fragments share places in the frame. Random programs of loads, products and arithmetic on fragments,
// with a loop and with arms that half of the lanes take each, against the same on plain matrices: of integers, which
// wrap, so that every order gives the same.
#include "vgpu/matrix_frame.h"

#include <fmt/format.h>

#include <random>

#include "device.h"

namespace quern::vgpu {
namespace {

using Bytes = std::array<uint8_t, 256>;  // 16 x 16, by rows
using Sums = std::array<uint32_t, 256>;

constexpr int kInputs = 8, kBytes = 2, kSums = 5;

struct Step {
  enum What { kLoadA, kLoadB, kGuarded, kArms, kTurns, kMultiply } what;
  int a, b, from, to;  // variables
  int n;               // an input or a number
  bool in_place;       // D is C
};

std::vector<Step> steps(std::mt19937& random, int count) {
  auto pick = [&](int n) { return static_cast<int>(random() % static_cast<uint32_t>(n)); };
  constexpr Step::What kWhat[] = {Step::kLoadA, Step::kLoadB,    Step::kGuarded,  Step::kArms,
                                  Step::kTurns, Step::kMultiply, Step::kMultiply, Step::kMultiply};
  std::vector<Step> out;
  for (int i = 0; i < count; ++i)
    out.push_back({kWhat[pick(8)], pick(kBytes), pick(kBytes), pick(kSums), pick(kSums), pick(kInputs), pick(3) == 0});
  return out;
}

// The steps on matrices.
struct Plain {
  const std::array<Bytes, kInputs>& inputs;
  std::array<Bytes, kBytes> a{}, b{};
  std::array<Sums, kSums> c{};

  void run(const std::vector<Step>& all) {
    for (const Step& s : all) {
      auto from = static_cast<size_t>(s.from), to = static_cast<size_t>(s.in_place ? s.from : s.to);
      const Bytes &x = a[static_cast<size_t>(s.a)], &y = b[static_cast<size_t>(s.b)];
      if (s.what == Step::kLoadA) a[static_cast<size_t>(s.a)] = inputs[static_cast<size_t>(s.n)];
      if (s.what == Step::kLoadB) b[static_cast<size_t>(s.b)] = inputs[static_cast<size_t>(s.n)];
      if (s.what == Step::kArms) {
        for (uint32_t& sum : c[static_cast<size_t>(s.to)]) sum += static_cast<uint32_t>(s.n);
      }
      // Lanes with odd numbers have the columns 2, 3, 6, 7 and so on.
      for (size_t e = 0; e < 256 && s.what == Step::kTurns; ++e)
        c[static_cast<size_t>(s.to)][e] += static_cast<uint32_t>(s.n) * (e / 2 % 2 ? 2 : 1);
      if (s.what != Step::kMultiply) continue;
      Sums d = c[from];
      for (size_t e = 0; e < 256; ++e) {
        for (size_t k = 0; k < 16; ++k) d[e] += uint32_t{x[e / 16 * 16 + k]} * y[k * 16 + e % 16];
      }
      c[to] = d;
    }
  }
};

// The steps as PTX: every result has registers of its own, as compilers write them.
struct Text {
  std::string body;
  int next = 0, labels = 0;
  std::array<int, kBytes> a{}, b{};  // first registers
  std::array<int, kSums> c{};

  Text() {
    for (int& regs : a) regs = fresh(2);
    for (int& regs : b) regs = fresh(2);
    for (int& regs : c) regs = fresh(8);
  }
  void multiply(int d, int x, int y, int from) {
    line(fmt::format("wmma.mma.sync.aligned.row.row.m16n16k16.s32.u8.u8.s32 {}, {}, {}, {};", list(d, 8), list(x, 2),
                     list(y, 2), list(from, 8)));
  }
  int fresh(int count) { return std::exchange(next, next + count); }
  void line(const std::string& text) { body += text + "\n"; }
  static std::string list(int first, int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += fmt::format("{}%f{}", i ? ", " : "{", first + i);
    return out + "}";
  }
  void add(int to, int from, int n, const char* guard = "") {
    for (int r = 0; r < 8; ++r) line(fmt::format("{}add.u32 %f{}, %f{}, {};", guard, to + r, from + r, n));
  }
  void load(char part, int& regs, int input) {
    regs = fresh(2);
    line(fmt::format("wmma.load.{}.sync.aligned.row.m16n16k16.global.u8 {}, [%d0+{}], 16;", part, list(regs, 2),
                     input * 256));
  }

  void run(const std::vector<Step>& all) {
    for (const Step& s : all) {
      int &x = a[static_cast<size_t>(s.a)], &y = b[static_cast<size_t>(s.b)];
      int &from = c[static_cast<size_t>(s.from)], &to = c[static_cast<size_t>(s.in_place ? s.from : s.to)];
      int& sum = c[static_cast<size_t>(s.to)];
      switch (s.what) {
        case Step::kLoadA: load('a', x, s.n); break;
        case Step::kLoadB: load('b', y, s.n); break;
        case Step::kGuarded: add(sum, sum, s.n + 1, "@%none "); break;  // a lane that there is not
        case Step::kArms: {
          int label = labels++;
          line(fmt::format("@%some bra odd{};", label));
          add(sum, sum, s.n);
          line(fmt::format("bra.uni both{0};\nodd{0}:", label));
          add(sum, sum, s.n - 3);
          add(sum, sum, 3);
          line(fmt::format("both{}:", label));
          break;
        }
        case Step::kTurns: {
          // Lanes that have left the loop keep `last` while others write `first`; products make fragments of both.
          int label = labels++, first = fresh(8), last = fresh(8);
          multiply(first, x, y, sum);
          line(fmt::format("mov.u32 %j, 0;\nturn{}:", label));
          add(first, sum, s.n);
          add(sum, first, 0);
          add(last, sum, 5);
          line(fmt::format("add.u32 %j, %j, 1; setp.gt.u32 %out, %j, %odd; @%out bra out{0}; bra turn{0};\nout{0}:",
                           label));
          add(sum, last, -5);
          multiply(fresh(8), x, y, last);
          break;
        }
        case Step::kMultiply: {
          int d = s.in_place ? from : fresh(8);
          multiply(d, x, y, from);
          to = d;
        }
      }
    }
  }

  // Around the steps, with all variables in the same registers at the start of every turn.
  void loop(const std::vector<Step>& all, int turns) {
    auto heads = std::tuple(a, b, c);
    line("mov.u32 %i, 0;\nloop:");
    run(all);
    auto back = [&](const auto& to, const auto& from, int count) {
      for (size_t v = 0; v < to.size(); ++v) {
        for (int r = 0; r < count && to[v] != from[v]; ++r)
          line(fmt::format("mov.u32 %f{}, %f{};", to[v] + r, from[v] + r));
      }
    };
    back(std::get<0>(heads), a, 2), back(std::get<1>(heads), b, 2), back(std::get<2>(heads), c, 8);
    std::tie(a, b, c) = heads;
    line(fmt::format("add.u32 %i, %i, 1; setp.lt.u32 %more, %i, {};\n@%more bra loop;", turns));
  }

  std::string whole() const {
    std::string stores;
    for (int v = 0; v < kSums; ++v) {
      stores += fmt::format("wmma.store.d.sync.aligned.row.m16n16k16.global.s32 [%d1+{}], {}, 16;\n", v * 1024,
                            list(c[static_cast<size_t>(v)], 8));
    }
    return fmt::format(
        ".version 8.4\n.target sm_90\n.address_size 64\n.visible .entry f(.param .u64 in, .param .u64 out) {{\n"
        ".reg .b64 %d<2>; .reg .b32 %t, %odd, %i, %j; .reg .pred %some, %none, %more, %out; .reg .b32 %f<{}>;\n"
        "ld.param.u64 %d0, [in]; ld.param.u64 %d1, [out]; mov.u32 %t, %tid.x; and.b32 %odd, %t, 1;\n"
        "setp.ne.u32 %some, %odd, 0; setp.ge.u32 %none, %t, 64;\n{}{}ret;\n}}\n",
        next, body, stores);
  }
};

TEST(MatrixFrame, RandomPrograms) {
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::array<Bytes, kInputs> inputs;
    std::vector<uint8_t> memory;
    for (Bytes& m : inputs) {
      for (uint8_t& b : m) memory.push_back(b = static_cast<uint8_t>(random()));
    }
    auto before = steps(random, 12), inside = steps(random, 14), after = steps(random, 8);
    int turns = 1 + static_cast<int>(random() % 3);
    Plain plain{.inputs = inputs};
    Text text;
    plain.run(before), text.run(before);
    for (int i = 0; i < turns; ++i) plain.run(inside);
    text.loop(inside, turns);
    plain.run(after), text.run(after);
    Device d{Device::Text{text.whole()}};
    uint64_t out = d.allocate(kSums * 1024);
    // A second warp, and a class of blocks in which not all lanes are threads.
    uint32_t threads = seed % 4 == 0 ? 64 : 32;
    ASSERT_FALSE(d.run("f", {1, 1, 1}, {threads, 1, 1}, Device::pack(d.copy(memory), out)));
    for (size_t v = 0; v < kSums; ++v) {
      auto got = d.read<uint32_t>(out + v * 1024, 256);
      ASSERT_TRUE(std::equal(got.begin(), got.end(), plain.c[v].begin())) << "sum " << v << "\n" << text.whole();
    }
  }
}

// What an unrolled loop has registers for isn't what it needs at a time.
TEST(MatrixFrame, IsAsLargeAsWhatLivesAtATime) {
  auto frame = [](int unrolled) {
    std::mt19937 random(3);
    Text text;
    for (int i = 0; i < unrolled; ++i)
      text.run({{Step::kLoadA, 0, 0, 0, 0, 0, false},
                {Step::kLoadB, 0, 0, 0, 0, 1, false},
                {Step::kMultiply, 0, 0, 0, 0, 0, false}});
    Device d{Device::Text{text.whole()}};
    const ptx::Function& f = *d.program().kernel("f");
    Flow flow = flow_of(f);
    Shapes shapes = find_shapes(f, flow, class_of(32, 1, 1), 0);
    return place_matrices(f, flow, shapes).bytes;
  };
  EXPECT_EQ(frame(100), frame(10));
}

}  // namespace
}  // namespace quern::vgpu
