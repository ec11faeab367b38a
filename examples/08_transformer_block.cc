// A block of a transformer, norm to residual: four kernels in the notation, each fused by itself, run one after the
// other on buffers that the program owns. After each step the interpreter computes the same from the same inputs; its
// bound is how far machine code may be off.
#include <quern/module.h>

#include <cmath>
#include <cstdio>
#include <iostream>
#include <utility>
#include <vector>

using namespace quern;

constexpr char kText[] = R"(
# The norm is a factor of a row: it and the product take one pass over x.
kernel project_in(x: T[N, C], gain: T[C], w: T[R, C], eps: f32 = 1e-6) -> y: T[N, R] {
  y[n, r] = sum[c] rmsnorm[c](x[n, c], eps) * gain[c] * w[r, c]
}

# Causal; H query heads share G key heads.
kernel attend(q: T[H, N, D], k: T[G, N, D], v: T[G, N, D]) -> o: T[H, N, D] {
  s[h, m, n] = sum[d] q[h, m, d] * k[h // (H // G), n, d] / sqrt(D)
  p[h, m, n] = softmax[n](s[h, m, n] if n <= m else -inf)
  o[h, m, d] = sum[n] p[h, m, n] * v[h // (H // G), n, d]
}

kernel project_out(x: T[N, K], w: T[C, K], residual: T[N, C]) -> y: T[N, C] {
  y[n, c] = residual[n, c] + sum[k] x[n, k] * w[c, k]
}

kernel gate(x: T[N, C], gain: T[C], wg: T[F, C], wu: T[F, C], eps: f32 = 1e-6) -> y: T[N, F] {
  g[n, f] = sum[c] rmsnorm[c](x[n, c], eps) * gain[c] * wg[f, c]
  u[n, f] = sum[c] rmsnorm[c](x[n, c], eps) * gain[c] * wu[f, c]
  y[n, f] = silu(g[n, f]) * u[n, f]
}
)";

constexpr int64_t kTokens = 40, kModel = 64, kHeads = 4, kGroups = 2, kHead = 16, kHidden = 96;
constexpr int64_t kPacked = (kHeads + 2 * kGroups) * kHead;  // a row of queries, keys and values

// Row-major [rows, columns].
struct Matrix {
  Matrix(int64_t rows, int64_t columns) : rows(rows), columns(columns), values(static_cast<size_t>(rows * columns)) {}

  ConstView view() const { return {values.data(), f32, {rows, columns}}; }
  View view() { return {values.data(), f32, {rows, columns}}; }
  // Columns from `first` on as [heads, rows, kHead]: the same memory, with the heads in front.
  ConstView heads(int64_t first, int64_t count) const {
    return {values.data() + first, f32, {count, rows, kHead}, {kHead, columns, 1}};
  }
  View heads(int64_t first, int64_t count) {
    return {values.data() + first, f32, {count, rows, kHead}, {kHead, columns, 1}};
  }

  int64_t rows, columns;
  std::vector<float> values;
};

Matrix wave(int64_t rows, int64_t columns, double step, double height) {
  Matrix m(rows, columns);
  for (size_t i = 0; i < m.values.size(); ++i) {
    m.values[i] = static_cast<float>(height * std::sin(step * static_cast<double>(i)));
  }
  return m;
}

class Block {
 public:
  explicit Block(const Module& module) : module_(module) {}

  // Runs a kernel, then says how its result compares. `result` is the memory that the arguments name as `output`.
  void run(const char* kernel, const Arguments& arguments, const char* output, const View& result) {
    if (failed_) return;
    Options options;
    options.copy_outputs = false;  // results only where `output` says
    auto fast = module_.find(kernel)->compile(Device::named("cpu"), options);
    auto exact = module_.find(kernel)->compile(Device::interpreter());
    if (!fast || !exact) return complain(fast ? exact.error() : fast.error());
    // Without `output` the interpreter's result is in its Outcome only.
    auto right = exact->run(arguments);
    Arguments with = arguments;
    auto done = fast->run(with.output(output, result));
    if (!done || !right) return complain(done ? right.error() : done.error());
    compare(kernel, *right->find(output), result);
  }

  bool failed() const { return failed_; }

 private:
  void complain(const Errors& errors) {
    std::cerr << errors.text();
    failed_ = true;
  }

  static void compare(const char* kernel, const Output& exact, const View& result) {
    std::vector<int64_t> strides = result.strides;
    if (strides.empty()) strides = {result.shape[1], 1};
    int64_t beyond = 0;
    for (int64_t i = 0; i < exact.size(); ++i) {
      int64_t at = 0, rest = i;  // element i in row-major order
      for (size_t d = strides.size(); d-- > 0; rest /= result.shape[d]) at += rest % result.shape[d] * strides[d];
      double found = static_cast<const float*>(result.data)[at];
      beyond += !(std::fabs(found - exact.real(i)) <= exact.bound[static_cast<size_t>(i)]);
    }
    std::printf("%-12s %5lld elements, %lld beyond their bound\n", kernel, static_cast<long long>(exact.size()),
                static_cast<long long>(beyond));
  }

  const Module& module_;
  bool failed_ = false;
};

int main() {
  auto module = parse(kText);
  if (!module) {
    std::cerr << module.error().text();
    return 1;
  }

  const Matrix x = wave(kTokens, kModel, 0.11, 1);
  const Matrix gain1 = wave(1, kModel, 0.01, 1), gain2 = wave(1, kModel, 0.02, 1);
  const Matrix w_in = wave(kPacked, kModel, 0.7, 0.2), w_out = wave(kModel, kHeads * kHead, 1.3, 0.2);
  const Matrix w_gate = wave(kHidden, kModel, 0.9, 0.2), w_up = wave(kHidden, kModel, 1.7, 0.2);
  const Matrix w_down = wave(kModel, kHidden, 2.3, 0.2);
  Matrix qkv(kTokens, kPacked), heads(kTokens, kHeads * kHead), middle(kTokens, kModel);
  Matrix hidden(kTokens, kHidden), y(kTokens, kModel);
  auto row = [](const Matrix& m) { return ConstView{m.values.data(), f32, {m.columns}}; };
  auto constant = [](const Matrix& m) { return m.view(); };

  Block block(*module);
  block.run("project_in", Arguments().tensor("x", constant(x)).tensor("gain", row(gain1)).tensor("w", constant(w_in)),
            "y", qkv.view());
  block.run("attend",
            Arguments()
                .tensor("q", std::as_const(qkv).heads(0, kHeads))
                .tensor("k", std::as_const(qkv).heads(kHeads * kHead, kGroups))
                .tensor("v", std::as_const(qkv).heads((kHeads + kGroups) * kHead, kGroups)),
            "o", heads.heads(0, kHeads));
  block.run("project_out",
            Arguments().tensor("x", constant(heads)).tensor("w", constant(w_out)).tensor("residual", constant(x)), "y",
            middle.view());
  block.run("gate",
            Arguments()
                .tensor("x", constant(middle))
                .tensor("gain", row(gain2))
                .tensor("wg", constant(w_gate))
                .tensor("wu", constant(w_up)),
            "y", hidden.view());
  block.run(
      "project_out",
      Arguments().tensor("x", constant(hidden)).tensor("w", constant(w_down)).tensor("residual", constant(middle)), "y",
      y.view());
  return block.failed() ? 1 : 0;
}
