// A kernel as text: parse it, ask what it takes, run it, read the result and how exact it is.
#include <quern/module.h>

#include <cstdio>
#include <iostream>
#include <vector>

constexpr char kText[] = R"(
# Softmax of each row, at a temperature.
kernel soften(x: T[R, N], temperature: f32 = 1) -> y: T[R, N] {
  y[r, n] = softmax[n](x[r, n] / temperature)
}
)";

int main() {
  auto module = quern::parse(kText);
  if (!module) {
    std::cerr << module.error().text();
    return 1;
  }
  const quern::Kernel* kernel = module->find("soften");
  std::cout << kernel->signature() << "\n" << kernel->documentation() << "\n";

  auto program = kernel->compile();
  if (!program) {
    std::cerr << program.error().text();
    return 1;
  }

  std::vector<float> x = {1, 2, 3, 0, 0, 0};
  quern::Arguments arguments;
  arguments.tensor("x", std::span<const float>(x), {2, 3}).scalar("temperature", 0.5);
  auto run = program->run(arguments);
  if (!run) {
    std::cerr << run.error().text();
    return 1;
  }
  const quern::Output& y = *run->find("y");
  for (int64_t i = 0; i < y.size(); ++i) {
    std::printf("%s%.4f", i % 3 ? " " : "", y.real(i));
    if (i % 3 == 2) std::printf("\n");
  }
  // How far an implementation in f32 may be off: a few roundings.
  std::printf("bound below 1e-6: %s\n", y.bound[0] < 1e-6 ? "yes" : "no");
}
