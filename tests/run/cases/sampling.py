"""Choices: ties, infinities, NaN, empty rows, seeds with both halves, counters past 2^32, K of 0 and of all."""

import numpy as np

from case_builder import build, normal, type_number, whole

# R, V
SHAPES = [(1, 1), (2, 3), (5, 7), (3, 13), (1, 128), (0, 4), (17, 2), (4, 33), (2, 64), (7, 1), (3, 5), (1, 2),
          (1, 131), (6, 6), (3, 31), (8, 8), (1, 140), (13, 3), (2, 127), (4, 0)]
INF, NAN = np.inf, np.nan
ODD = np.array([[1, INF, INF, 2], [-INF, -INF, -INF, -INF], [-INF, -3, -INF, -3], [5, 5, 5, 5], [0.0, -0.0, 0, 0]])


def greedy(rng):
    for i, (R, V) in enumerate(SHAPES):
        T = type_number(i)
        yield build("greedy", T, logits=whole(rng, T, R, V) if i % 2 else normal(rng, T, R, V))
    for T, kind in (("f64", np.float64), ("f32", np.float32), ("f16", np.float16)):
        yield build("greedy", T, logits=ODD.astype(kind))
    yield build("greedy", "f64", logits=np.array([[1, NAN, INF, NAN], [NAN, 2, 3, 4], [1, 2, 3, NAN]]))


def sample(rng):
    for i, (R, V) in enumerate(SHAPES):
        T = type_number(i)
        seed = (0, 1, 42, 2**40 + 5, -1, 2**63 - 1)[i % 6]
        yield build("sample", T, logits=normal(rng, T, R, V), temperature=rng.uniform(0.1, 2, R).astype(np.float32),
                    seed=seed, step=(0, 1, 7, 10**9, 2**35)[i % 5])
    logits = np.array([[1, -INF, 2, -INF], [-INF, -INF, 0, -INF], [INF, 0, 0, 0], [0, NAN, 1, 2]])
    for heat in (1, 1e-3, 100):
        yield build("sample", "f64", logits=logits, temperature=np.full(4, heat, np.float32), seed=9, step=3)


def min_p(rng):
    for i, (R, V) in enumerate(SHAPES):
        T = type_number(i)
        yield build("min_p", T, logits=normal(rng, T, R, V, scale=2), share=(0.1, 0.5, 0.05, 1e-6)[i % 4])
    for share in (0, 1, 2, 0.25):
        yield build("min_p", "f64", logits=ODD, share=share)
    yield build("min_p", "f64", logits=np.array([[1, NAN, 2], [1, 2, 3]]), share=0.5)


def top_k(rng):
    for i, (R, N) in enumerate(SHAPES):
        T = type_number(i)
        N = min(N, 48)  # the kernel compares all pairs
        x = whole(rng, T, R, N) if i % 2 else normal(rng, T, R, N)
        yield build("top_k", T, {"K": min((1, 2, N, 0, 5)[i % 5], N)}, x=x)
    for K in range(5):
        yield build("top_k", "f64", {"K": K}, x=ODD)


