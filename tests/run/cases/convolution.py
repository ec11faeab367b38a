"""Convolutions: filters of 1 and as large as the image, results without rows, strides that leave a rest, padding."""

import numpy as np

from case_builder import build, normal, put, type_number

# B, H, W, C, R, S, K
SHAPES = [(1, 1, 1, 1, 1, 1, 1), (2, 5, 6, 2, 3, 2, 3), (1, 7, 4, 3, 2, 4, 1), (1, 3, 3, 1, 3, 3, 5),
          (2, 4, 4, 2, 1, 1, 2), (0, 4, 4, 2, 2, 2, 2), (1, 2, 5, 1, 3, 2, 2), (1, 5, 5, 0, 2, 2, 3),
          (1, 4, 5, 2, 2, 3, 0), (1, 11, 3, 1, 5, 1, 2), (1, 1, 13, 2, 1, 7, 2), (3, 3, 5, 1, 2, 2, 4),
          (1, 6, 6, 5, 3, 3, 1), (1, 8, 8, 1, 4, 4, 2), (2, 3, 4, 3, 1, 3, 3), (1, 9, 2, 2, 4, 2, 3),
          (1, 17, 1, 1, 3, 1, 1), (1, 5, 7, 2, 2, 2, 2), (1, 4, 4, 1, 4, 1, 7), (2, 6, 3, 2, 5, 3, 2)]


def image(rng, T, B, H, W, C):
    return normal(rng, T, B, H, W, C)


def conv2d(rng):
    for i, (B, H, W, C, R, S, K) in enumerate(SHAPES):
        T = type_number(i)
        yield build("conv2d", T, x=image(rng, T, B, H, W, C), w=normal(rng, T, R, S, C, K))
    x = put(image(rng, "f64", 1, 4, 4, 1), "f64", (0, 1, 2, 0), np.nan)
    yield build("conv2d", "f64", x=x, w=normal(rng, "f64", 2, 2, 1, 2))


def conv2d_strided(rng):
    for i, (B, H, W, C, R, S, K) in enumerate(SHAPES):
        T = type_number(i)
        U, P = ((1, 0), (2, 1), (3, 2), (1, 3), (2, 0), (5, 4))[i % 6]
        yield build("conv2d_strided", T, {"U": U, "P": P}, x=image(rng, T, B, H, W, C), w=normal(rng, T, R, S, C, K))
    x = put(image(rng, "f64", 1, 3, 3, 1), "f64", (0, 0, 0, 0), np.inf)
    w = np.abs(normal(rng, "f64", 3, 3, 1, 1))
    for U, P in ((1, 1), (2, 2), (1, 5)):
        yield build("conv2d_strided", "f64", {"U": U, "P": P}, x=x, w=w)
    yield build("conv2d_strided", "f64", {"U": 2, "P": 1}, x=image(rng, "f64", 1, 0, 3, 1), w=w)


def conv2d_depthwise(rng):
    for i, (B, H, W, C, R, S, _) in enumerate(SHAPES):
        T = type_number(i)
        yield build("conv2d_depthwise", T, x=image(rng, T, B, H, W, C), w=normal(rng, T, R, S, C))
    x = put(image(rng, "f64", 1, 4, 4, 3), "f64", (0, 1, 2, 1), np.nan)
    yield build("conv2d_depthwise", "f64", x=x, w=normal(rng, "f64", 3, 2, 3))


def conv2d_grouped(rng):
    for i, (B, H, W, C, R, S, K) in enumerate(SHAPES):
        T, G = type_number(i), (1, 2, 3, 5)[i % 4]
        x, w = image(rng, T, B, H, W, G * C), normal(rng, T, R, S, C, G * max(K, 1))
        yield build("conv2d_grouped", T, {"G": G}, x=x, w=w)
    x = put(image(rng, "f64", 1, 3, 3, 4), "f64", (0, 1, 1, 3), np.nan)  # shows in the second group only
    yield build("conv2d_grouped", "f64", {"G": 2}, x=x, w=normal(rng, "f64", 2, 2, 2, 4))


def conv1d_causal(rng):
    # B, N, C, W
    shapes = [(1, 1, 1, 1), (2, 5, 3, 4), (1, 7, 2, 2), (1, 3, 1, 5), (0, 4, 2, 3), (2, 0, 2, 3), (2, 3, 0, 3),
              (3, 13, 1, 4), (1, 2, 5, 4), (1, 17, 2, 3), (2, 4, 4, 4), (1, 31, 1, 7), (1, 6, 3, 1), (2, 9, 2, 2),
              (1, 4, 7, 6), (5, 2, 2, 2), (1, 64, 1, 4), (2, 8, 3, 3), (1, 3, 3, 3), (1, 11, 2, 13)]
    for i, (B, N, C, W) in enumerate(shapes):
        T = type_number(i)
        yield build("conv1d_causal", T, x=normal(rng, T, B, N, C), w=normal(rng, T, C, W), bias=normal(rng, T, C))
    w, bias = normal(rng, "f64", 2, 3), normal(rng, "f64", 2, scale=200)
    yield build("conv1d_causal", "f64", x=put(normal(rng, "f64", 1, 6, 2), "f64", (0, 2, 0), np.nan), w=w, bias=bias)


def max_pool(rng):
    for i, (B, H, W, C, R, S, _) in enumerate(SHAPES):
        T = type_number(i)
        R = min(R, H + 1, W + 1)
        yield build("max_pool", T, {"R": R, "U": (1, 2, 3, 1, 5)[i % 5]}, x=image(rng, T, B, H, W, C))
    odd = image(rng, "f64", 1, 5, 5, 1)
    odd[0, 0, 0, 0], odd[0, 4, 4, 0], odd[0, 1, 3, 0], odd[0, :2, :2, 0] = np.nan, np.inf, -np.inf, -np.inf
    yield build("max_pool", "f64", {"R": 2, "U": 1}, x=odd)
    yield build("max_pool", "f64", {"R": 2, "U": 3}, x=odd)
