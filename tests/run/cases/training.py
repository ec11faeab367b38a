"""Training: first and late steps, gradients of 0, norms of nothing, rates of 0 and 1 and equal to a drawn number."""

import numpy as np

from case_builder import build, normal, put, type_number
from reference.random_numbers import uniforms

SIZES = [1, 2, 3, 5, 7, 13, 17, 31, 33, 0, 64, 65, 100, 127, 128, 129, 200, 4, 8, 257]


def adam(rng):
    options = [{}, dict(decay=0.01), dict(b1=0.8, b2=0.95), dict(eps=1e-3), dict(b1=0, b2=0), dict(b1=0.5, decay=0.1)]
    for i, N in enumerate(SIZES):
        T = type_number(i)
        yield build("adam", T, g=normal(rng, T, N), **state(rng, N), step=(1, 2, 10, 1000, 100000)[i % 5],
                    lr=(1e-3, 0.1, 1, 3e-4)[i % 4], **options[i % 6])
    zero = dict(p=normal(rng, "f32", 4), m=np.zeros(4, np.float32), v=np.zeros(4, np.float32))
    yield build("adam", "f64", g=np.array([0, 1, -1e-12, 1e6]), **zero, step=1, lr=0.01)
    yield build("adam", "f64", g=np.array([0, np.nan, np.inf, 1]), **zero, step=1, lr=0.01)


def state(rng, N):
    return dict(p=normal(rng, "f32", N), m=normal(rng, "f32", N, scale=0.1), v=np.abs(normal(rng, "f32", N, scale=0.1)))


def global_norm(rng):
    for i, N in enumerate(SIZES):
        T = type_number(i)
        yield build("global_norm", T, g=normal(rng, T, N, scale=(1, 100, 1e-3)[i % 3]))
    yield build("global_norm", "f64", g=np.array([3.0, -4.0]))
    yield build("global_norm", "f64", g=np.array([1, np.nan]))
    yield build("global_norm", "f64", g=np.array([1, -np.inf]))
    yield build("global_norm", "f64", g=np.array([1e30, 1e30]))
    yield build("global_norm", "f16", g=np.full(300, 300, np.float16))


def dropout(rng):
    shapes = [(1, 1), (2, 3), (5, 7), (3, 13), (1, 128), (0, 4), (4, 0), (17, 2), (4, 33), (2, 64), (7, 1), (3, 5),
              (1, 2), (2, 65), (6, 6), (3, 31), (8, 8), (1, 150), (13, 3), (2, 127)]
    for i, (R, N) in enumerate(shapes):
        T = type_number(i)
        seed = (0, 1, 42, 2**40 + 5, -1, 2**63 - 1, -2**63)[i % 7]
        yield build("dropout", T, x=normal(rng, T, R, N), rate=(0.1, 0.5, 0, 0.9, 1)[i % 5], seed=seed)
    x = normal(rng, "f64", 3, 5)
    for n, drawn in enumerate(uniforms(7, np.arange(3))):  # number n is kept at this rate, which is exact in f32
        yield build("dropout", "f64", x=x, rate=float(drawn), seed=7)
    odd = put(put(x, "f64", (1, 1), np.nan), "f64", (2, 2), np.inf)
    yield build("dropout", "f64", x=odd, rate=0.5, seed=11)
