"""Norms: one column, constant rows (variance 0), rows of zeros, large and tiny values, NaN in one row only."""

import numpy as np

from case_builder import build, normal, put, type_number
from small_floats import encode

# R, D
SHAPES = [(1, 1), (2, 3), (5, 7), (3, 13), (1, 128), (0, 4), (17, 2), (4, 33), (2, 64), (7, 1), (3, 5), (1, 2),
          (1, 131), (6, 6), (3, 31), (8, 8), (1, 140), (13, 3), (2, 127), (4, 16)]


def rows(rng, T):
    """Rows that go wrong first: zeros, a constant, large, tiny, one NaN, one infinity."""
    x = rng.normal(size=(6, 5))
    x[0], x[1] = 0, 3
    x[2] *= 1e3
    x[3] *= 1e-3
    x[4, 2], x[5, 1] = np.nan, np.inf
    return encode(x, T)


def epsilon(i):
    return ({}, dict(eps=1e-5), dict(eps=0.1), dict(eps=1e-6))[i % 4]


def rms_norm(rng):
    for i, (R, D) in enumerate(SHAPES + [(3, 0)]):
        T = type_number(i)
        yield build("rms_norm", T, x=normal(rng, T, R, D, scale=2), w=normal(rng, T, D), **epsilon(i))
    for T in ("f64", "f32", "f16"):
        yield build("rms_norm", T, x=rows(rng, T), w=normal(rng, T, 5))


def add_rms_norm(rng):
    for i, (R, D) in enumerate(SHAPES + [(3, 0)]):
        T = type_number(i)
        yield build("add_rms_norm", T, x=normal(rng, T, R, D), r=normal(rng, T, R, D, scale=3), w=normal(rng, T, D),
                    **epsilon(i))
    for T in ("f64", "f32", "f16", "bf16"):
        x = normal(rng, T, 6, 5) if T == "bf16" else rows(rng, T)
        yield build("add_rms_norm", T, x=x, r=normal(rng, T, 6, 5), w=normal(rng, T, 5))


def layer_norm(rng):
    for i, (R, D) in enumerate(SHAPES + [(3, 0)]):
        T = type_number(i)
        yield build("layer_norm", T, x=normal(rng, T, R, D, scale=2), w=normal(rng, T, D), b=normal(rng, T, D),
                    **epsilon(i))
    for T in ("f64", "f32", "f16"):
        yield build("layer_norm", T, x=rows(rng, T), w=normal(rng, T, 5), b=normal(rng, T, 5))
    far = normal(rng, "f64", 2, 9) + 1000
    yield build("layer_norm", "f64", x=far, w=normal(rng, "f64", 9), b=normal(rng, "f64", 9))


def norm_linear(rng):
    for i, (M, K) in enumerate(SHAPES + [(3, 0)]):
        T, N = type_number(i), (1, 3, 4, 7, 0)[i % 5]
        yield build("norm_linear", T, x=normal(rng, T, M, K), g=normal(rng, T, K), w=normal(rng, T, N, K), **epsilon(i))
    x = put(normal(rng, "f64", 3, 4), "f64", (1, 1), np.nan)
    yield build("norm_linear", "f64", x=x, g=normal(rng, "f64", 4), w=normal(rng, "f64", 2, 4))
    yield build("norm_linear", "f64", x=np.zeros((2, 4)), g=normal(rng, "f64", 4), w=normal(rng, "f64", 3, 4))
