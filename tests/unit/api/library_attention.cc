// Attention and serving.
#include "library.h"

namespace quern::library {
namespace {

Expr head_group() { return floor_div(h, floor_div(H, G)); }  // the key head of query head h

Kernel attention() {
  Tensor q("q", T, {B, H, M, D}), k("k", T, {B, G, N, D}), v("v", T, {B, G, N, E}), o("o", T, {B, H, M, E});
  Tensor s = Tensor::local("s"), p = Tensor::local("p");
  s(b, h, m, n) = sum(d, q(b, h, m, d) * k(b, head_group(), n, d) / sqrt(D));
  p(b, h, m, n) = softmax(n, if_else(n <= m + N - M, s(b, h, m, n), -inf));
  o(b, h, m, e) = sum(n, p(b, h, m, n) * v(b, head_group(), n, e));
  return Kernel("attention", {q, k, v}, {o});
}

Kernel attention_bounded() {
  Tensor q("q", T, {B, H, M, D}), k("k", T, {B, G, N, D}), v("v", T, {B, G, N, E}), o("o", T, {B, H, M, E});
  Tensor s = Tensor::local("s"), p = Tensor::local("p");
  s(b, h, m, n.at_most(m + N - M)) = sum(d, q(b, h, m, d) * k(b, head_group(), n, d) / sqrt(D));
  p(b, h, m, n) = softmax(n, s(b, h, m, n));
  o(b, h, m, e) = sum(n, p(b, h, m, n) * v(b, head_group(), n, e));
  return Kernel("attention_bounded", {q, k, v}, {o});
}

Kernel attention_cross() {
  Tensor q("q", T, {B, H, M, D}), k("k", T, {B, H, N, D}), v("v", T, {B, H, N, E}), length("length", i32, {B});
  Tensor o("o", T, {B, H, M, E}), s = Tensor::local("s"), p = Tensor::local("p");
  s(b, h, m, n.below(length(b))) = sum(d, q(b, h, m, d) * k(b, h, n, d) / sqrt(D));
  p(b, h, m, n) = softmax(n, s(b, h, m, n));
  o(b, h, m, e) = sum(n, p(b, h, m, n) * v(b, h, n, e));
  return Kernel("attention_cross", {q, k, v, length}, {o});
}

Kernel attention_softcap() {
  Dim cap("CAP", 30);
  Tensor q("q", T, {B, H, M, D}), k("k", T, {B, H, N, D}), v("v", T, {B, H, N, E}), o("o", T, {B, H, M, E});
  Tensor s = Tensor::local("s"), p = Tensor::local("p");
  s(b, h, m, n) = soft_cap(sum(d, q(b, h, m, d) * k(b, h, n, d) / sqrt(D)), cap);
  p(b, h, m, n) = softmax(n, if_else(n <= m + N - M, s(b, h, m, n), -inf));
  o(b, h, m, e) = sum(n, p(b, h, m, n) * v(b, h, n, e));
  return Kernel("attention_softcap", {cap, q, k, v}, {o});
}

Kernel attention_alibi() {
  Tensor q("q", T, {B, H, M, D}), k("k", T, {B, H, N, D}), v("v", T, {B, H, N, E}), o("o", T, {B, H, M, E});
  Tensor slope = Tensor::local("slope"), s = Tensor::local("s"), p = Tensor::local("p");
  slope(h.below(H)) = exp2(-8 * (h + 1) / H);
  s(b, h, m, n) = sum(d, q(b, h, m, d) * k(b, h, n, d) / sqrt(D)) + slope(h) * (n - (m + N - M));
  p(b, h, m, n) = softmax(n, if_else(n <= m + N - M, s(b, h, m, n), -inf));
  o(b, h, m, e) = sum(n, p(b, h, m, n) * v(b, h, n, e));
  return Kernel("attention_alibi", {q, k, v}, {o});
}

Kernel attention_sink() {
  Tensor q("q", T, {B, H, M, D}), k("k", T, {B, H, N, D}), v("v", T, {B, H, N, E}), sink("sink", f32, {H});
  Tensor o("o", T, {B, H, M, E}), s = Tensor::local("s"), z = Tensor::local("z");
  s(b, h, m, n.at_most(m + N - M)) = sum(d, q(b, h, m, d) * k(b, h, n, d) / sqrt(D));
  z(b, h, m) = logaddexp(logsumexp(n, s(b, h, m, n)), sink(h));
  o(b, h, m, e) = sum(n, exp(s(b, h, m, n) - z(b, h, m)) * v(b, h, n, e));
  return Kernel("attention_sink", {q, k, v, sink}, {o});
}

Kernel attention_document() {
  Tensor q("q", T, {B, H, N, D}), k("k", T, {B, H, N, D}), v("v", T, {B, H, N, E}), doc("doc", i32, {B, N});
  Tensor o("o", T, {B, H, N, E}), s = Tensor::local("s"), p = Tensor::local("p");
  s(b, h, m, n) = sum(d, q(b, h, m, d) * k(b, h, n, d) / sqrt(D));
  p(b, h, m, n) = softmax(n, if_else(n <= m && doc(b, n) == doc(b, m), s(b, h, m, n), -inf));
  o(b, h, m, e) = sum(n, p(b, h, m, n) * v(b, h, n, e));
  return Kernel("attention_document", {q, k, v, doc}, {o});
}

Kernel attention_varlen() {
  Tensor q("q", T, {N, H, D}), k("k", T, {N, G, D}), v("v", T, {N, G, E}), start("start", i32, {S + 1});
  Tensor o("o", T, {N, H, E}), s = Tensor::local("s"), p = Tensor::local("p");
  o.first(0);
  s(i.below(S), h, m.between(start(i), start(i + 1)), n.from(start(i)).at_most(m)) =
      sum(d, q(m, h, d) * k(n, head_group(), d) / sqrt(D));
  p(i, h, m, n) = softmax(n, s(i, h, m, n));
  o.update({i})(m, h, e) = sum(n, p(i, h, m, n) * v(n, head_group(), e));
  return Kernel("attention_varlen", {q, k, v, start}, {o});
}

Kernel attention_relative() {
  Tensor q("q", T, {B, H, N, D}), k("k", T, {B, H, N, D}), v("v", T, {B, H, N, E}), bias("bias", T, {H, 2 * W + 1});
  Tensor o("o", T, {B, H, N, E}), s = Tensor::local("s"), p = Tensor::local("p");
  s(b, h, m, n) = sum(d, q(b, h, m, d) * k(b, h, n, d) / sqrt(D)) + bias(h, clamp(n - m, -W, W) + W);
  p(b, h, m, n) = softmax(n, s(b, h, m, n));
  o(b, h, m, e) = sum(n, p(b, h, m, n) * v(b, h, n, e));
  return Kernel("attention_relative", {q, k, v, bias}, {o});
}

Kernel attention_lse() {
  Tensor q("q", T, {B, H, M, D}), k("k", T, {B, H, N, D}), v("v", T, {B, H, N, E});
  Tensor o("o", T, {B, H, M, E}), lse("lse", f32, {B, H, M}), s = Tensor::local("s");
  s(b, h, m, n.at_most(m + N - M)) = sum(d, q(b, h, m, d) * k(b, h, n, d) / sqrt(D));
  lse(b, h, m) = logsumexp(n, s(b, h, m, n));
  o(b, h, m, e) = sum(n, softmax(n, s(b, h, m, n)) * v(b, h, n, e));
  return Kernel("attention_lse", {q, k, v}, {o, lse});
}

Kernel attention_backward() {
  Tensor q("q", T, {B, H, M, D}), k("k", T, {B, G, N, D}), v("v", T, {B, G, N, E}), o("o", T, {B, H, M, E});
  Tensor lse("lse", f32, {B, H, M}), go("go", T, {B, H, M, E});
  Tensor gq("gq", T, {B, H, M, D}), gk("gk", T, {B, G, N, D}), gv("gv", T, {B, G, N, E});
  Tensor s = Tensor::local("s"), p = Tensor::local("p"), gp = Tensor::local("gp"), delta = Tensor::local("delta"),
         gs = Tensor::local("gs");
  Expr own = g * floor_div(H, G) + j;  // the j-th query head of key head g
  s(b, h, m, n) = sum(d, q(b, h, m, d) * k(b, head_group(), n, d) / sqrt(D));
  p(b, h, m, n) = if_else(n <= m + N - M, exp(s(b, h, m, n) - lse(b, h, m)), 0);
  gp(b, h, m, n) = sum(e, go(b, h, m, e) * v(b, head_group(), n, e));
  delta(b, h, m) = sum(e, go(b, h, m, e) * o(b, h, m, e));
  gs(b, h, m, n) = p(b, h, m, n) * (gp(b, h, m, n) - delta(b, h, m)) / sqrt(D);
  gq(b, h, m, d) = sum(n, gs(b, h, m, n) * k(b, head_group(), n, d));
  gk(b, g, n, d) = sum({j.below(floor_div(H, G)), m}, gs(b, own, m, n) * q(b, own, m, d));
  gv(b, g, n, e) = sum({j.below(floor_div(H, G)), m}, p(b, own, m, n) * go(b, own, m, e));
  return Kernel("attention_backward", {q, k, v, o, lse, go}, {gq, gk, gv});
}

Kernel paged_attention() {
  Tensor q("q", T, {S, H, D}), kp("kp", T, {P, L, G, D}), vp("vp", T, {P, L, G, E}), page("page", i32, {S, C});
  Tensor length("length", i32, {S}), o("o", T, {S, H, E}), s = Tensor::local("s"), p = Tensor::local("p");
  s(i, h, n.below(length(i))) = sum(d, q(i, h, d) * kp(page(i, floor_div(n, L)), n % L, head_group(), d) / sqrt(D));
  p(i, h, n) = softmax(n, s(i, h, n));
  o(i, h, e) = sum(n, p(i, h, n) * vp(page(i, floor_div(n, L)), n % L, head_group(), e));
  return Kernel("paged_attention", {q, kp, vp, page, length}, {o});
}

Kernel cache_append() {
  Tensor k("k", T, {N, G, D}), v("v", T, {N, G, D}), slot("slot", i32, {N}), kp("kp", T, {P, L, G, D}),
      vp("vp", T, {P, L, G, D});
  kp.inout();
  vp.inout();
  kp.update({t}, slot(t) >= 0)(floor_div(slot(t), L), slot(t) % L, g, d) = k(t, g, d);
  vp.update({t}, slot(t) >= 0)(floor_div(slot(t), L), slot(t) % L, g, d) = v(t, g, d);
  return Kernel("cache_append", {k, v, slot, kp, vp});
}

Kernel rope() {
  Tensor x("x", T, {N, H, D}), y("y", T, {N, H, D}), turned = Tensor::local("turned");
  Tensor cos("cos", f32, {P, D / 2}), sin("sin", f32, {P, D / 2}), pos("pos", i32, {N});
  turned(n, h, d.below(D)) = if_else(d < floor_div(D, 2), -x(n, h, d + floor_div(D, 2)), x(n, h, d - floor_div(D, 2)));
  y(n, h, d) = x(n, h, d) * cos(pos(n), d % floor_div(D, 2)) + turned(n, h, d) * sin(pos(n), d % floor_div(D, 2));
  return Kernel("rope", {x, cos, sin, pos}, {y});
}

Kernel rope_interleaved() {
  Tensor x("x", T, {N, H, D}), pos("pos", i32, {N}), base("base", f32), y("y", T, {N, H, D});
  Tensor angle = Tensor::local("angle");
  base.otherwise(10000);
  angle(n, j.below(floor_div(D, 2))) = pos(n) * pow(base, -2 * j / D);
  y(n, h, d) = x(n, h, d) * cos(angle(n, floor_div(d, 2))) +
               x(n, h, d ^ 1) * sin(angle(n, floor_div(d, 2))) * if_else(d % 2 == 0, -1, 1);
  return Kernel("rope_interleaved", {x, pos, base}, {y});
}

}  // namespace

std::vector<Kernel> attentions() {
  return {attention(),          attention_bounded(),
          attention_cross(),    attention_softcap(),
          attention_alibi(),    attention_sink(),
          attention_document(), attention_varlen(),
          attention_lse(),      attention_relative(),
          paged_attention(),    cache_append(),
          attention_backward(), rope(),
          rope_interleaved()};
}

}  // namespace quern::library
