// Machine code for this processor: compiled once for each size, run on memory of the caller, in place, several at a
// time.
#include <quern/module.h>

#include <cmath>
#include <cstdio>
#include <iostream>
#include <vector>

using namespace quern;

constexpr char kText[] =
    "kernel attention(q: f32[M, D], k: f32[N, D], v: f32[N, E]) -> o: f32[M, E] {\n"
    "  s[m, n] = sum[d] q[m, d] * k[n, d] / sqrt(D)\n"
    "  p[m, n] = softmax[n](s[m, n])\n"
    "  o[m, e] = sum[n] p[m, n] * v[n, e]\n"
    "}\n";

int main() {
  auto module = parse(kText);
  if (!module) {
    std::cerr << module.error().text();
    return 1;
  }
  Options options;
  options.copy_outputs = false;  // results only where `output` says
  auto fast = module->kernels().front().compile(Device::named("cpu"), options);
  auto slow = module->kernels().front().compile(Device::interpreter());
  if (!fast || !slow) {
    std::cerr << (fast ? slow : fast).error().text();
    return 1;
  }

  constexpr int64_t kRows = 48, kKeys = 100, kWidth = 16;
  std::vector<float> q(kRows * kWidth), k(kKeys * kWidth), v(kKeys * kWidth), o(q.size());
  for (size_t i = 0; i < q.size(); ++i) q[i] = std::sin(static_cast<float>(i));
  for (size_t i = 0; i < k.size(); ++i)
    k[i] = std::cos(static_cast<float>(3 * i)), v[i] = std::sin(0.1f * static_cast<float>(i));
  Arguments arguments;
  arguments.tensor("q", std::span<const float>(q), {kRows, kWidth})
      .tensor("k", std::span<const float>(k), {kKeys, kWidth})
      .tensor("v", std::span<const float>(v), {kKeys, kWidth})
      .output("o", std::span<float>(o), {kRows, kWidth});

  // `start` computes in a thread of its own; the future has the outcome, or why there is none.
  auto running = fast->start(arguments);
  auto done = running.get();
  if (!done) {
    std::cerr << done.error().text();
    return 1;
  }

  // The interpreter knows how far an implementation may be off: absolute, element by element.
  std::vector<float> truth(o.size());
  auto checked = slow->run(arguments.output("o", std::span<float>(truth), {kRows, kWidth}));
  if (!checked) {
    std::cerr << checked.error().text();
    return 1;
  }
  const Output* exact = checked->find("o");
  int beyond = 0;
  for (int64_t i = 0; i < exact->size(); ++i) {
    beyond += std::fabs(o[static_cast<size_t>(i)] - exact->real(i)) > exact->bound[static_cast<size_t>(i)];
  }
  std::printf("%lld elements, %d beyond their bound\n", static_cast<long long>(exact->size()), beyond);
}
