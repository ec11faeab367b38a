// The same notation in C++: a matrix product with an epilogue, printed as its text, run on memory of any strides.
#include <quern/notation.h>
#include <quern/prelude.h>

#include <cstdio>
#include <iostream>
#include <vector>

using namespace quern;

Kernel linear() {
  Type T("T");                 // whatever real type the arguments have
  Dim M("M"), N("N"), K("K");  // solved from their shapes
  Index m("m"), n("n"), k("k");
  Tensor x("x", T, {M, K}), w("w", T, {N, K}), bias("bias", T, {N});
  Tensor y("y", T, {M, N});
  Tensor z = Tensor::local("z");

  z(m, n) = sum(k, x(m, k) * w(n, k)) + bias(n);
  y(m, n) = gelu(z(m, n));

  return Kernel("linear", {x, w, bias}, {y}).document("A layer with its activation.");
}

int main() {
  Kernel kernel = linear();
  std::cout << print(kernel);

  auto program = kernel.compile(Device::interpreter());
  if (!program) {
    std::cerr << program.error().text();
    return 1;
  }

  std::vector<float> x = {1, 2, 3, 4}, bias = {0, 1, 2};
  std::vector<float> w = {1, 0, 2,  // stored with K first: as w[n, k] its strides are 1 and 3
                          0, 1, 2};
  std::vector<float> y(6);
  Arguments arguments;
  arguments.tensor("x", std::span<const float>(x), {2, 2})
      .tensor("w", ConstView{w.data(), f32, {3, 2}, {1, 3}})
      .tensor("bias", std::span<const float>(bias), {3})
      .output("y", std::span<float>(y), {2, 3});
  auto run = program->run(arguments);
  if (!run) {
    std::cerr << run.error().text();
    return 1;
  }
  for (int row = 0; row < 2; ++row) std::printf("%.3f %.3f %.3f\n", y[3 * row], y[3 * row + 1], y[3 * row + 2]);
}
