// Matrix products and quantised weights.
#include "library.h"

namespace quern::library {
namespace {

Kernel matmul() {
  Tensor a("a", T, {M, K}), b("b", T, {K, N}), c("c", T, {M, N});
  c(m, n) = sum(k, a(m, k) * b(k, n));
  return Kernel("matmul", {a, b}, {c}).document("Plain product.");
}

Kernel linear() {
  Tensor x("x", T, {M, K}), w("w", T, {N, K}), y("y", T, {M, N});
  y(m, n) = sum(k, x(m, k) * w(n, k));
  return Kernel("linear", {x, w}, {y});
}

Kernel batched_matmul() {
  Tensor a("a", T, {B, M, K}), b("b", T, {B, K, N}), c("c", T, {B, M, N});
  c(i, m, n) = sum(k, a(i, m, k) * b(i, k, n));
  return Kernel("batched_matmul", {a, b}, {c});
}

Kernel linear_gelu_residual() {
  Tensor x("x", T, {M, K}), w("w", T, {N, K}), bias("bias", T, {N}), r("r", T, {M, N}), y("y", T, {M, N});
  Tensor z = Tensor::local("z");
  z(m, n) = sum(k, x(m, k) * w(n, k)) + bias(n);
  y(m, n) = gelu(z(m, n)) + r(m, n);
  return Kernel("linear_gelu_residual", {x, w, bias, r}, {y});
}

Kernel qkv() {
  Tensor x("x", T, {M, K}), wq("wq", T, {P, K}), wk("wk", T, {Q, K}), wv("wv", T, {Q, K});
  Tensor q("q", T, {M, P}), k("k", T, {M, Q}), v("v", T, {M, Q});
  q(m, n) = sum(c, x(m, c) * wq(n, c));
  k(m, n) = sum(c, x(m, c) * wk(n, c));
  v(m, n) = sum(c, x(m, c) * wv(n, c));
  return Kernel("qkv", {x, wq, wk, wv}, {q, k, v});
}

Kernel gemm() {
  Tensor a("a", T, {M, K}), b("b", T, {K, N}), c("c", T, {M, N});
  Tensor alpha("alpha", f32), beta("beta", f32);
  c.inout();
  c(m, n) = alpha * sum(k, a(m, k) * b(k, n)) + if_else(beta != 0, beta * c(m, n), 0);
  return Kernel("gemm", {a, b, c, alpha.otherwise(1), beta.otherwise(0)});
}

Kernel matmul_bf16_operands() {
  Tensor a("a", f32, {M, K}), b("b", f32, {K, N}), c("c", f32, {M, N});
  c(m, n) = sum(k, bf16(a(m, k)) * cast(bf16, b(k, n)));
  return Kernel("matmul_bf16_operands", {a, b}, {c});
}

Kernel lora() {
  Tensor x("x", T, {M, K}), w("w", T, {N, K}), a("a", T, {R, K}), b("b", T, {N, R}), alpha("alpha", f32);
  Tensor y("y", T, {M, N}), u = Tensor::local("u");
  u(m, r) = sum(k, x(m, k) * a(r, k));
  y(m, n) = sum(k, x(m, k) * w(n, k)) + alpha * sum(r, u(m, r) * b(n, r));
  return Kernel("lora", {x, w, a, b, alpha}, {y});
}

Kernel int8_matmul() {
  Tensor a("a", i8, {M, K}), b("b", i8, {N, K}), sa("sa", f32, {M}), sb("sb", f32, {N}), c("c", T, {M, N});
  Tensor acc = Tensor::local("acc");
  acc(m, n).as(i32) = sum(k, a(m, k) * b(n, k));
  c(m, n) = acc(m, n) * sa(m) * sb(n);
  return Kernel("int8_matmul", {a, b, sa, sb}, {c});
}

Kernel quantize_int8() {
  Tensor x("x", T, {R, D}), q("q", i8, {R, D}), scale("scale", f32, {R});
  scale(r) = max(max(d, abs(x(r, d))), 1e-12) / 127;
  q(r, d) = i8(round(x(r, d) / scale(r)));
  return Kernel("quantize_int8", {x}, {q, scale});
}

Kernel int4_linear() {
  Tensor x("x", T, {M, K}), w("w", u4, {N, K}), scale("scale", T, {N, K / L}), zero("zero", u4, {N, K / L});
  Tensor y("y", T, {M, N});
  y(m, n) = sum(k, x(m, k) * (w(n, k) - zero(n, floor_div(k, L))) * scale(n, floor_div(k, L)));
  return Kernel("int4_linear", {L, x, w, scale, zero}, {y});
}

Kernel int4_linear_shuffled() {
  Tensor x("x", T, {M, K}), w("w", u32, {N, K / 8}), scale("scale", T, {N, K / 32}), y("y", T, {M, N});
  Tensor bits = Tensor::local("bits");
  bits(n, k.below(K)) = (w(n, floor_div(k, 8)) >> (4 * (floor_div(k % 8, 2) + 4 * (k % 2)))) & 15;
  y(m, n) = sum(k, x(m, k) * (bits(n, k) - 8) * scale(n, floor_div(k, 32)));
  return Kernel("int4_linear_shuffled", {x, w, scale}, {y});
}

Kernel fp8_block_linear() {
  Dim L("L", 128);
  Tensor x("x", f8e4m3, {M, K}), sx("sx", f32, {M, K / L}), w("w", f8e4m3, {N, K});
  Tensor sw("sw", f32, {floor_div(N + L - 1, L), K / L}), y("y", bf16, {M, N});
  y(m, n) = sum(k, x(m, k) * sx(m, floor_div(k, L)) * w(n, k) * sw(floor_div(n, L), floor_div(k, L)));
  return Kernel("fp8_block_linear", {L, x, sx, w, sw}, {y});
}

Kernel nvfp4_linear() {
  Tensor x("x", f4e2m1, {M, K}), sx("sx", f8e4m3, {M, K / 16}), w("w", f4e2m1, {N, K}), sw("sw", f8e4m3, {N, K / 16});
  Tensor gx("gx", f32, {1}), gw("gw", f32, {1}), y("y", bf16, {M, N});
  y(m, n) = gx(0) * gw(0) * sum(k, x(m, k) * sx(m, floor_div(k, 16)) * w(n, k) * sw(n, floor_div(k, 16)));
  return Kernel("nvfp4_linear", {x, sx, w, sw, gx, gw}, {y});
}

Kernel quantize_fp8() {
  Tensor x("x", T, {M, K}), q("q", f8e4m3, {M, K}), scale("scale", f32, {M, K / L});
  scale(m, b) = max(max(j.below(L), abs(x(m, b * L + j))), 1e-12) / 448;
  q(m, k) = f8e4m3(x(m, k) / scale(m, floor_div(k, L)));
  return Kernel("quantize_fp8", {L, x}, {q, scale});
}

}  // namespace

std::vector<Kernel> products() {
  return {matmul(),      linear(),       batched_matmul(), linear_gelu_residual(), qkv(),
          gemm(),        lora(),         int8_matmul(),    matmul_bf16_operands(), quantize_int8(),
          int4_linear(), nvfp4_linear(), quantize_fp8(),   int4_linear_shuffled(), fp8_block_linear()};
}

}  // namespace quern::library
