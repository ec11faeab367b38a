"""Quantised products: the weights are first brought back to real numbers, then multiplied."""

import numpy as np

from small_floats import round_to


def int8_matmul(a, b, sa, sb):
    return (a @ b.T) * np.outer(sa, sb)


def quantize_int8(x):
    largest = np.abs(x).max(1, initial=-np.inf)
    scale = np.maximum(largest, 1e-12) / 127
    stored = round_to(scale, "f32")[:, None]
    with np.errstate(invalid="ignore"):
        steps = np.rint(x / stored)
    return np.nan_to_num(np.clip(steps, -128, 127), nan=0.0).astype(np.int64), scale


def int4_linear(x, w, scale, zero, L):
    weights = (w - np.repeat(zero, L, axis=1)) * np.repeat(scale, L, axis=1)
    return x @ weights.T


def int4_linear_shuffled(x, w, scale):
    """The eight nibbles of a word, low to high, are its elements 0 2 4 6 1 3 5 7."""
    nibbles = np.stack([w // 16**place % 16 for place in range(8)], -1)
    elements = np.zeros_like(nibbles)
    elements[..., [0, 2, 4, 6, 1, 3, 5, 7]] = nibbles
    weights = (elements.reshape(len(w), 8 * w.shape[1]) - 8) * np.repeat(scale, 32, axis=1)
    return x @ weights.T


def fp8_block_linear(x, sx, w, sw, L=128):
    N = len(w)
    left = x * np.repeat(sx, L, axis=1)
    right = w * np.repeat(np.repeat(sw, L, axis=0)[:N], L, axis=1)
    return left @ right.T


def nvfp4_linear(x, sx, w, sw, gx, gw):
    left = x * np.repeat(sx, 16, axis=1)
    right = w * np.repeat(sw, 16, axis=1)
    return left @ right.T * gx * gw


def quantize_fp8(x, L):
    M, K = x.shape
    blocks = x.reshape(M, K // L, L)
    scale = np.maximum(np.abs(blocks).max(2), 1e-12) / 448
    with np.errstate(invalid="ignore"):
        q = blocks / round_to(scale, "f32")[:, :, None]
    return round_to(q.reshape(M, K), "f8e4m3"), scale
