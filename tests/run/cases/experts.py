"""Mixtures of experts: equal scores, one expert, experts without tokens, rows that belong to none, bad ids."""

import numpy as np

from case_builder import build, integers, normal, refused, type_number, whole


def route(rng):
    # N, D, X, K
    shapes = [(1, 1, 1, 1), (3, 4, 5, 2), (7, 3, 8, 8), (5, 2, 4, 1), (0, 3, 4, 2), (2, 0, 5, 3), (4, 3, 6, 0),
              (13, 5, 3, 2), (2, 17, 7, 3), (1, 64, 16, 4), (6, 2, 13, 5), (3, 3, 2, 2), (2, 8, 31, 6), (5, 5, 5, 4),
              (17, 2, 4, 2), (1, 3, 40, 8), (4, 7, 9, 3), (8, 1, 3, 1), (3, 6, 12, 11), (2, 2, 2, 1)]
    for i, (N, D, X, K) in enumerate(shapes):
        T = type_number(i)
        draw = whole if i % 3 == 1 else normal  # whole numbers: equal scores, exactly
        yield build("route", T, {"K": K}, x=draw(rng, T, N, D), w=draw(rng, "f32", X, D))
    x, w = whole(rng, "f64", 4, 3), whole(rng, "f32", 3, 3)
    yield build("route", "f64", {"K": 3}, x=x, w=np.concatenate([w, w]))
    yield build("route", "f64", {"K": 2}, x=x * 1000, w=w)  # all but the largest underflow to 0
    yield build("route", "f64", {"K": 2}, x=x * 0, w=w)


def grouped_linear(rng):
    # M, N, K, X
    shapes = [(1, 1, 1, 1), (5, 3, 4, 2), (7, 2, 3, 5), (13, 1, 2, 3), (0, 3, 2, 4), (4, 0, 2, 2), (4, 3, 0, 2),
              (3, 2, 2, 0), (17, 2, 5, 4), (6, 7, 2, 1), (8, 8, 8, 8), (33, 2, 1, 3), (2, 5, 7, 6), (9, 3, 3, 3),
              (11, 4, 2, 2), (5, 5, 5, 7), (3, 1, 31, 2), (2, 13, 3, 2)]
    for i, (M, N, K, X) in enumerate(shapes):
        T = type_number(i)
        start = np.sort(integers(rng, 0, M + 1, X + 1))
        if i % 2 and X:
            start[0], start[-1] = 0, M
        yield build("grouped_linear", T, x=normal(rng, T, M, K), w=normal(rng, T, X, N, K), start=start)
    given = dict(x=normal(rng, "f64", 6, 2), w=normal(rng, "f64", 3, 2, 2))
    for start in ([0, 0, 6, 6], [2, 2, 2, 2], [1, 2, 4, 5], [0, 6, 6, 6]):
        yield build("grouped_linear", "f64", **given, start=np.array(start, np.int32))
    yield refused("grouped_linear", "f64", **given, start=np.array([0, 2, 4, 7], np.int32))


def moe(rng):
    # N, K, X, D, F
    shapes = [(1, 1, 1, 1, 1), (3, 2, 4, 3, 5), (5, 1, 2, 4, 2), (2, 3, 3, 2, 7), (0, 2, 3, 2, 2), (3, 0, 3, 2, 2),
              (2, 2, 5, 0, 3), (2, 2, 5, 3, 0), (7, 2, 8, 2, 3), (4, 4, 4, 3, 3), (1, 6, 6, 5, 2), (2, 1, 13, 3, 4),
              (3, 2, 2, 8, 3), (6, 3, 5, 1, 2), (2, 2, 3, 7, 5), (5, 2, 7, 2, 2), (1, 8, 9, 3, 3), (4, 1, 1, 4, 4),
              (2, 5, 4, 2, 3), (3, 3, 3, 3, 3)]
    for i, (N, K, X, D, F) in enumerate(shapes):
        T = type_number(i)
        yield build("moe", T, **layer(rng, T, N, K, X, D, F))
    same = layer(rng, "f64", 2, 3, 4, 2, 3)
    yield build("moe", "f64", **same | dict(id=np.full((2, 3), 3, np.int32)))
    yield build("moe", "f64", **same | dict(weight=np.array([[0, 0, 0], [1, -1, 5]], np.float32)))
    yield refused("moe", "f64", code="E801", **same | dict(id=np.array([[0, 1, 4], [0, 0, 0]], np.int32)))


def layer(rng, T, N, K, X, D, F):
    return dict(x=normal(rng, T, N, D), id=integers(rng, 0, X, N, K), weight=rng.random((N, K)).astype(np.float32),
                wg=normal(rng, T, X, F, D), wu=normal(rng, T, X, F, D), wd=normal(rng, T, X, D, F),
                sg=normal(rng, T, F, D), su=normal(rng, T, F, D), sd=normal(rng, T, D, F))


def expert_starts(rng):
    # N, K, X
    shapes = [(1, 1, 1), (3, 2, 4), (7, 1, 3), (13, 3, 8), (0, 2, 4), (3, 0, 4), (0, 0, 0), (5, 2, 1), (2, 8, 16),
              (33, 2, 5), (17, 4, 7), (4, 4, 31), (64, 1, 2), (6, 3, 13), (1, 8, 8), (9, 2, 64), (31, 2, 3), (2, 2, 2),
              (10, 6, 4), (5, 5, 5)]
    for N, K, X in shapes:
        yield build("expert_starts", dims={"X": X}, id=integers(rng, 0, max(X, 1), N, K))
    yield build("expert_starts", dims={"X": 6}, id=np.full((5, 2), 5, np.int32))
    yield refused("expert_starts", dims={"X": 4}, code="E803", id=np.array([[0, 4]], np.int32))
    yield refused("expert_starts", dims={"X": 4}, code="E803", id=np.array([[0, -1]], np.int32))
