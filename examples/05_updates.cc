// More of the notation in C++: bounds, updates, sizes and types that the caller chooses, memory that is changed in
// place.
#include <quern/notation.h>
#include <quern/prelude.h>

#include <cstdint>
#include <iostream>
#include <vector>

using namespace quern;

const Type T("T");
const Dim M("M"), N("N"), K("K"), S("S"), X("X");
const Index i("i"), j("j"), k("k"), m("m"), n("n"), e("e");

Kernel histogram() {
  Dim V("V");  // no parameter has it: the caller gives it, so it is listed
  Tensor x("x", i32, {N}), h("h", i32, {V});
  h.first(0);  // a result that is updated needs a first value
  h.update({n}, x(n) >= 0)(x(n)) += 1;
  return Kernel("histogram", {V, x}, {h});
}

Kernel grouped_linear() {
  Tensor x("x", T, {M, K}), w("w", T, {X, N, K}), start("start", i32, {X + 1}), y("y", T, {M, N});
  y.first(0);
  y.update({e.below(X), m.between(start(e), start(e + 1))})(m, n) = sum(k, x(m, k) * w(e, n, k));
  return Kernel("grouped_linear", {x, w, start}, {y});
}

Kernel decayed_sum() {
  Tensor x("x", T, {N}), decay("decay", f32), y("y", T, {N});
  decay.otherwise(0.9);  // a scalar with a default
  y(n) = sum(i.at_most(n), x(i) * prod(j.above(i).at_most(n), decay));
  return Kernel("decayed_sum", {x, decay}, {y});
}

Kernel quantize() {
  Dim L("L", 32);       // 32 unless the caller says otherwise
  Type U("U", f8e4m3);  // and so for the type
  Tensor x("x", T, {M, K}), q("q", U, {M, K}), scale("scale", f32, {M, K / L});
  scale(m, n) = max(max(j.below(L), abs(x(m, n * L + j))), 1e-12) / 448;
  q(m, k) = U(x(m, k) / scale(m, floor_div(k, L)));
  return Kernel("quantize", {L, U, x}, {q, scale});
}

Kernel accumulate() {
  Tensor a("a", i8, {M, K}), b("b", i8, {N, K}), c("c", f32, {M, N}), acc = Tensor::local("acc");
  c.inout();  // on the right: its value before the kernel
  acc(m, n).as(i32) = sum(k, a(m, k) * b(n, k));
  c(m, n) = c(m, n) + acc(m, n);
  return Kernel("accumulate", {dyn(M), a, b, c});
}

// The place of x in descending order: at() reads x at another index, and j can't meet an index of the caller's.
Expr place(const Index& i, const Expr& x) {
  Index j = Index::fresh("j");
  Expr other = at(x, i, j);
  return count(j, other > x || (other == x && j < i));
}

Kernel ranks() {
  Tensor x("x", T, {N}), y("y", i32, {N});
  y(n) = place(n, x(n));
  return Kernel("ranks", {x}, {y});
}

int main() {
  for (const Kernel& kernel : {histogram(), grouped_linear(), decayed_sum(), quantize(), accumulate(), ranks()}) {
    if (auto checked = kernel.check(); !checked) std::cout << checked.error().text();
    std::cout << print(kernel) << "\n";
  }

  std::vector<int32_t> x = {2, 0, 2, -1, 2};
  auto program = histogram().compile();
  auto outcome = program->run(Arguments().tensor("x", std::span<const int32_t>(x), {5}).dimension("V", 4));
  for (int count : outcome->find("h")->values<int>()) std::cout << count << "\n";

  // In place: `output` says where c is read and written.
  std::vector<int8_t> a = {1, 2, 3, 4}, b = {1, 0, 0, 1};
  std::vector<float> c = {100, 100, 100, 100};
  Arguments arguments;
  arguments.tensor("a", std::span<const int8_t>(a), {2, 2})
      .tensor("b", std::span<const int8_t>(b), {2, 2})
      .output("c", std::span<float>(c), {2, 2});
  if (auto done = accumulate().compile()->run(arguments); !done) std::cout << done.error().text();
  for (float value : c) std::cout << value << "\n";
}
