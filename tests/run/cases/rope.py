"""Rotary positions: one pair, many, repeated and distant positions, tables longer than needed."""

import numpy as np

from case_builder import build, integers, normal, put, refused, type_number

# N, H, D, P
SHAPES = [(1, 1, 2, 1), (3, 2, 4, 5), (5, 1, 6, 5), (2, 3, 8, 2), (7, 1, 2, 13), (4, 2, 10, 9), (1, 7, 4, 3),
          (0, 2, 4, 3), (3, 0, 4, 3), (2, 2, 64, 4), (13, 1, 6, 31), (6, 2, 2, 1), (2, 5, 14, 6), (3, 3, 22, 3),
          (17, 1, 4, 40), (1, 1, 128, 2), (8, 2, 8, 8), (4, 4, 4, 4), (5, 2, 26, 11), (2, 1, 34, 7)]


def turns(rng, P, half):
    angle = rng.normal(size=(P, half)) * 3
    return dict(cos=np.cos(angle).astype(np.float32), sin=np.sin(angle).astype(np.float32))


def rope(rng):
    for i, (N, H, D, P) in enumerate(SHAPES):
        T = type_number(i)
        yield build("rope", T, x=normal(rng, T, N, H, D), **turns(rng, P, D // 2), pos=integers(rng, 0, P, N))
    given = dict(x=put(normal(rng, "f64", 3, 1, 4), "f64", (1, 0, 0), np.nan), **turns(rng, 4, 2))
    yield build("rope", "f64", **given, pos=np.array([3, 3, 0], np.int32))
    yield refused("rope", "f64", code="E801", **given, pos=np.array([3, 4, 0], np.int32))
    yield refused("rope", "f64", code="E801", **given, pos=np.array([3, -1, 0], np.int32))


def rope_interleaved(rng):
    for i, (N, H, D, _) in enumerate(SHAPES):
        T = type_number(i)
        base = ({}, dict(base=500000), dict(base=2), dict(base=1))[i % 4]
        pos = integers(rng, -5 if i % 3 else 0, (10, 2048, 8192)[i % 3], N)
        yield build("rope_interleaved", T, x=normal(rng, T, N, H, D), pos=pos, **base)
    x = normal(rng, "f64", 3, 2, 6)
    yield build("rope_interleaved", "f64", x=x, pos=np.zeros(3, np.int32))
    yield build("rope_interleaved", "f64", x=put(x, "f64", (1, 1, 3), np.inf), pos=np.array([1, 2, 3], np.int32))
