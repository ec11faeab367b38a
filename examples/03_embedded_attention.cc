// Causal attention with grouped queries, in three lines of C++, and a function of one's own: C++ functions from
// expressions to expressions are expanded where they are called.
#include <quern/notation.h>
#include <quern/prelude.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <vector>

using namespace quern;

// Softmax as anybody would write it. `i` is an index or a range, and x depends on it.
Expr my_softmax(const Ranges& i, const Expr& x) {
  Expr largest = max(i, x);
  return if_else(largest == -inf, 0, exp(x - largest) / sum(i, exp(x - largest)));
}

Kernel attention(bool own_function) {
  Type T("T");
  Dim B("B"), H("H"), G("G"), M("M"), N("N"), D("D"), E("E");
  Index b("b"), h("h"), m("m"), n("n"), d("d"), e("e");
  Tensor q("q", T, {B, H, M, D}), k("k", T, {B, G, N, D}), v("v", T, {B, G, N, E}), o("o", T, {B, H, M, E});
  Tensor s = Tensor::local("s"), p = Tensor::local("p");

  Expr group = floor_div(h, floor_div(H, G));  // the key head of query head h
  s(b, h, m, n) = sum(d, q(b, h, m, d) * k(b, group, n, d) / sqrt(D));
  Expr masked = if_else(n <= m + N - M, s(b, h, m, n), -inf);
  p(b, h, m, n) = own_function ? my_softmax(n, masked) : softmax(n, masked);
  o(b, h, m, e) = sum(n, p(b, h, m, n) * v(b, group, n, e));

  return Kernel("attention", {q, k, v}, {o});
}

std::vector<float> wave(int64_t size, double step) {
  std::vector<float> out;
  for (int64_t i = 0; i < size; ++i) out.push_back(static_cast<float>(std::sin(step * static_cast<double>(i))));
  return out;
}

// Runs on one batch entry, 4 query heads, 2 key heads, 3 queries, 5 keys, rows of 8.
std::vector<double> run(const Kernel& kernel) {
  std::vector<float> q = wave(1 * 4 * 3 * 8, 0.7), k = wave(1 * 2 * 5 * 8, 0.3), v = wave(1 * 2 * 5 * 8, 0.2);
  Arguments arguments;
  arguments.tensor("q", std::span<const float>(q), {1, 4, 3, 8})
      .tensor("k", std::span<const float>(k), {1, 2, 5, 8})
      .tensor("v", std::span<const float>(v), {1, 2, 5, 8});
  auto program = kernel.compile();
  auto outcome = program->run(arguments);
  if (!outcome) {
    std::cerr << outcome.error().text();
    return {};
  }
  return outcome->find("o")->values<double>();
}

int main() {
  std::cout << print(attention(false)) << "\n" << print(attention(true)) << "\n";
  std::vector<double> one = run(attention(false)), other = run(attention(true));
  double difference = one.size() == other.size() ? 0 : INFINITY;
  for (size_t i = 0; i < std::min(one.size(), other.size()); ++i)
    difference = std::max(difference, std::fabs(one[i] - other[i]));
  std::printf("%zu values, largest difference %g\n", one.size(), difference);
}
