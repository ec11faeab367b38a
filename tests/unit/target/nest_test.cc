// Nests: blocks, lanes, strips, tails, against plain loops, at every width that this machine can play.
#include <cmath>

#include "jitted_program.h"

namespace quern::target {
namespace {

constexpr const char* kMatmul = R"(program matmul laid
dims {dims}
in a: f32[M, K]
in b: f32[K, N]
out c: f32[M, N]

kernel matmul
  axes m < M, n < N, k < K
  nest m:{mb} n:{nb}{lanes} | k:{kb}
    store c[m, n] = {sum}
)";

void matmul(const Jitted& f, int64_t m, int64_t n, int64_t k, bool known) {
  std::vector<float> a = random_floats(m * k, 1), b = random_floats(k * n, 2);
  Guarded<float> c(m * n, -7);
  std::map<std::string, int64_t> sizes;
  if (!known) sizes = {{"M", m}, {"N", n}, {"K", k}};
  ASSERT_TRUE(f({a.data(), b.data(), c.data()}, sizes).ok);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0, size = 0;
      for (int64_t l = 0; l < k; ++l) {
        double t = double{a[static_cast<size_t>(i * k + l)]} * b[static_cast<size_t>(l * n + j)];
        sum += t, size += std::abs(t);
      }
      ASSERT_NEAR(c[i * n + j], sum, size * 1e-6 + 1e-30) << i << " " << j << " of " << m << " " << n << " " << k;
    }
  }
}

std::string matmul_text(int64_t mb, int64_t nb, bool lanes, int64_t kb, const std::string& dims, bool dot = false) {
  return filled(kMatmul, {{"dims", dims},
                          {"mb", std::to_string(mb)},
                          {"nb", std::to_string(nb)},
                          {"kb", std::to_string(kb)},
                          {"lanes", lanes ? " lanes" : ""},
                          {"sum", dot ? "dot[k](load a[m, k], load b[k, n])" : "sum[k](load a[m, k] * load b[k, n])"}});
}

TEST(Nest, MatmulAsScalars) {
  for (const jit::CpuTarget& cpu : targets()) {
    Jitted any(matmul_text(1, 1, false, 1, "dyn M, dyn N, dyn K"), cpu);
    for (int64_t n : {0, 1, 5}) {
      for (int64_t k : {0, 1, 7}) matmul(any, 3, n, k, false);
    }
    matmul(Jitted(matmul_text(1, 1, false, 1, "M = 3, N = 5, K = 7"), cpu), 3, 5, 7, true);
  }
}

TEST(Nest, MatmulInBlocksOfSizesThatAreNotKnown) {
  for (const jit::CpuTarget& cpu : targets()) {
    int64_t lanes = cpu.vector_bytes / 4;
    Jitted any(matmul_text(4, 3 * lanes, true, 2, "dyn M, dyn N, dyn K", true), cpu);
    for (int64_t m : {0, 1, 3, 4, 7, 13}) {
      for (int64_t n : {0, 1, 3, 4, 5, 15, 16, 17, 47, 48, 49, 97}) matmul(any, m, n, m + 4, false);
    }
    for (int64_t k : {0, 1, 2, 3}) matmul(any, 5, 19, k, false);
  }
}

TEST(Nest, MatmulInBlocksOfKnownSizes) {
  for (const jit::CpuTarget& cpu : targets()) {
    int64_t lanes = cpu.vector_bytes / 4;
    for (int64_t n : {1, 13, 33, 97}) {
      std::string dims = "M = 11, N = " + std::to_string(n) + ", K = 9";
      matmul(Jitted(matmul_text(4, 3 * lanes, true, 2, dims), cpu), 11, n, 9, true);
    }
  }
}

// Softmax over rows: three nests, two kept scalars, a kept row.
constexpr const char* kSoftmax = R"(program softmax laid
dims R = 3, dyn N
in x: f32[R, N]
out y: f32[R, N]

kernel softmax
  axes r < R, n < N
  scalar r
  grid r
  keep mx near
  keep p near
  keep l near
  nest | n:{size}{lanes}
    xs = load x[r, n]
    mx = max[n](xs if n < n.hi else -inf)
  nest | n:{size}{lanes}
    p = exp(load x[r, n] - finite(mx))
    l = sum[n](p if n < n.hi else 0.0)
  nest n:{size}{lanes}
    store y[r, n] = 0.0 if mx == -inf else p / l
)";

TEST(Nest, SoftmaxOfRows) {
  for (const jit::CpuTarget& cpu : targets()) {
    for (bool in_lanes : {false, true}) {
      int64_t size = in_lanes ? cpu.vector_bytes : 1;  // four vectors
      Jitted f(filled(kSoftmax, {{"size", std::to_string(size)}, {"lanes", in_lanes ? " lanes" : ""}}), cpu);
      for (int64_t n : {0, 1, 3, 16, 29, 64, 65, 131}) {
        std::vector<float> x = random_floats(3 * n, 5, -30, 30);
        for (int64_t i = 0; i < n; ++i) x[static_cast<size_t>(n + i)] = -INFINITY;
        if (n > 2) x[static_cast<size_t>(2 * n + 1)] = NAN;
        Guarded<float> y(3 * n, -7);
        ASSERT_TRUE(f({x.data(), y.data()}, {{"N", n}}).ok);
        for (int64_t r = 0; r < 3; ++r) {
          double most = -INFINITY, sum = 0;
          auto at = [&](int64_t i) { return x[static_cast<size_t>(r * n + i)]; };
          for (int64_t i = 0; i < n; ++i) most = std::max<double>(most, at(i));
          for (int64_t i = 0; i < n; ++i) sum += std::exp(at(i) - most);
          for (int64_t i = 0; i < n; ++i) {
            if (r == 1) {
              ASSERT_EQ(y[r * n + i], 0) << i << " of " << n;
            } else if (r == 2 && n > 2) {
              ASSERT_TRUE(std::isnan(y[r * n + i])) << i << " of " << n;
            } else {
              double want = std::exp(at(i) - most) / sum;
              ASSERT_NEAR(y[r * n + i], want, want * 1e-5 + 1e-37) << i << " of " << n;
            }
          }
        }
      }
    }
  }
}

// One pass over n in tiles, state carried in place: the maximum, the sum and a weighted sum.
constexpr const char* kStreamed = R"(program streamed laid
dims M = 5, dyn N, D = 7
in s: f32[M, N]
in v: f32[N, D]
out o: f32[M, D]

kernel streamed
  axes m < M, n < N, d < D
  grid m:4
  keep mx near
  keep l near
  keep acc near
  keep mn near
  keep c near
  keep p near
  keep ln near
  keep an near
  for n:24
    carry mx = fill[m](-inf)
    carry l = fill[m](0.0)
    carry acc = fill[m, d](0.0)
    nest m | n:{n}{nl}
      mn = max(mx, max[n](load s[m, n]))
    nest m | n:{n}{nl}
      p = exp(load s[m, n] - mn)
      c = exp(mx - mn)
      ln = l * c + sum[n](p)
    nest m:2 d:{d}{dl} | n
      an = dot[n](p, load v[n, d], acc * c)
    next mx = mn
    next l = ln
    next acc = an
  nest m d:{d}{dl}
    store o[m, d] = acc / l
)";

TEST(Nest, StreamedAttentionCarriesItsState) {
  for (const jit::CpuTarget& cpu : targets()) {
    for (bool in_lanes : {false, true}) {
      std::string size = std::to_string(in_lanes ? cpu.vector_bytes / 4 : 1), lanes = in_lanes ? " lanes" : "";
      Jitted f(filled(kStreamed, {{"n", size}, {"nl", lanes}, {"d", size}, {"dl", lanes}}), cpu);
      for (int64_t n : {1, 23, 24, 25, 100}) {
        constexpr int64_t kM = 5, kD = 7;
        std::vector<float> s = random_floats(kM * n, 8, -20, 20), v = random_floats(n * kD, 9);
        Guarded<float> o(kM * kD);
        ASSERT_TRUE(f({s.data(), v.data(), o.data()}, {{"N", n}}, 2).ok);
        for (int64_t m = 0; m < kM; ++m) {
          for (int64_t d = 0; d < kD; ++d) {
            double most = -INFINITY, sum = 0, acc = 0;
            for (int64_t i = 0; i < n; ++i) most = std::max<double>(most, s[static_cast<size_t>(m * n + i)]);
            for (int64_t i = 0; i < n; ++i) {
              double p = std::exp(s[static_cast<size_t>(m * n + i)] - most);
              sum += p, acc += p * v[static_cast<size_t>(i * kD + d)];
            }
            ASSERT_NEAR(o[m * kD + d], acc / sum, 1e-5) << m << " " << d << " of " << n;
          }
        }
      }
    }
  }
}

// A carry that cannot be in place: each trip needs the old value of another one.
TEST(Nest, CarriesTakeEffectAtOnce) {
  constexpr const char* kText = R"(program fibonacci laid
dims N = 10
out y: f32[N, 2]

kernel k
  axes n < N
  scalar n
  keep a near
  keep b near
  for n
    carry a = 0.0
    carry b = 1.0
    nest
      store y[n, 0] = a
      store y[n, 1] = b
    next a = b
    next b = a + b
)";
  Jitted f(kText, jit::cpu_of(jit::VectorLevel::kSse2));
  Guarded<float> y(20);
  ASSERT_TRUE(f({y.data()}).ok);
  float a = 0, b = 1;
  for (int64_t n = 0; n < 10; ++n) {
    EXPECT_EQ(y[2 * n], a);
    EXPECT_EQ(y[2 * n + 1], b);
    float c = a + b;
    a = b, b = c;
  }
}

// B in panels of the register block's width, as the recipe packs it.
TEST(Nest, PanelsInNearMemory) {
  constexpr const char* kText = R"(program packed laid
dims dyn M, dyn N, dyn K
in a: f32[M, K]
in b: f32[K, N]
out c: f32[M, N]

kernel packed
  axes m < M, n < N, k < K
  grid n:{tile}
  keep pb near n%{nb} k n/{nb}
  nest k n:{nb} lanes
    pb = load b[k, n]
  nest m:4 n:{nb} lanes | k:2
    store c[m, n] = dot[k](load a[m, k], pb)
)";
  for (const jit::CpuTarget& cpu : targets()) {
    int64_t nb = 2 * cpu.vector_bytes / 4;
    Jitted f(filled(kText, {{"nb", std::to_string(nb)}, {"tile", std::to_string(3 * nb)}}), cpu);
    for (int64_t n : {1, 31, 32, 40, 100, 131}) matmul(f, 6, n, 5, false);
  }
}

// Inside of loops over parts of the panels' axis, also where a part begins at a computed place, vectors of a panel are
// still found to lie side by side.
TEST(Nest, PanelsAcrossLoops) {
  constexpr const char* kText = R"(program packed laid
dims M = 20, N = {n}, K = 5
in a: f32[M, K]
in b: f32[K, N]
out c: f32[M, N]

kernel packed
  axes m < M, n < N, k < K
  keep pb near n%{nb} k n/{nb}
  nest k n:{nb} lanes
    pb = load b[k, n]
  for m:8
    end = max(N - m.lo, 0)
    edge = min(max((end - 8) // {tile} * {tile}, 0), end)
    for n:{tile} in 0 .. edge
      nest m:4 n:{nb} lanes | k
        store c[m, n] = dot[k](load a[m, k], pb)
    for n:{tile} in edge .. end
      nest m:4 n:{nb} lanes | k
        store c[m, n] = dot[k](load a[m, k], pb)
    for n:{tile} in end .. N
      nest m n | k
        store c[m, n] = dot[k](load a[m, k], pb)
)";
  for (const jit::CpuTarget& cpu : targets()) {
    int64_t nb = 2 * cpu.vector_bytes / 4;
    for (int64_t n : {7, 133}) {
      Jitted f(filled(kText, {{"n", std::to_string(n)}, {"nb", std::to_string(nb)}, {"tile", std::to_string(2 * nb)}}),
               cpu);
      matmul(f, 20, n, 5, true);
      EXPECT_EQ(f.ir().find("gather"), std::string::npos);
    }
  }
}

constexpr const char* kTurned = R"(program turned laid
dims {dims}
in x: f32[L, M, N]
out y: f32[N, L, M]

kernel turned
  axes l < L, m < M, n < N
  nest l m:{w} lanes n:{u}
    store y[n, l, m] = load x[l, m, n]
)";

// Whole squares are turned in registers; what is left at the edges is not, and is as right.
TEST(Nest, TransposedLoads) {
  for (const jit::CpuTarget& cpu : targets()) {
    int64_t lanes = cpu.vector_bytes / 4;
    for (bool known : {false, true}) {
      for (auto [m, n] :
           {std::pair<int64_t, int64_t>{2 * lanes, lanes}, {2 * lanes + 3, 3 * lanes + 5}, {lanes - 1, 2 * lanes}}) {
        for (int64_t u : {lanes, 2 * lanes}) {
          std::string dims = known ? "L = 2, M = " + std::to_string(m) + ", N = " + std::to_string(n)
                                   : std::string("dyn L, dyn M, dyn N");
          Jitted f(filled(kTurned, {{"dims", dims}, {"w", std::to_string(lanes)}, {"u", std::to_string(u)}}), cpu);
          std::vector<float> x = random_floats(2 * m * n, 1);
          Guarded<float> y(2 * m * n, -7);
          std::map<std::string, int64_t> sizes;
          if (!known) sizes = {{"L", 2}, {"M", m}, {"N", n}};
          ASSERT_TRUE(f({x.data(), y.data()}, sizes).ok);
          for (int64_t i = 0; i < 2 * m * n; ++i) {
            int64_t at = i / n / m * m + i / n % m;  // l * M + m
            ASSERT_EQ(y[i % n * 2 * m + at], x[static_cast<size_t>(i)]) << i << " of " << m << " x " << n;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace quern::target
