// Loads and stores of every kind: strided, gathered, guarded, checked, scattered, atomic, in 4 bits.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/scalar_type.h"
#include "jitted_program.h"
#include "tile/range.h"

namespace quern::target {
namespace {

// The lanes clause for an axis: four vectors, or none.
std::vector<std::string> blocks(const jit::CpuTarget& cpu) {
  return {"", ":" + std::to_string(cpu.vector_bytes / 2) + " lanes"};
}

// One lane of a vector that is narrowed as it is stored: what stands behind it stays. LLVM knows that mask.
TEST(Access, ALastLaneOfNarrowElements) {
  constexpr const char* kText = R"(program p laid
dims N = {n}
in x: {from}[3]
out y: {to}[3, N]
out z: {to}[3, N + 7]

kernel k
  axes m < 3, n < N
  nest m n:{l} lanes
    store y[m, n] = {to}({e})
    store z[m, n + 7] = {to}({e}) when n == {n} - 2
)";
  for (const jit::CpuTarget& cpu : targets()) {
    for (const char* from : {"f32", "f64", "i32"}) {
      int64_t lanes = cpu.vector_bytes / (from == std::string_view("f64") ? 8 : 4);
      for (const char* to : {"bf16", "f16", "i8"}) {
        if ((from[0] == 'i') != (to[0] == 'i')) continue;
        std::string e = from[0] == 'i' ? "i64(load x[m]) + n" : "load x[m] + {from}(n)";
        for (int64_t n : {int64_t{2}, lanes + 1, 3 * lanes + 1}) {
          Jitted f(filled(filled(kText, {{"e", e}, {"l", std::to_string(2 * lanes)}}),
                          {{"n", std::to_string(n)}, {"from", from}, {"to", to}}),
                   cpu);
          std::vector<uint64_t> x(3, 0x4000000040000000);  // 2 in each type of reals, an even i32
          int64_t bytes = to[0] == 'i' ? 1 : 2;
          Guarded<uint8_t> y(3 * n * bytes), z(3 * (n + 7) * bytes, 0x5a);
          ASSERT_TRUE(f({x.data(), y.data(), z.data()}).ok);
          for (int64_t i = 0; i < 3 * (n + 7) * bytes; ++i) {
            ASSERT_TRUE(i / bytes % (n + 7) == n + 5 || z[i] == 0x5a) << from << " " << to << " " << n << " " << i;
          }
        }
      }
    }
  }
}

TEST(Access, StridesAndTransposes) {
  constexpr const char* kText = R"(program p laid
dims dyn N
in x: f32[N, 3]
in t: f32[3, N]
in s: f32
out y: f32[3, N]
out z: f32[N, 3]

kernel k
  axes n < N, c < 3
  nest c n{l}
    store y[c, n] = load x[n, c] * load s
    store z[n, c] = load t[c, N - 1 - n] + f32(n * 2 - c)
)";
  for (const jit::CpuTarget& cpu : targets()) {
    for (const std::string& l : blocks(cpu)) {
      Jitted f(filled(kText, {{"l", l}}), cpu);
      for (int64_t n : {0, 1, 7, 32, 67}) {
        std::vector<float> x = random_floats(3 * n, 1), t = random_floats(3 * n, 2);
        float s = 1.5;
        Guarded<float> y(3 * n), z(3 * n);
        ASSERT_TRUE(f({x.data(), t.data(), &s, y.data(), z.data()}, {{"N", n}}).ok);
        for (int64_t i = 0; i < n; ++i) {
          for (int64_t c = 0; c < 3; ++c) {
            ASSERT_EQ(y[c * n + i], x[static_cast<size_t>(i * 3 + c)] * s);
            ASSERT_EQ(z[i * 3 + c], t[static_cast<size_t>(c * n + n - 1 - i)] + static_cast<float>(i * 2 - c));
          }
        }
      }
    }
  }
}

TEST(Access, GuardsKeepReadsAndStoresAway) {
  // The guarded reads would be outside of the arrays.
  constexpr const char* kText = R"(program p laid
dims dyn N
in x: f32[N]
inout y: f32[N]

kernel k
  axes n < N
  nest n{l}
    store y[n] = (load x[n - 3] if n >= 3 else 0.5) + (load x[n + 2] if n < N - 2) when n % 3 != 1
)";
  for (const jit::CpuTarget& cpu : targets()) {
    for (const std::string& l : blocks(cpu)) {
      Jitted f(filled(kText, {{"l", l}}), cpu);
      for (int64_t n : {0, 1, 2, 5, 40, 67}) {
        std::vector<float> x = random_floats(n, 1);
        Guarded<float> y(n, -7);
        ASSERT_TRUE(f({x.data(), y.data()}, {{"N", n}}).ok);
        for (int64_t i = 0; i < n; ++i) {
          float want =
              (i >= 3 ? x[static_cast<size_t>(i - 3)] : 0.5f) + (i < n - 2 ? x[static_cast<size_t>(i + 2)] : 0);
          ASSERT_EQ(y[i], i % 3 != 1 ? want : -7) << i << " of " << n;
        }
      }
    }
  }
}

constexpr const char* kGather = R"(program p laid
dims dyn N, T = 10
in i: i32[N]
in x: f32[T, 2]
in h: f16[T]
out y: f32[N]
site E801 "x" "i[n]"
site E801 "h" "i[n]"

kernel k
  axes b < 2, n < N
  scalar b
  grid b
  nest n{l}
    store y[n] = load x[checked i64(load i[n]), b] @0 + f32(load h[checked i64(load i[n])] @1) when b == 1
)";

TEST(Access, GathersAreCheckedAndTheFirstFaultIsReported) {
  for (const jit::CpuTarget& cpu : targets()) {
    for (const std::string& l : blocks(cpu)) {
      Jitted f(filled(kGather, {{"l", l}}), cpu);
      for (int64_t n : {1, 37, 70}) {
        std::vector<int32_t> i(static_cast<size_t>(n));
        for (int64_t k = 0; k < n; ++k) i[static_cast<size_t>(k)] = static_cast<int32_t>(k * 7 % 10);
        std::vector<float> x = random_floats(20, 1);
        std::vector<uint16_t> h(10);
        for (size_t k = 0; k < 10; ++k)
          h[k] = static_cast<uint16_t>(encode_real(ScalarType::f16, static_cast<double>(k) / 4));
        auto want = [&](int64_t k) {
          int32_t at = i[static_cast<size_t>(k)];
          return at < 0 || at >= 10 ? 0 : x[static_cast<size_t>(at * 2 + 1)] + static_cast<float>(at) / 4;
        };
        for (bool wrong : {false, true}) {
          if (wrong) i[static_cast<size_t>(n - 1)] = 10, i[static_cast<size_t>(n / 2)] = -3;
          Guarded<float> y(n, -7);
          Ran ran = f({i.data(), x.data(), h.data(), y.data()}, {{"N", n}});
          ASSERT_TRUE(ran.ok);
          for (int64_t k = 0; k < n; ++k) ASSERT_EQ(y[k], want(k)) << k << " of " << n;
          if (!wrong) {
            EXPECT_EQ(ran.report.point, INT64_MAX);
            continue;
          }
          int64_t first = n == 1 ? 0 : n / 2;
          EXPECT_EQ(ran.report.point, 0);
          EXPECT_EQ(ran.report.site, 0);
          EXPECT_EQ(ran.report.subscript, 0);
          EXPECT_EQ(ran.report.value, n == 1 ? -3 : -3);
          EXPECT_EQ(ran.report.extent, 10);
          EXPECT_EQ(ran.report.known, 3u);
          EXPECT_EQ(ran.report.axes[0], 0);
          EXPECT_EQ(ran.report.axes[1], first);
        }
      }
    }
  }
}

TEST(Access, ChecksReportAndYieldWhetherTheyHold) {
  constexpr const char* kText = R"(program p laid
dims N = 40
in x: f32[N]
out y: f32[N]
site E806 "" "division"

kernel k
  axes n < N
  nest n{l}
    store y[n] = 1.0 if check(load x[n] > 0.0, n * 2, n != 3) @0 else 2.0
)";
  for (const jit::CpuTarget& cpu : targets()) {
    for (const std::string& l : blocks(cpu)) {
      Jitted f(filled(kText, {{"l", l}}), cpu);
      if (!f) return;
      std::vector<float> x(40, 1.0f);
      x[3] = x[21] = x[33] = -1;
      Guarded<float> y(40);
      Ran ran = f({x.data(), y.data()});
      for (int64_t i = 0; i < 40; ++i) EXPECT_EQ(y[i], i == 3 || i == 21 || i == 33 ? 2 : 1);
      EXPECT_EQ(ran.report.site, 0);
      EXPECT_EQ(ran.report.value, 42);
      EXPECT_EQ(ran.report.subscript, -1);
    }
  }
}

TEST(Access, UpdatesThatMeetAddUp) {
  for (const char* type : {"f32", "f64", "i64", "i32", "i16", "u8", "f16", "bf16", "f8e5m2"}) {
    for (const char* atomic : {"", "atomic "}) {
      std::string text = R"(program p laid
dims dyn N, B = 5
in i: i64[N]
inout h: {type}[B]
inout d: {type}[N]

kernel k
  axes n < N
  nest n{l}
    {atomic}store h[load i[n]] += {type}({value})
    store d[n] += {type}({value})
)";
      ScalarType t = *parse_type(type);
      bool real = kind(t) == Kind::kReal;
      for (const jit::CpuTarget& cpu : targets()) {
        for (const std::string& l : blocks(cpu)) {
          Jitted f(filled(text, {{"l", l}, {"type", type}, {"atomic", atomic}, {"value", real ? "1.0" : "n - n + 1"}}),
                   cpu);
          if (!f) return;
          for (int64_t n : {1, 37}) {
            std::vector<int64_t> i(static_cast<size_t>(n)), count(5, 0);
            for (int64_t k = 0; k < n; ++k) ++count[static_cast<size_t>(i[static_cast<size_t>(k)] = k * k % 5)];
            size_t width = static_cast<size_t>(row(t).bits) / 8;
            Guarded<char> h(static_cast<int64_t>(5 * width)), d(static_cast<int64_t>(static_cast<size_t>(n) * width));
            std::memset(h.data(), 0, 5 * width);
            std::memset(d.data(), 0, static_cast<size_t>(n) * width);
            ASSERT_TRUE(f({i.data(), h.data(), d.data()}, {{"N", n}}).ok);
            auto at = [&](const char* p, int64_t k) {
              uint64_t bits = load_bits(t, p, k);
              return real ? decode_real(t, bits) : static_cast<double>(decode_int(t, bits));
            };
            for (int64_t k = 0; k < 5; ++k) {
              double want = 0;
              for (int64_t c = 0; c < count[static_cast<size_t>(k)]; ++c)
                want = real ? round_to(t, want + 1) : want + 1;
              ASSERT_EQ(at(h.data(), k), want) << type << atomic << l;
            }
            for (int64_t k = 0; k < n; ++k) ASSERT_EQ(at(d.data(), k), 1);
          }
        }
      }
    }
  }
}

TEST(Access, FourBitElements) {
  constexpr const char* kText = R"(program p laid
dims dyn M, dyn N
in x: i4[M, N]
in e: f4e2m1[M, N]
in j: i64[N]
out y: i4[M, N]
out z: u4[M, N]
out f: f32[M, N]

kernel k
  axes m < M, n < N
  nest m n{l}
    store y[m, n] = i4(i64(load x[m, n]) + 1)
    store z[m, N - 1 - n] = u4(load x[m, load j[n]])
    store f[m, n] = f32(load e[m, n])
)";
  for (const jit::CpuTarget& cpu : targets()) {
    for (const std::string& l : blocks(cpu)) {
      Jitted f(filled(kText, {{"l", l}}), cpu);
      if (!f) return;
      for (int64_t n : {2, 14, 32, 70}) {
        constexpr int64_t kM = 3;
        std::vector<unsigned char> x(static_cast<size_t>(kM * n / 2)), e(x.size());
        std::mt19937 g(4);
        for (auto& b : x) b = static_cast<unsigned char>(g());
        for (auto& b : e) b = static_cast<unsigned char>(g());
        std::vector<int64_t> j(static_cast<size_t>(n));
        std::iota(j.begin(), j.end(), 0);
        std::shuffle(j.begin(), j.end(), g);
        Guarded<unsigned char> y(kM * n / 2, 0xff), z(kM * n / 2, 0xff);
        Guarded<float> r(kM * n);
        ASSERT_TRUE(f({x.data(), e.data(), j.data(), y.data(), z.data(), r.data()}, {{"M", kM}, {"N", n}}).ok);
        for (int64_t m = 0; m < kM; ++m) {
          for (int64_t k = 0; k < n; ++k) {
            auto in = [&](int64_t at) {
              return decode_int(ScalarType::i4, load_bits(ScalarType::i4, x.data(), m * n + at));
            };
            ASSERT_EQ(decode_int(ScalarType::i4, load_bits(ScalarType::i4, y.data(), m * n + k)),
                      wrap_to(ScalarType::i4, in(k) + 1));
            ASSERT_EQ(load_bits(ScalarType::u4, z.data(), m * n + n - 1 - k),
                      static_cast<uint64_t>(in(j[static_cast<size_t>(k)]) & 15));
            ASSERT_EQ(r[m * n + k],
                      decode_real(ScalarType::f4e2m1, load_bits(ScalarType::f4e2m1, e.data(), m * n + k)));
          }
        }
      }
    }
  }
}

// A grid axis whose range depends on data and on another axis, and strips that depend on a block axis.
TEST(Access, RaggedRanges) {
  constexpr const char* kText = R"(program p laid
dims E = 4, T = 50, N = 3
in off: i64[E + 1]
in x: f32[T]
out y: f32[T, N]
out z: f32[T]

kernel k
  axes e < E, t in load off[e] .. load off[e + 1], n < N, i < T, j in i - 3 .. i + 1
  scalar e
  grid t:8, e, n
  scalar n
  nest t{l}
    store y[t, n] = load x[t] * f32(e + 1) + f32(n)

kernel prefix
  axes i < T, j < i + 1
  nest i{l} | j{l}
    store z[i] = sum[j](load x[j])
)";
  for (const jit::CpuTarget& cpu : targets()) {
    for (const std::string& l : blocks(cpu)) {
      std::string text = filled(kText, {{"l", l}});
      // At most one axis lies in lanes.
      size_t at = text.find("nest i" + l);
      text.replace(at, 6 + l.size(), "nest i");
      text.replace(text.find("  scalar e\n  grid t:8, e, n\n  scalar n\n"), 39, "  scalar e, n\n  grid t:8, e, n\n");
      Jitted f(text, cpu);
      if (!f) return;
      std::vector<int64_t> off = {0, 11, 11, 12, 50};
      std::vector<float> x = random_floats(50, 1);
      Guarded<float> y(150, -7), z(50);
      ASSERT_TRUE(f({off.data(), x.data(), y.data(), z.data()}, {}, 2).ok);
      double sum = 0;
      for (int64_t t = 0; t < 50; ++t) {
        int64_t e = t < 11 ? 0 : t < 12 ? 2 : 3;
        for (int64_t n = 0; n < 3; ++n)
          ASSERT_EQ(y[t * 3 + n], x[static_cast<size_t>(t)] * static_cast<float>(e + 1) + static_cast<float>(n));
        sum += x[static_cast<size_t>(t)];
        ASSERT_NEAR(z[t], sum, 1e-4);
      }
    }
  }
}

TEST(Access, IfsAndScalars) {
  constexpr const char* kText = R"(program p laid
dims N = 20
in len: i64[2]
in x: i64[N]
out y: i64[2]

kernel k
  axes b < 2, n < N
  scalar b
  grid b
  keep s near
  u = load len[b]
  if u > 3
    w = u * 2 - 1
    nest | n{l}
      s = sum[n](load x[n] * 3 if n < w else 0)
      store y[b] = s + w // 4 + (w - 100) % 7
)";
  for (const jit::CpuTarget& cpu : targets()) {
    for (const std::string& l : blocks(cpu)) {
      Jitted f(filled(kText, {{"l", l}}), cpu);
      if (!f) return;
      std::vector<int64_t> len = {3, 6}, x(20);
      std::iota(x.begin(), x.end(), -5);
      Guarded<int64_t> y(2, -7);
      ASSERT_TRUE(f({len.data(), x.data(), y.data()}).ok);
      int64_t sum = 0;
      for (int64_t i = 0; i < 11; ++i) sum += 3 * x[static_cast<size_t>(i)];
      EXPECT_EQ(y[0], -7);
      EXPECT_EQ(y[1], sum + 2 + ((11 - 100) % 7 + 7) % 7);
    }
  }
}

// All integer operations on hard operands, in 64 bits and, where their types say that they fit, in 32.
TEST(Access, IntegerArithmetic) {
  constexpr const char* kText = R"(program p laid
dims N = 300
in a: {type}[N]
in b: {type}[N]
out y: i64[N, 12]

kernel k
  axes n < N
  nest n{l}
    u = i64(load a[n])
    v = i64(load b[n])
    store y[n, 0] = u + v
    store y[n, 1] = u - v
    store y[n, 2] = u * v
    store y[n, 3] = u // v
    store y[n, 4] = u % v
    store y[n, 5] = u & v
    store y[n, 6] = u | v
    store y[n, 7] = u ^ v
    store y[n, 8] = u << v
    store y[n, 9] = u >> v
    store y[n, 10] = max(u, v) - min(u, 3)
    store y[n, 11] = (abs(u) if u // 8 < -v else -u) + u % 5 + (u >> 3)
)";
  for (const char* type : {"i64", "i32", "i8"}) {
    ScalarType t = *parse_type(type);
    for (const jit::CpuTarget& cpu : targets()) {
      for (const std::string& l : blocks(cpu)) {
        Jitted f(filled(kText, {{"l", l}, {"type", type}}), cpu);
        if (!f) return;
        std::vector<int64_t> hard = {0,  1,  -1, 2,   -2,   3,         7,         -8,        31,
                                     32, 63, 64, 127, -128, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
        std::vector<char> a(300 * 8), b(300 * 8);
        std::mt19937_64 g(6);
        for (int64_t i = 0; i < 300; ++i) {
          auto pick = [&] { return g() % 4 ? hard[g() % hard.size()] : static_cast<int64_t>(g()); };
          store_bits(t, a.data(), i, encode_int(t, pick()));
          store_bits(t, b.data(), i, encode_int(t, pick()));
        }
        Guarded<int64_t> y(300 * 12);
        ASSERT_TRUE(f({a.data(), b.data(), y.data()}).ok);
        using tile::Op;
        for (int64_t i = 0; i < 300; ++i) {
          int64_t u = decode_int(t, load_bits(t, a.data(), i)), v = decode_int(t, load_bits(t, b.data(), i));
          Op ops[] = {Op::kAdd,    Op::kSub,   Op::kMul,    Op::kFloorDiv, Op::kMod,
                      Op::kBitAnd, Op::kBitOr, Op::kBitXor, Op::kShl,      Op::kShr};
          for (int64_t o = 0; o < 10; ++o) {
            ASSERT_EQ(y[i * 12 + o], tile::evaluate(ops[o], u, v))
                << u << " " << row(ops[o]).text << " " << v << " " << type << l;
          }
          auto e = [&](Op op, int64_t x, int64_t z) { return tile::evaluate(op, x, z); };
          ASSERT_EQ(y[i * 12 + 10], e(Op::kSub, std::max(u, v), std::min<int64_t>(u, 3)));
          int64_t minus_u = e(Op::kSub, 0, u), minus_v = e(Op::kSub, 0, v);
          int64_t first = e(Op::kFloorDiv, u, 8) < minus_v ? (u < 0 ? minus_u : u) : minus_u;
          ASSERT_EQ(y[i * 12 + 11], e(Op::kAdd, e(Op::kAdd, first, e(Op::kMod, u, 5)), u >> 3)) << u << " " << v;
        }
      }
    }
  }
}

// Sums, products, extrema, all and any along lanes and not, of nothing too.
TEST(Access, Reductions) {
  constexpr const char* kText = R"(program p laid
dims dyn N
in x: f32[N]
in i: i32[N]
out y: f64[6]
out z: i64[5]

kernel k
  axes n < N
  nest | n{l}
    store y[0] = f64(sum[n](load x[n]))
    store y[1] = f64(prod[n](load x[n]))
    store y[2] = f64(max[n](load x[n]))
    store y[3] = f64(fastmin[n](load x[n]))
    store y[4] = sum[n](f64(load x[n]) * f64(load x[n]))
    store y[5] = f64(sum[n](1.0))
    store z[0] = sum[n](i64(load i[n]))
    store z[1] = max[n](i64(load i[n]))
    store z[2] = min[n](i64(load i[n]) * 2)
    store z[3] = i64(all[n](load x[n] < 1.5))
    store z[4] = i64(any[n](load x[n] > 1.4))
)";
  for (const jit::CpuTarget& cpu : targets()) {
    for (const std::string& l : blocks(cpu)) {
      Jitted f(filled(kText, {{"l", l}}), cpu);
      if (!f) return;
      for (int64_t n : {0, 1, 5, 31, 64, 77}) {
        std::vector<float> x = random_floats(n, static_cast<uint32_t>(n));
        std::vector<int32_t> i(static_cast<size_t>(n));
        for (int64_t k = 0; k < n; ++k) i[static_cast<size_t>(k)] = static_cast<int32_t>(k * 7919 % 1000 - 500);
        Guarded<double> y(6);
        Guarded<int64_t> z(5);
        ASSERT_TRUE(f({x.data(), i.data(), y.data(), z.data()}, {{"N", n}}).ok);
        double sum = 0, product = 1, most = -INFINITY, least = INFINITY, squares = 0;
        int64_t isum = 0, imost = INT64_MIN, ileast = INT64_MAX;
        bool all = true, any = false;
        for (int64_t k = 0; k < n; ++k) {
          double v = x[static_cast<size_t>(k)];
          int64_t w = i[static_cast<size_t>(k)];
          sum += v, product *= v, most = std::max(most, v), least = std::min(least, v), squares += v * v;
          isum += w, imost = std::max(imost, w), ileast = std::min(ileast, 2 * w);
          all = all && v < 1.5, any = any || v > 1.4f;
        }
        EXPECT_NEAR(y[0], sum, 1e-4);
        EXPECT_NEAR(y[1], product, std::abs(product) * 1e-4);
        EXPECT_EQ(y[2], most);
        EXPECT_EQ(y[3], least);
        EXPECT_NEAR(y[4], squares, 1e-10);
        EXPECT_EQ(y[5], static_cast<double>(n));
        EXPECT_EQ(z[0], isum);
        EXPECT_EQ(z[1], imost);
        EXPECT_EQ(z[2], ileast);
        EXPECT_EQ(z[3], all);
        EXPECT_EQ(z[4], any);
      }
    }
  }
}

}  // namespace
}  // namespace quern::target
