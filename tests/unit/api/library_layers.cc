// Norms, gates, experts, losses.
#include "library.h"

namespace quern::library {
namespace {

Kernel rms_norm() {
  Tensor x("x", T, {R, D}), w("w", T, {D}), eps("eps", f32), y("y", T, {R, D});
  y(r, d) = rmsnorm(d, x(r, d), eps) * w(d);
  return Kernel("rms_norm", {x, w, eps.otherwise(1e-6)}, {y});
}

Kernel add_rms_norm() {
  Tensor x("x", T, {R, D}), r("r", T, {R, D}), w("w", T, {D}), eps("eps", f32), total("total", T, {R, D}),
      y("y", T, {R, D});
  total(i, d) = x(i, d) + r(i, d);
  y(i, d) = rmsnorm(d, total(i, d), eps) * w(d);
  return Kernel("add_rms_norm", {x, r, w, eps.otherwise(1e-6)}, {total, y});
}

Kernel layer_norm() {
  Tensor x("x", T, {R, D}), w("w", T, {D}), b("b", T, {D}), eps("eps", f32);
  Tensor y("y", T, {R, D}), mu("mu", f32, {R}), rstd("rstd", f32, {R});
  mu(r) = mean(d, x(r, d));
  rstd(r) = rsqrt(var(d, x(r, d)) + eps);
  y(r, d) = (x(r, d) - mu(r)) * rstd(r) * w(d) + b(d);
  return Kernel("layer_norm", {x, w, b, eps.otherwise(1e-5)}, {y, mu, rstd});
}

Kernel norm_linear() {
  Tensor x("x", T, {M, K}), g("g", T, {K}), w("w", T, {N, K}), eps("eps", f32), y("y", T, {M, N});
  y(m, n) = sum(k, rmsnorm(k, x(m, k), eps) * g(k) * w(n, k));
  return Kernel("norm_linear", {x, g, w, eps.otherwise(1e-6)}, {y});
}

Kernel swiglu() {
  Tensor x("x", T, {M, K}), wg("wg", T, {F, K}), wu("wu", T, {F, K}), y("y", T, {M, F});
  Tensor g = Tensor::local("g"), u = Tensor::local("u");
  g(m, f) = sum(k, x(m, k) * wg(f, k));
  u(m, f) = sum(k, x(m, k) * wu(f, k));
  y(m, f) = silu(g(m, f)) * u(m, f);
  return Kernel("swiglu", {x, wg, wu}, {y});
}

Kernel geglu() {
  Tensor x("x", T, {M, 2 * F}), y("y", T, {M, F});
  y(m, f.below(F)) = gelu_tanh(x(m, f)) * x(m, f + F);
  return Kernel("geglu", {x}, {y});
}

Kernel moe() {
  Tensor x("x", T, {N, D}), id("id", i32, {N, K}), weight("weight", f32, {N, K});
  Tensor wg("wg", T, {X, F, D}), wu("wu", T, {X, F, D}), wd("wd", T, {X, D, F});
  Tensor sg("sg", T, {F, D}), su("su", T, {F, D}), sd("sd", T, {D, F}), y("y", T, {N, D});
  Tensor g = Tensor::local("g"), u = Tensor::local("u"), routed = Tensor::local("routed"),
         hidden = Tensor::local("hidden");
  g(n, j, f) = sum(d, x(n, d) * wg(id(n, j), f, d));
  u(n, j, f) = sum(d, x(n, d) * wu(id(n, j), f, d));
  routed(n, d) = sum({j, f}, weight(n, j) * silu(g(n, j, f)) * u(n, j, f) * wd(id(n, j), d, f));
  hidden(n, f) = silu(sum(d, x(n, d) * sg(f, d))) * sum(d, x(n, d) * su(f, d));
  y(n, d) = routed(n, d) + sum(f, hidden(n, f) * sd(d, f));
  return Kernel("moe", {x, id, weight, wg, wu, wd, sg, su, sd}, {y});
}

Kernel route() {
  Tensor x("x", T, {N, D}), w("w", f32, {X, D}), id("id", i32, {N, K}), weight("weight", f32, {N, K});
  Tensor p = Tensor::local("p"), place = Tensor::local("place");
  p(n, e) = softmax(e, sum(d, x(n, d) * w(e, d)));
  place(n, e) = rank(e, p(n, e));
  id(n, j) = sum(e, if_else(place(n, e) == j, e, 0));
  weight(n, j) = p(n, id(n, j)) / sum(e, if_else(place(n, e) < K, p(n, e), 0));
  return Kernel("route", {K, x, w}, {id, weight});
}

Kernel grouped_linear() {
  Tensor x("x", T, {M, K}), w("w", T, {X, N, K}), start("start", i32, {X + 1}), y("y", T, {M, N});
  y.first(0);
  y.update({e.below(X), m.between(start(e), start(e + 1))})(m, n) = sum(k, x(m, k) * w(e, n, k));
  return Kernel("grouped_linear", {x, w, start}, {y});
}

Kernel expert_starts() {
  Tensor id("id", i32, {N, K}), load("load", i32, {X}), start("start", i32, {X + 1});
  load.first(0);
  load.update({n, k})(id(n, k)) += 1;
  start(e) = sum(j.below(e), load(j));
  return Kernel("expert_starts", {X, id}, {load, start});
}

Kernel cross_entropy() {
  Tensor logits("logits", T, {R, V}), target("target", i32, {R}), smooth("smooth", f32), z("z", f32);
  Tensor loss("loss", f32, {R}), lse = Tensor::local("lse"), hit = Tensor::local("hit"), even = Tensor::local("even");
  lse(r) = logsumexp(v, logits(r, v));
  hit(r) = if_else(target(r) >= 0, lse(r) - logits(r, target(r)), 0);
  even(r) = lse(r) - mean(v, logits(r, v));
  loss(r) = if_else(target(r) >= 0, (1 - smooth) * hit(r) + smooth * even(r) + z * sq(lse(r)), 0);
  return Kernel("cross_entropy", {logits, target, smooth.otherwise(0), z.otherwise(0)}, {loss});
}

Kernel distillation() {
  Tensor a("a", T, {R, V}), b("b", T, {R, V}), kl("kl", f32, {R}), la = Tensor::local("la"), lb = Tensor::local("lb");
  la(r, v) = a(r, v) - logsumexp(v, a(r, v));
  lb(r, v) = b(r, v) - logsumexp(v, b(r, v));
  kl(r) = sum(v, exp(la(r, v)) * (la(r, v) - lb(r, v)));
  return Kernel("distillation", {a, b}, {kl});
}

}  // namespace

std::vector<Kernel> layers() {
  return {rms_norm(), add_rms_norm(), layer_norm(),    norm_linear(),    swiglu(),        geglu(),
          moe(),      route(),        expert_starts(), grouped_linear(), cross_entropy(), distillation()};
}

}  // namespace quern::library
