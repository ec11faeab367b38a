#include "device/cpu/peak.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "device/cpu/workspace.h"

namespace quern::device::cpu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kBurst = 20'000;                    // loop trips between two looks at the clock
constexpr int64_t kStreamBytes = int64_t{256} << 20;  // beyond every cache

// Each does `trips` rounds of 12 independent multiply-adds and gives the operations done. 12 chains hide the latency
// of two units; the sum is returned through `sink` so that nothing is left out.
#if defined(__x86_64__)
#define QUERN_FMA_LOOP(vector, lanes, set, fma, add, store)                       \
  vector a[12], x = set(0.999999f), y = set(1e-6f);                               \
  for (int i = 0; i < 12; ++i) a[i] = set(static_cast<float>(i));                 \
  for (int64_t t = 0; t < trips; ++t) {                                           \
    _Pragma("GCC unroll 12") for (int i = 0; i < 12; ++i) a[i] = fma(a[i], x, y); \
  }                                                                               \
  for (int i = 1; i < 12; ++i) a[0] = add(a[0], a[i]);                            \
  float out[lanes];                                                               \
  store(out, a[0]);                                                               \
  *sink = out[0];                                                                 \
  return static_cast<double>(trips) * 12 * lanes * 2;

__attribute__((target("avx512f"))) double fma_512(int64_t trips, volatile float* sink) {
  QUERN_FMA_LOOP(__m512, 16, _mm512_set1_ps, _mm512_fmadd_ps, _mm512_add_ps, _mm512_storeu_ps)
}
__attribute__((target("avx2,fma"))) double fma_256(int64_t trips, volatile float* sink){
    QUERN_FMA_LOOP(__m256, 8, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_add_ps, _mm256_storeu_ps)} __m128
    multiply_add_128(__m128 a, __m128 x, __m128 y) {
  return _mm_add_ps(_mm_mul_ps(a, x), y);
}
double fma_128(int64_t trips, volatile float* sink) {
  QUERN_FMA_LOOP(__m128, 4, _mm_set1_ps, multiply_add_128, _mm_add_ps, _mm_storeu_ps)
}
#undef QUERN_FMA_LOOP
#endif

using FmaLoop = double (*)(int64_t trips, volatile float* sink);

FmaLoop widest() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return fma_512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return fma_256;
  return fma_128;
#else
  return [](int64_t trips, volatile float* sink) {
    float a[12] = {};
    for (int64_t t = 0; t < trips; ++t) {
      for (float& v : a) v = v * 0.999999f + 1e-6f;
    }
    *sink = a[3];
    return static_cast<double>(trips) * 32;
  };
#endif
}

uint64_t read_all(const std::byte* begin, int64_t bytes) {
  uint64_t sums[8] = {};
  for (int64_t i = 0; i + 64 <= bytes; i += 64) {
    uint64_t words[8];
    std::memcpy(words, begin + i, sizeof words);
    for (int k = 0; k < 8; ++k) sums[k] += words[k];
  }
  uint64_t out = 0;
  for (uint64_t s : sums) out += s;
  return out;
}

// Bursts on all threads at once, for about `seconds`; the best rate of a burst, all threads together.
double best_rate(int threads, double seconds, const std::function<double(int thread)>& burst) {
  double best = 0;
  auto end = Clock::now() + std::chrono::duration<double>(seconds);
  do {
    std::vector<std::thread> others;
    std::vector<double> done(static_cast<size_t>(threads));
    std::atomic<int> ready = 0;
    auto begin = Clock::now();
    auto one = [&](int t) {
      if (++ready == threads) begin = Clock::now();
      while (ready < threads) {
      }
      done[static_cast<size_t>(t)] = burst(t);
    };
    for (int t = 1; t < threads; ++t) others.emplace_back(one, t);
    one(0);
    for (auto& o : others) o.join();
    double took = std::chrono::duration<double>(Clock::now() - begin).count(), work = 0;
    for (double d : done) work += d;
    best = std::max(best, work / took);
  } while (Clock::now() < end);
  return best;
}

}  // namespace

Peak measure_peak(int threads, double seconds) {
  threads = std::max(threads, 1);
  Peak peak;
  FmaLoop loop = widest();
  // Bursts of some ten milliseconds, over which starting threads is nothing.
  peak.flops = best_rate(threads, seconds, [&](int) {
    volatile float sink = 0;
    double done = 0;
    for (int i = 0; i < 50; ++i) done += loop(kBurst, &sink);
    return done;
  });
  auto memory = allocate(kStreamBytes, "measuring the memory");
  if (!memory) return peak;
  std::memset(memory->get(), 1, kStreamBytes);
  std::atomic<uint64_t> sink = 0;
  int64_t part = kStreamBytes / threads / 64 * 64;
  peak.bandwidth = best_rate(threads, seconds, [&](int t) {
    sink += read_all(memory->get() + t * part, part);
    return static_cast<double>(part);
  });
  return peak;
}

}  // namespace quern::device::cpu
