// Sampling, scans, training.
#include "library.h"

namespace quern::library {
namespace {

Kernel greedy() {
  Tensor logits("logits", T, {R, V}), id("id", i32, {R});
  id(r) = argmax(v, logits(r, v));
  return Kernel("greedy", {logits}, {id});
}

Kernel sample() {
  Tensor logits("logits", T, {R, V}), temperature("temperature", f32, {R}), seed("seed", i64), step("step", i64);
  Tensor id("id", i32, {R});
  id(r) = argmax(v, logits(r, v) / temperature(r) + gumbel(seed, (step * R + r) * V + v));
  return Kernel("sample", {logits, temperature, seed, step}, {id});
}

Kernel min_p() {
  Tensor logits("logits", T, {R, V}), share("share", f32), y("y", T, {R, V});
  y(r, v) = if_else(logits(r, v) >= max(v, logits(r, v)) + log(share), logits(r, v), -inf);
  return Kernel("min_p", {logits, share}, {y});
}

Kernel top_k() {
  Tensor x("x", T, {R, N}), value("value", T, {R, K}), id("id", i32, {R, K}), place = Tensor::local("place");
  place(r, n) = rank(n, x(r, n));
  id(r, k) = sum(n, if_else(place(r, n) == k, n, 0));
  value(r, k) = x(r, id(r, k));
  return Kernel("top_k", {K, x}, {value, id});
}

Kernel cumulative_sum() {
  Tensor x("x", T, {R, N}), y("y", f32, {R, N});
  y(r, i) = sum(j.at_most(i), x(r, j));
  return Kernel("cumulative_sum", {x}, {y});
}

Kernel histogram() {
  Tensor x("x", i32, {N}), h("h", i32, {V});
  h.first(0);
  h.update({n})(x(n)) += 1;
  return Kernel("histogram", {V, x}, {h});
}

Kernel linear_attention() {
  Tensor q("q", T, {B, H, N, D}), k("k", T, {B, H, N, D}), v("v", T, {B, H, N, E}), decay("decay", f32, {H});
  Tensor o("o", T, {B, H, N, E});
  o(b, h, m, e) = sum({n.at_most(m), d}, q(b, h, m, d) * k(b, h, n, d) * pow(decay(h), m - n) * v(b, h, n, e));
  return Kernel("linear_attention", {q, k, v, decay}, {o});
}

Kernel gated_recurrence() {
  Tensor a("a", T, {B, N, D}), x("x", T, {B, N, D}), h("h", T, {B, N, D});
  h(b, t, d) = sum(s.at_most(t), x(b, s, d) * prod(j.above(s).at_most(t), a(b, j, d)));
  return Kernel("gated_recurrence", {a, x}, {h});
}

Kernel adam() {
  Tensor g("g", T, {N}), p("p", f32, {N}), m("m", f32, {N}), v("v", f32, {N}), step("step", i32), lr("lr", f32);
  Tensor b1("b1", f32), b2("b2", f32), eps("eps", f32), decay("decay", f32);
  Tensor m1 = Tensor::local("m1"), v1 = Tensor::local("v1");
  m1(i) = b1 * m(i) + (1 - b1) * g(i);
  v1(i) = b2 * v(i) + (1 - b2) * sq(g(i));
  m(i) = m1(i);
  v(i) = v1(i);
  p(i) = p(i) - lr * (m1(i) / (1 - pow(b1, step)) / (sqrt(v1(i) / (1 - pow(b2, step))) + eps) + decay * p(i));
  return Kernel("adam", {g, p.inout(), m.inout(), v.inout(), step, lr, b1.otherwise(0.9), b2.otherwise(0.999),
                         eps.otherwise(1e-8), decay.otherwise(0)});
}

Kernel global_norm() {
  Tensor g("g", T, {N}), norm("norm", f32);
  norm() = sqrt(sum(n, sq(g(n))));
  return Kernel("global_norm", {g}, {norm});
}

Kernel dropout() {
  Tensor x("x", T, {R, N}), rate("rate", f32), seed("seed", i64), y("y", T, {R, N});
  y(r, n) = if_else(uniform(seed, r * N + n) >= rate, x(r, n) / (1 - rate), 0);
  return Kernel("dropout", {x, rate, seed}, {y});
}

Kernel embedding() {
  Tensor id("id", i32, {N}), table("table", T, {V, D}), scale("scale", f32), y("y", T, {N, D});
  y(n, d) = table(id(n), d) * scale;
  return Kernel("embedding", {id, table, scale.otherwise(1)}, {y});
}

Kernel embedding_backward() {
  Tensor id("id", i32, {N}), g("g", T, {N, D}), gt("gt", f32, {V, D});
  gt.first(0).update({n})(id(n), d) += g(n, d);
  return Kernel("embedding_backward", {V, id, g}, {gt});
}

Kernel concat() {
  Tensor a("a", T, {R, M}), b("b", T, {R, N}), y("y", T, {R, M + N});
  y(r, i.below(M + N)) = if_else(i < M, a(r, i), b(r, i - M));
  return Kernel("concat", {a, b}, {y});
}

}  // namespace

std::vector<Kernel> choices() {
  return {greedy(),
          sample(),
          min_p(),
          top_k(),
          cumulative_sum(),
          histogram(),
          linear_attention(),
          gated_recurrence(),
          adam(),
          global_norm(),
          dropout(),
          embedding(),
          embedding_backward(),
          concat()};
}

}  // namespace quern::library
