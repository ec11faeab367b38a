"""Gated activations: both tails of the gate, exact zeros, NaN."""

import numpy as np

from case_builder import build, normal, put, type_number

# M, F, K
SHAPES = [(1, 1, 1), (2, 3, 4), (5, 7, 3), (1, 13, 2), (13, 1, 2), (3, 4, 0), (0, 4, 3), (4, 0, 3), (17, 2, 5),
          (2, 17, 5), (3, 3, 33), (8, 8, 8), (9, 5, 7), (1, 1, 65), (7, 11, 2), (2, 31, 3), (6, 2, 19), (4, 4, 4),
          (3, 5, 1), (2, 2, 127)]


def swiglu(rng):
    for i, (M, F, K) in enumerate(SHAPES):
        T = type_number(i)
        yield build("swiglu", T, x=normal(rng, T, M, K), wg=normal(rng, T, F, K), wu=normal(rng, T, F, K))
    x, wu = normal(rng, "f64", 3, 2), normal(rng, "f64", 4, 2)
    yield build("swiglu", "f64", x=x, wg=normal(rng, "f64", 4, 2, scale=1e3), wu=wu)
    yield build("swiglu", "f64", x=put(x, "f64", (2, 0), np.nan), wg=normal(rng, "f64", 4, 2), wu=wu)


def geglu(rng):
    for i, (M, F, _) in enumerate(SHAPES):
        T = type_number(i)
        yield build("geglu", T, x=normal(rng, T, M, 2 * F, scale=2))
    yield build("geglu", "f64", x=np.array([[0, 100, -100, 6, 1, 2, 3, 4], [np.nan, 1, -1, np.inf, 1, 1, 1, 1]]))
    yield build("geglu", "f32", x=np.array([[0, 100, -100, 6, 1, 2, 3, 4]], np.float32))
