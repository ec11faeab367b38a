"""Scans: one step, none, long ones, decays of 0 and 1 and below 0, gates that close, values out of range."""

import numpy as np

from case_builder import build, integers, normal, put, refused, type_number

# R, N
SHAPES = [(1, 1), (2, 3), (5, 7), (3, 13), (1, 128), (0, 4), (4, 0), (17, 2), (4, 33), (2, 64), (7, 1), (3, 5), (1, 2),
          (2, 65), (6, 6), (3, 31), (8, 8), (1, 150), (13, 3), (2, 127)]


def cumulative_sum(rng):
    for i, (R, N) in enumerate(SHAPES):
        T = type_number(i)
        yield build("cumulative_sum", T, x=normal(rng, T, R, N))
    x = np.array([[1, np.inf, 2, 3], [1, np.nan, 2, 3], [np.inf, 1, -np.inf, 0], [1e300, 1e300, -1e300, 0]])
    yield build("cumulative_sum", "f64", x=x)
    yield build("cumulative_sum", "f32", x=x[:3].astype(np.float32))


def histogram(rng):
    # N, V
    shapes = [(1, 1), (5, 3), (13, 7), (0, 4), (0, 0), (100, 1), (64, 2), (33, 31), (7, 100), (500, 5), (17, 17),
              (128, 64), (2, 2), (31, 3), (1000, 10), (3, 13), (65, 8), (9, 9), (257, 4), (20, 50)]
    for N, V in shapes:
        yield build("histogram", dims={"V": V}, x=integers(rng, 0, max(V, 1), N))
    yield build("histogram", dims={"V": 6}, x=np.full(40, 5, np.int32))
    for bad in (6, -1, 2**31 - 1, -2**31):
        yield refused("histogram", dims={"V": 6}, code="E803", x=np.array([0, 1, bad, 2], np.int32))


def linear_attention(rng):
    # B, H, N, D, E
    shapes = [(1, 1, 1, 1, 1), (2, 3, 5, 2, 3), (1, 2, 7, 3, 2), (1, 1, 13, 2, 1), (0, 2, 3, 2, 2), (1, 2, 0, 2, 2),
              (1, 2, 4, 0, 3), (1, 2, 4, 3, 0), (1, 1, 17, 2, 2), (2, 2, 4, 4, 4), (1, 5, 3, 2, 2), (3, 1, 6, 1, 2),
              (1, 4, 8, 2, 2), (1, 1, 33, 1, 1), (2, 1, 5, 3, 3), (1, 7, 2, 2, 3), (1, 2, 9, 2, 2), (1, 3, 3, 5, 5),
              (2, 2, 3, 7, 1), (1, 1, 4, 8, 8)]
    for i, (B, H, N, D, E) in enumerate(shapes):
        T = type_number(i)
        yield build("linear_attention", T, q=normal(rng, T, B, H, N, D), k=normal(rng, T, B, H, N, D),
                    v=normal(rng, T, B, H, N, E), decay=rng.uniform(0.3, 1, H).astype(np.float32))
    given = dict(q=normal(rng, "f64", 1, 4, 6, 2), k=normal(rng, "f64", 1, 4, 6, 2), v=normal(rng, "f64", 1, 4, 6, 2))
    yield build("linear_attention", "f64", **given, decay=np.array([0, 1, -0.5, 2], np.float32))
    yield build("linear_attention", "f64", **given | dict(k=put(given["k"], "f64", (0, 1, 3, 0), np.nan)),
                decay=np.array([0.5, 0.5, 0.9, 1], np.float32))


def gated_recurrence(rng):
    # B, N, D
    shapes = [(1, 1, 1), (2, 5, 3), (1, 7, 2), (1, 13, 1), (0, 4, 2), (2, 0, 2), (2, 3, 0), (3, 6, 2), (1, 17, 1),
              (1, 33, 1), (2, 4, 4), (1, 3, 7), (5, 2, 2), (1, 20, 2), (1, 8, 3), (2, 9, 1), (1, 2, 13), (1, 25, 1),
              (2, 6, 2), (1, 11, 2)]
    for i, (B, N, D) in enumerate(shapes):
        T = type_number(i)
        yield build("gated_recurrence", T, a=normal(rng, T, B, N, D, scale=0.8), x=normal(rng, T, B, N, D))
    a, x = normal(rng, "f64", 1, 6, 2), normal(rng, "f64", 1, 6, 2)
    yield build("gated_recurrence", "f64", a=put(a, "f64", (0, 3), 0), x=x)
    yield build("gated_recurrence", "f64", a=np.ones_like(a), x=x)
    yield build("gated_recurrence", "f64", a=a, x=put(x, "f64", (0, 2, 1), np.nan))
