// The kernels of the benchmark against plain C++, with every set of checks and in several orders.
#include <cmath>

#include "device.h"

namespace quern::vgpu {
namespace {

constexpr const char* kKernels = "bench/vgpu/kernels.ptx";

class Kernels : public testing::TestWithParam<int> {
 protected:
  Kernels() : d(kKernels) {
    d.settings.checks.memory = GetParam() % 3 > 0;
    d.settings.checks.init = GetParam() % 3 > 1;
    d.settings.order = GetParam() > 2 ? 12345 : 0;
    d.settings.threads = GetParam() > 2 ? 2 : 1;
  }
  void expect_clean(const std::optional<Fault>& f) { EXPECT_FALSE(f) << render(*f); }
  Device d;
};

TEST_P(Kernels, Saxpy) {
  for (int n : {1, 31, 256, 5000}) {
    std::vector<float> x, y;
    for (int i = 0; i < n; ++i) x.push_back(static_cast<float>(i % 97)), y.push_back(static_cast<float>(i % 13));
    uint64_t dx = d.copy(x), dy = d.copy(y);
    expect_clean(
        d.run("saxpy", {static_cast<uint32_t>(n + 255) / 256, 1, 1}, {256, 1, 1}, Device::pack(2.0f, dx, dy, n)));
    auto out = d.read<float>(dy, y.size());
    for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(out[i], 2 * x[i] + y[i]) << n << " " << i;
  }
}

TEST_P(Kernels, Matmul) {
  constexpr int kN = 128;
  std::vector<float> a, b, c(kN * kN, 0.0f);
  for (int i = 0; i < kN * kN; ++i)
    a.push_back(static_cast<float>(i % 7 - 3)), b.push_back(static_cast<float>(i % 5 - 2));
  for (size_t i = 0; i < kN; ++i) {
    for (size_t k = 0; k < kN; ++k) {
      for (size_t j = 0; j < kN; ++j) c[i * kN + j] += a[i * kN + k] * b[k * kN + j];
    }
  }
  uint64_t da = d.copy(a), db = d.copy(b), dc = d.allocate(kN * kN * 4), de = d.allocate(kN * kN * 4);
  expect_clean(d.run("matmul32", {kN / 32, kN / 32, 1}, {32, 32, 1}, Device::pack(da, db, dc, kN)));
  EXPECT_EQ(d.read<float>(dc, c.size()), c);
  expect_clean(d.run("matmul4x4", {kN / 64, kN / 64, 1}, {16, 16, 1}, Device::pack(da, db, de, kN)));
  EXPECT_EQ(d.read<float>(de, c.size()), c);
}

TEST_P(Kernels, Reduce) {
  constexpr int kN = 5000;
  std::vector<float> x;
  for (int i = 0; i < kN; ++i) x.push_back(static_cast<float>(i % 17));
  constexpr uint32_t kBlocks = (kN + 511) / 512;
  uint64_t dx = d.copy(x), dy = d.allocate(kBlocks * 4);
  expect_clean(d.run("reduce", {kBlocks, 1, 1}, {256, 1, 1}, Device::pack(dx, dy, kN)));
  for (size_t b = 0; b < kBlocks; ++b) {
    float sum = 0;
    for (size_t i = b * 512; i < std::min<size_t>(kN, b * 512 + 512); ++i) sum += x[i];
    EXPECT_EQ(d.read<float>(dy, kBlocks)[b], sum);
  }
}

TEST_P(Kernels, Histogram) {
  constexpr int kN = 10007;
  std::vector<uint8_t> x;
  std::vector<uint32_t> h(256, 0);
  for (int i = 0; i < kN; ++i)
    x.push_back(static_cast<uint8_t>((static_cast<uint32_t>(i) * 2654435761u) >> 13)), ++h[x.back()];
  uint64_t dx = d.copy(x), dh = d.copy(std::vector<uint32_t>(256, 0));
  expect_clean(d.run("histogram", {5, 1, 1}, {256, 1, 1}, Device::pack(dx, dh, kN)));
  EXPECT_EQ(d.read<uint32_t>(dh, 256), h);
}

TEST_P(Kernels, Collatz) {
  std::vector<uint32_t> x, y;
  for (uint32_t i = 1; i < 3000; ++i) {
    uint32_t v = i, c = 0;
    for (; v != 1; ++c) v = v & 1 ? 3 * v + 1 : v / 2;
    x.push_back(i), y.push_back(c);
  }
  auto n = static_cast<int>(x.size());
  for (const char* kernel : {"collatz", "collatz2"}) {
    uint64_t dx = d.copy(x), dy = d.allocate(n * 4);
    expect_clean(d.run(kernel, {static_cast<uint32_t>(n + 127) / 128, 1, 1}, {128, 1, 1}, Device::pack(dx, dy, n)));
    EXPECT_EQ(d.read<uint32_t>(dy, y.size()), y) << kernel;
  }
}

// The blocks' shapes are compiled for differently; results must not depend on it.
TEST_P(Kernels, MandelbrotInAnyBlock) {
  constexpr int kWidth = 96, kHeight = 40, kMost = 50;
  std::vector<uint32_t> first;
  for (Extent block : {Extent{32, 8, 1}, Extent{64, 1, 1}, Extent{8, 8, 1}, Extent{16, 16, 1}, Extent{7, 5, 1},
                       Extent{3, 3, 3}, Extent{1, 32, 1}}) {
    uint64_t y = d.allocate(kWidth * kHeight * 4);
    Extent grid = {(kWidth + block[0] - 1) / block[0], (kHeight + block[1] - 1) / block[1], 1};
    expect_clean(d.run("mandelbrot", grid, block, Device::pack(y, kWidth, kHeight, kMost)));
    auto out = d.read<uint32_t>(y, kWidth * kHeight);
    if (first.empty()) first = out;
    EXPECT_EQ(out, first) << block[0] << " " << block[1] << " " << block[2];
  }
  int bad = 0;
  for (int py = 0; py < kHeight; ++py) {
    for (int px = 0; px < kWidth; ++px) {
      float cx = -2.0f + 3.0f * static_cast<float>(px) / kWidth, cy = -1.0f + 2.0f * static_cast<float>(py) / kHeight,
            zx = 0, zy = 0;
      uint32_t i = 0;
      for (; i < kMost && zx * zx + zy * zy < 4.0f; ++i) {
        float t = zx * zx - zy * zy + cx;
        zy = 2 * zx * zy + cy;
        zx = t;
      }
      bad += first[static_cast<size_t>(py * kWidth + px)] != i;
    }
  }
  EXPECT_LE(bad, kWidth * kHeight / 50);  // nvcc contracts products and sums
}

INSTANTIATE_TEST_SUITE_P(Checks, Kernels, testing::Range(0, 6));

TEST(Compiled, NoOrderChangesTheCount) {
  Device d(kKernels);
  d.settings.count = true;
  d.settings.threads = 1;
  Launch launch;
  launch.grid = {4, 1, 1}, launch.block = {256, 1, 1};
  int n = 1000;
  uint64_t dx = d.copy(std::vector<float>(1000, 1.0f)), dy = d.copy(std::vector<float>(1000, 1.0f));
  launch.arguments = Device::pack(2.0f, dx, dy, n);
  auto ran = run(d.program(), "saxpy", launch, d.settings);
  ASSERT_TRUE(ran);
  // 32 warps run the head of 10 instructions; all have a thread within 1000 and run the other 9; the plain return is
  // the target of a jump and runs as part of it.
  EXPECT_GE(ran->warp_instructions, 32 * 17);
  EXPECT_LE(ran->warp_instructions, 32 * 20);
}

}  // namespace
}  // namespace quern::vgpu
