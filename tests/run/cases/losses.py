"""Losses: one class, ignored targets, large logits, smoothing and z-loss.

Logits of -inf are left out of both: with them 0 * inf appears (smooth * even, p * log p), and the kernels give NaN.
"""

import numpy as np

from case_builder import build, integers, normal, put, refused, type_number

# R, V
SHAPES = [(1, 1), (2, 3), (5, 7), (3, 13), (1, 128), (0, 4), (17, 2), (4, 33), (2, 64), (7, 1), (3, 5), (1, 2),
          (1, 131), (6, 6), (3, 31), (8, 8), (1, 140), (13, 3), (2, 127), (4, 16)]
WEIGHTS = [{}, dict(smooth=0.1), dict(z=1e-4), dict(smooth=0.2, z=0.01), dict(smooth=1)]


def cross_entropy(rng):
    for i, (R, V) in enumerate(SHAPES):
        T = type_number(i)
        target = integers(rng, 0, V, R)
        if i % 2:
            target[rng.random(R) < 0.4] = -100
        yield build("cross_entropy", T, logits=normal(rng, T, R, V, scale=3), target=target, **WEIGHTS[i % 5])
    logits = normal(rng, "f64", 4, 5)
    target = np.array([0, -1, 4, -100], np.int32)
    for weights in WEIGHTS[:4]:
        yield build("cross_entropy", "f64", logits=logits * 500, target=target, **weights)
    lost = put(put(logits, "f64", (0, 3), np.nan), "f64", (1, 2), np.nan)  # the NaN of an ignored row does not show
    yield build("cross_entropy", "f64", logits=lost, target=target, smooth=0.1)
    yield refused("cross_entropy", "f64", code="E801", logits=logits, target=np.array([0, 5, 1, 2], np.int32))


def distillation(rng):
    for i, (R, V) in enumerate(SHAPES):
        T = type_number(i)
        yield build("distillation", T, a=normal(rng, T, R, V, scale=2), b=normal(rng, T, R, V, scale=2))
    a = normal(rng, "f64", 3, 4)
    yield build("distillation", "f64", a=a, b=a)
    yield build("distillation", "f64", a=a * 100, b=-a * 100)
    yield build("distillation", "f64", a=put(a, "f64", (1, 1), np.nan), b=a)
