// Three kinds of mistakes, and where each is found: in the kernel when it is checked, in the call before anything runs,
// in the data while it runs. Nothing is thrown or printed by the library.
#include <quern/notation.h>

#include <iostream>
#include <vector>

using namespace quern;

int main() {
  Dim N("N"), V("V");
  Index n("n"), k("k");

  // 1. The kernel is wrong. Its places are in the text that it prints as.
  Tensor x("x", f32, {N}), wrong("y", f32, {N});
  wrong(n) = x(n) + x(k);
  auto checked = Kernel("wrong", {x}, {wrong}).check();
  std::cout << checked.error().text() << "\n";
  for (const Error& e : checked.error()) std::cout << "code " << e.code << ", line " << e.line << "\n\n";

  // 2. The call is wrong.
  Tensor id("id", i32, {N}), table("table", f32, {V}), y("y", f32, {N});
  y(n) = table(id(n));
  auto look_up = Kernel("look_up", {id, table}, {y}).compile();
  std::vector<int32_t> ids = {2, 9, 0};
  std::vector<float> values = {10, 20, 30};
  Arguments arguments;
  arguments.tensor("id", std::span<const int32_t>(ids), {3});
  auto refused = look_up->run(arguments.dimension("V", 3));
  std::cout << refused.error().text() << "\n";

  // 3. The data is wrong: the read does not happen and gives 0, and the place is found.
  Arguments complete;
  complete.tensor("id", std::span<const int32_t>(ids), {3}).tensor("table", std::span<const float>(values), {3});
  auto outcome = look_up->run(complete);
  for (float value : outcome->find("y")->values<float>()) std::cout << value << "\n";
  std::cout << outcome->findings.text();
}
