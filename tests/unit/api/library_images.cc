// Convolutions and pooling.
#include "library.h"

namespace quern::library {
namespace {

Kernel conv2d() {
  Tensor x("x", T, {B, H, W, C}), w("w", T, {R, S, C, K}), y("y", T, {B, H - R + 1, W - S + 1, K});
  y(b, i, j, k) = sum({r, s, c}, x(b, i + r, j + s, c) * w(r, s, c, k));
  return Kernel("conv2d", {x, w}, {y});
}

Kernel conv2d_strided() {
  Tensor x("x", T, {B, H, W, C}), w("w", T, {R, S, C, K});
  Tensor y("y", T, {B, floor_div(H + 2 * P - R, U) + 1, floor_div(W + 2 * P - S, U) + 1, K});
  Expr row = i * U + r - P, column = j * U + s - P;
  y(b, i, j, k) =
      sum({r, s, c}, w(r, s, c, k) * if_else(between(row, 0, H) && between(column, 0, W), x(b, row, column, c), 0));
  return Kernel("conv2d_strided", {U, P, x, w}, {y});
}

Kernel conv2d_depthwise() {
  Tensor x("x", T, {B, H, W, C}), w("w", T, {R, S, C}), y("y", T, {B, H - R + 1, W - S + 1, C});
  y(b, i, j, c) = sum({r, s}, x(b, i + r, j + s, c) * w(r, s, c));
  return Kernel("conv2d_depthwise", {x, w}, {y});
}

Kernel conv2d_grouped() {
  Tensor x("x", T, {B, H, W, G * C}), w("w", T, {R, S, C, K}), y("y", T, {B, H - R + 1, W - S + 1, K});
  y(b, i, j, k) = sum({r, s, c}, x(b, i + r, j + s, floor_div(k, floor_div(K, G)) * C + c) * w(r, s, c, k));
  return Kernel("conv2d_grouped", {G, x, w}, {y});
}

Kernel conv1d_causal() {
  Tensor x("x", T, {B, N, C}), w("w", T, {C, W}), bias("bias", T, {C}), y("y", T, {B, N, C}), a = Tensor::local("a");
  a(b, n.below(N), c) = sum(j, if_else(n + j >= W - 1, x(b, n + j - (W - 1), c), 0) * w(c, j)) + bias(c);
  y(b, n, c) = silu(a(b, n, c));
  return Kernel("conv1d_causal", {x, w, bias}, {y});
}

Kernel max_pool() {
  Tensor x("x", T, {B, H, W, C}), y("y", T, {B, floor_div(H - R, U) + 1, floor_div(W - R, U) + 1, C});
  y(b, i, j, c) = max({r.below(R), s.below(R)}, x(b, i * U + r, j * U + s, c));
  return Kernel("max_pool", {R, U, x}, {y});
}

}  // namespace

std::vector<Kernel> images() {
  return {conv2d(), conv2d_strided(), conv2d_depthwise(), conv2d_grouped(), conv1d_causal(), max_pool()};
}

}  // namespace quern::library
