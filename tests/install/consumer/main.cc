// A program outside Quern, as its users write it: a kernel from text and the same one in C++, run on the same numbers.
// Prints the library's version, then the two results.
#include <quern/module.h>
#include <quern/notation.h>
#include <quern/prelude.h>
#include <quern/version.h>

#include <cstdio>
#include <vector>

using namespace quern;

static Kernel sum_of_squares() {
  Dim N("N");
  Index n("n");
  Tensor x("x", f32, {N}), y("y", f32);
  y() = sum(n, sq(x(n)));
  return Kernel("sum_of_squares", {x}, {y});
}

static double run(const Kernel& kernel) {
  std::vector<float> x = {1, 2, 3};
  auto program = kernel.compile(Device::interpreter());
  if (!program) return -1;
  auto outcome = program->run(Arguments().tensor("x", std::span<const float>(x), {3}));
  return outcome ? outcome->find("y")->real(0) : -2;
}

int main() {
  auto module = parse("kernel sum_of_squares(x: f32[N]) -> y: f32 {\n  y = sum[n] sq(x[n])\n}\n");
  bool same = module && print(*module) == print(sum_of_squares());
  std::printf("%s %g %g%s\n", version(), module ? run(module->kernels().front()) : -3, run(sum_of_squares()),
              same ? "" : " different texts");
}
