// Compiled once, run many times: several threads hand in memory of their own, laid out as their program has it, and do
// not wait for each other.
#include <quern/module.h>

#include <cmath>
#include <cstdio>
#include <future>
#include <iostream>
#include <thread>
#include <utility>
#include <vector>

using namespace quern;

constexpr char kText[] =
    "kernel attention(q: T[H, N, D], k: T[H, N, D], v: T[H, N, D]) -> o: T[H, N, D] {\n"
    "  s[h, m, n] = sum[d] q[h, m, d] * k[h, n, d] / sqrt(D)\n"
    "  p[h, m, n] = softmax[n](s[h, m, n] if n <= m else -inf)\n"
    "  o[h, m, d] = sum[n] p[h, m, n] * v[h, n, d]\n"
    "}\n";

constexpr int64_t kHeads = 2, kWidth = 16, kRow = 3 * kHeads * kWidth;

// One sequence, token by token: in a row the queries of all heads, then the keys, then the values. The result takes the
// place where the queries of another such buffer would be; what lies beside it must stay.
struct Sequence {
  explicit Sequence(int64_t tokens, int seed) : tokens(tokens), qkv(tokens * kRow), out(tokens * kRow, -1) {
    for (size_t i = 0; i < qkv.size(); ++i) qkv[i] = std::sin(0.37f * static_cast<float>(i) + static_cast<float>(seed));
  }

  // What a head sees of a row-major [tokens, 3, heads, width]: strides in elements, the head first.
  std::vector<int64_t> shape() const { return {kHeads, tokens, kWidth}; }
  std::vector<int64_t> strides() const { return {kWidth, kRow, 1}; }
  ConstView part(int64_t which) const { return {qkv.data() + which * kHeads * kWidth, f32, shape(), strides()}; }

  Arguments arguments() {
    Arguments a;
    a.tensor("q", part(0)).tensor("k", part(1)).tensor("v", part(2));
    a.output("o", View{out.data(), f32, shape(), strides()});
    return a;
  }

  int64_t tokens;
  std::vector<float> qkv, out;
};

struct Count {
  int runs = 0;
  int failed = 0;
  int64_t elements = 0;
  int64_t beyond = 0;     // further from the interpreter's value than its bound
  int64_t disturbed = 0;  // written beside the result
};

// Everything of one thread: starts all of its sequences, then collects them.
Count serve(const Program& fast, const Program& exact, int thread) {
  std::vector<Sequence> sequences;
  for (int i = 0; i < 6; ++i) sequences.emplace_back(5 + 7 * i, 10 * thread + i);

  // Memory of the arguments has to stay where it is until its future is ready.
  std::vector<std::future<std::expected<Outcome, Errors>>> running;
  for (Sequence& s : sequences) running.push_back(fast.start(s.arguments()));

  Count count;
  for (size_t i = 0; i < sequences.size(); ++i) {
    ++count.runs;
    Sequence& s = sequences[i];
    Sequence truth = s;
    auto done = running[i].get();
    auto right = exact.run(truth.arguments());
    if (!done || !right) {
      ++count.failed;
      continue;
    }
    const Output& o = *right->find("o");
    for (int64_t h = 0, at = 0; h < kHeads; ++h) {
      for (int64_t n = 0; n < s.tokens; ++n) {
        for (int64_t d = 0; d < kWidth; ++d, ++at) {
          float found = s.out[static_cast<size_t>(n * kRow + h * kWidth + d)];
          ++count.elements;
          count.beyond += !(std::fabs(found - o.real(at)) <= o.bound[static_cast<size_t>(at)]);
        }
      }
    }
    for (size_t at = 0; at < s.out.size(); ++at) {
      count.disturbed += static_cast<int64_t>(at % kRow) >= kHeads * kWidth && s.out[at] != -1;
    }
  }
  return count;
}

int main() {
  auto module = parse(kText);
  if (!module) {
    std::cerr << module.error().text();
    return 1;
  }
  const Kernel& kernel = module->kernels().front();
  Options options;
  options.copy_outputs = false;  // results only where `output` says
  options.threads = 1;           // for one run: there are enough runs
  auto fast = kernel.compile(Device::named("cpu"), options);
  auto exact = kernel.compile(Device::interpreter());
  if (!fast || !exact) {
    std::cerr << (fast ? exact : fast).error().text();
    return 1;
  }

  // The program is shared as it is. Each length of a sequence is compiled when it is first met, and then kept.
  constexpr int kThreads = 4;
  std::vector<Count> counts(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back([&, t] { counts[t] = serve(*fast, *exact, t); });
  for (std::thread& thread : threads) thread.join();

  Count all;
  for (const Count& c : counts) {
    all.runs += c.runs, all.failed += c.failed;
    all.elements += c.elements, all.beyond += c.beyond, all.disturbed += c.disturbed;
  }
  std::printf("%d threads, %d runs, %d failed\n", kThreads, all.runs, all.failed);
  std::printf("%lld elements, %lld beyond their bound, %lld disturbed beside them\n",
              static_cast<long long>(all.elements), static_cast<long long>(all.beyond),
              static_cast<long long>(all.disturbed));

  // Two results in the same place are refused before anything runs.
  Sequence s(5, 0);
  auto refused = fast->run(s.arguments().output("o", View{s.qkv.data(), f32, s.shape(), s.strides()}));
  std::cout << (refused ? "not refused\n" : refused.error().text());
}
