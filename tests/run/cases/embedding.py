"""Rows of a table: repeated ids, one row, no rows, ids outside."""

import numpy as np

from case_builder import build, integers, normal, put, refused, type_number, whole

# N, V, D
SHAPES = [(1, 1, 1), (3, 5, 4), (7, 2, 3), (5, 13, 1), (0, 4, 3), (4, 3, 0), (17, 3, 2), (2, 100, 5), (33, 7, 2),
          (8, 8, 8), (13, 1, 3), (1, 31, 7), (6, 6, 5), (3, 2, 65), (9, 9, 2), (11, 4, 3), (2, 2, 2), (5, 17, 6),
          (64, 3, 1), (4, 50, 3)]


def embedding(rng):
    for i, (N, V, D) in enumerate(SHAPES):
        T = type_number(i)
        yield build("embedding", T, id=integers(rng, 0, V, N), table=normal(rng, T, V, D),
                    **({}, dict(scale=2), dict(scale=0.1))[i % 3])
    table = normal(rng, "f64", 4, 3)
    yield build("embedding", "f64", id=np.array([3, 3, 0], np.int32), table=put(table, "f64", (3, 1), np.nan))
    yield refused("embedding", "f64", code="E801", id=np.array([3, 4, 0], np.int32), table=table)
    yield refused("embedding", "f64", code="E801", id=np.array([3, -1, 0], np.int32), table=table)


def embedding_backward(rng):
    for i, (N, V, D) in enumerate(SHAPES):
        T = type_number(i)
        g = whole(rng, T, N, D, most=9) if i % 2 else normal(rng, T, N, D)
        yield build("embedding_backward", T, {"V": V}, id=integers(rng, 0, V, N), g=g,
                    slack={} if i % 2 else {"gt": N * 4 * 2.0**-23})
    g = whole(rng, "f64", 3, 2)
    yield build("embedding_backward", "f64", {"V": 4}, id=np.array([2, 2, 2], np.int32), g=g)
    yield refused("embedding_backward", "f64", {"V": 4}, code="E803", id=np.array([2, 4, 2], np.int32), g=g)
    yield refused("embedding_backward", "f64", {"V": 4}, code="E803", id=np.array([2, -1, 2], np.int32), g=g)


def concat(rng):
    shapes = [(1, 1, 1), (2, 3, 4), (3, 0, 4), (3, 4, 0), (0, 2, 2), (2, 0, 0), (5, 7, 1), (1, 13, 17), (4, 1, 64),
              (3, 31, 33), (17, 2, 3), (2, 5, 5), (8, 8, 8), (1, 128, 1), (7, 3, 2), (6, 6, 7), (2, 19, 4), (3, 1, 2),
              (2, 65, 3), (4, 4, 3)]
    for i, (R, M, N) in enumerate(shapes):
        T = type_number(i)
        yield build("concat", T, a=normal(rng, T, R, M), b=normal(rng, T, R, N))
    odd = np.array([[np.nan, np.inf, -0.0], [1e-310, -np.inf, 1e308]])
    yield build("concat", "f64", a=odd, b=odd[:, :2].copy())
