"""Paged caches: scattered pages, unused entries of the table, empty and full sequences, slots of -1, bad data."""

import numpy as np

from case_builder import build, codes, normal, put, refused, type_number

# S sequences, H and G heads, D, E, L rows a page, C pages a sequence, P pages
SHAPES = [(1, 1, 1, 1, 1, 1, 1, 1), (2, 4, 2, 3, 2, 4, 3, 7), (3, 3, 1, 2, 5, 2, 5, 16), (1, 2, 2, 4, 3, 16, 2, 3),
          (5, 2, 1, 1, 2, 3, 2, 10), (0, 2, 1, 2, 2, 2, 2, 4), (2, 2, 1, 3, 3, 4, 0, 5), (2, 6, 3, 2, 2, 1, 7, 14),
          (4, 1, 1, 5, 1, 7, 1, 4), (2, 2, 2, 0, 3, 3, 2, 4), (2, 2, 1, 3, 0, 3, 2, 4), (3, 8, 2, 2, 2, 5, 2, 6),
          (1, 5, 5, 3, 3, 8, 4, 4), (7, 2, 1, 2, 2, 2, 3, 21), (2, 7, 1, 3, 2, 3, 3, 6)]


def table(rng, S, C, P, L, mode):
    """Pages (each used once if there are enough) and lengths; entries past a length hold -1, as servers leave them."""
    page = rng.permutation(P)[:S * C].reshape(S, C) if P >= S * C else rng.integers(0, P, (S, C))
    length = {"random": rng.integers(0, C * L + 1, S), "full": np.full(S, C * L), "empty": np.zeros(S, int)}[mode]
    page = np.where(np.arange(C) * L < length[:, None], page, -1)
    return page.astype(np.int32), length.astype(np.int32)


def settings(rng):
    for i, shape in enumerate(SHAPES + SHAPES[1:5] + SHAPES[7:9]):
        S, _, _, _, _, L, C, P = shape
        mode = ("full", "random", "random", "empty", "random")[i % 5]
        yield (type_number(i), *shape, *table(rng, S, C, P, L, mode))


def paged_attention(rng):
    for T, S, H, G, D, E, L, C, P, page, length in settings(rng):
        yield build("paged_attention", T, q=normal(rng, T, S, H, D), kp=normal(rng, T, P, L, G, D),
                    vp=normal(rng, T, P, L, G, E), page=page, length=length)
    given = dict(q=normal(rng, "f64", 2, 2, 3), kp=normal(rng, "f64", 4, 2, 1, 3), vp=normal(rng, "f64", 4, 2, 1, 2))
    page = np.array([[3, 1], [0, 3]], np.int32)
    length = np.array([3, 2], np.int32)
    sharp = given | dict(q=given["q"] * 100)
    yield build("paged_attention", "f64", **sharp, page=page, length=length)
    hidden = given | dict(kp=put(given["kp"], "f64", (1, 1), np.nan), vp=put(given["vp"], "f64", (1, 1), np.nan))
    yield build("paged_attention", "f64", **hidden, page=page, length=length)  # row 3 of sequence 0: past its length
    yield build("paged_attention", "f64", **hidden, page=page, length=np.array([4, 0], np.int32))
    bad = np.array([[3, 4], [0, 3]], np.int32)
    yield refused("paged_attention", "f64", code="E801", **given, page=bad, length=length)
    bad = np.array([[3, 1], [-1, 3]], np.int32)
    yield refused("paged_attention", "f64", code="E801", **given, page=bad, length=length)
    yield refused("paged_attention", "f64", code="E801", **given, page=page, length=np.array([5, 2], np.int32))


def paged_attention_fp8(rng):
    for T, S, H, G, D, E, L, C, P, page, length in settings(rng):
        scales = dict(ks=normal(rng, "f32", G, scale=0.02), vs=normal(rng, "f32", G, scale=0.02))
        yield build("paged_attention_fp8", T, q=normal(rng, T, S, H, D), kp=codes(rng, "f8e4m3", P, L, G, D),
                    vp=codes(rng, "f8e4m3", P, L, G, E), **scales, page=page, length=length)
    given = dict(q=normal(rng, "f64", 1, 2, 2), kp=codes(rng, "f8e4m3", 2, 2, 1, 2),
                 vp=codes(rng, "f8e4m3", 2, 2, 1, 2), ks=np.ones(1, np.float32), vs=np.ones(1, np.float32),
                 length=np.array([3], np.int32))
    nan = given["kp"].copy()
    nan[1, 0, 0, 0] = 0x7F
    yield build("paged_attention_fp8", "f64", **given | dict(kp=nan), page=np.array([[0, 1]], np.int32))
    yield refused("paged_attention_fp8", "f64", code="E801", **given, page=np.array([[0, 2]], np.int32))


def cache_append(rng):
    # N, G, D, P, L
    shapes = [(1, 1, 1, 1, 1), (3, 2, 4, 2, 4), (5, 1, 3, 3, 2), (0, 2, 2, 2, 2), (7, 3, 1, 4, 16), (2, 2, 0, 2, 3),
              (4, 1, 5, 1, 7), (6, 2, 2, 6, 1), (13, 1, 2, 5, 3), (4, 2, 3, 2, 2), (3, 5, 1, 3, 5), (1, 1, 8, 9, 2),
              (2, 0, 3, 2, 2), (8, 2, 2, 2, 8), (9, 1, 1, 3, 3), (5, 3, 2, 7, 2), (2, 1, 1, 1, 2), (3, 2, 2, 1, 3),
              (4, 4, 4, 4, 4), (11, 1, 2, 11, 1)]
    for i, (N, G, D, P, L) in enumerate(shapes):
        T = type_number(i)
        slot = rng.permutation(P * L)[:N].astype(np.int32)
        if i % 3 == 1:
            slot[rng.random(N) < 0.4] = -1
        if i % 7 == 6:
            slot[:] = -1
        yield build("cache_append", T, k=normal(rng, T, N, G, D), v=normal(rng, T, N, G, D), slot=slot,
                    kp=normal(rng, T, P, L, G, D), vp=normal(rng, T, P, L, G, D))
    given = dict(k=normal(rng, "f64", 3, 1, 2), v=normal(rng, "f64", 3, 1, 2), kp=normal(rng, "f64", 2, 3, 1, 2),
                 vp=normal(rng, "f64", 2, 3, 1, 2))
    yield build("cache_append", "f64", **given, slot=np.array([-1, 5, -2147483648], np.int32))
    yield build("cache_append", "f64", **given | dict(k=put(given["k"], "f64", (0, 0, 0), np.nan)),
                slot=np.array([2, -7, 0], np.int32))
    yield refused("cache_append", "f64", code="E803", **given, slot=np.array([0, 6, 1], np.int32))
