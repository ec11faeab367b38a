"""Attention: grouped heads, fewer and more queries than keys, masks that hide all, scores that saturate, NaN."""

import numpy as np

from case_builder import build, integers, normal, put, refused, type_number
from reference import attention as programs
from small_floats import decode, encode

# B, H, G, M, N, D, E
GROUPED = [(1, 1, 1, 1, 1, 1, 1), (2, 4, 2, 3, 5, 4, 3), (1, 3, 1, 7, 7, 5, 2), (1, 2, 2, 1, 13, 3, 3),
           (2, 6, 3, 5, 2, 2, 1), (1, 2, 1, 4, 0, 3, 2), (0, 2, 1, 3, 3, 2, 2), (1, 1, 1, 0, 5, 2, 2),
           (1, 2, 2, 3, 4, 0, 2), (1, 2, 1, 3, 4, 2, 0), (1, 5, 5, 2, 3, 3, 3), (3, 2, 1, 2, 11, 1, 5),
           (1, 1, 1, 17, 17, 2, 2), (1, 8, 2, 2, 3, 2, 2), (2, 2, 2, 4, 4, 8, 8), (1, 7, 7, 3, 6, 3, 1),
           (1, 4, 1, 6, 6, 3, 3), (1, 1, 1, 33, 5, 1, 1)]
ONE_GROUP = [(B, H, M, N, D, E) for B, H, _, M, N, D, E in GROUPED]
SAME_LENGTH = [(B, H, N, D, E) for B, H, _, _, N, D, E in GROUPED]
NAN = float("nan")


def tensors(rng, T, B, H, M, N, D, E, scale=1.0, G=None):
    """q, k and v; one key head a query head unless G is given."""
    heads = H if G is None else G
    return dict(q=normal(rng, T, B, H, M, D, scale=scale), k=normal(rng, T, B, heads, N, D, scale=scale),
                v=normal(rng, T, B, heads, N, E))


def extremes(rng, M=3, N=5, grouped=False):
    """Type and tensors: one key takes all, equal keys, a NaN in a query, in the first key (seen by all), the last."""
    B, H, D, E = 2, 2, 3, 2
    G = 1 if grouped else None
    yield "f64", tensors(rng, "f64", B, H, M, N, D, E, 100.0, G)
    yield "f32", tensors(rng, "f32", B, H, M, N, D, E, 20.0, G)
    equal = tensors(rng, "f64", B, H, M, N, D, E, 1.0, G)
    yield "f64", equal | dict(k=np.ones_like(equal["k"]))
    for name, at in (("q", (1, 1, 0, 0)), ("k", (0, 0, 0, 1)), ("k", (0, 0, N - 1, 0))):
        given = tensors(rng, "f64", B, H, M, N, D, E, 1.0, G)
        yield "f64", given | {name: put(given[name], "f64", at, NAN)}


def grouped(kernel, rng):
    for i, (B, H, G, M, N, D, E) in enumerate(GROUPED):
        T = type_number(i)
        yield build(kernel, T, **tensors(rng, T, B, H, M, N, D, E, G=G))
    for T, given in extremes(rng, grouped=True):
        yield build(kernel, T, **given)


def plain(kernel, rng, dims_of=lambda i, M, N: {}):
    for i, (B, H, M, N, D, E) in enumerate(ONE_GROUP):
        T = type_number(i)
        yield build(kernel, T, dims_of(i, M, N), **tensors(rng, T, B, H, M, N, D, E))
    for i, (T, given) in enumerate(extremes(rng)):
        yield build(kernel, T, dims_of(i, 3, 5), **given)


def attention(rng):
    return grouped("attention", rng)


def attention_bounded(rng):
    return grouped("attention_bounded", rng)


def attention_mqa(rng):
    for i, (B, H, M, N, D, E) in enumerate(ONE_GROUP):
        T = type_number(i)
        given = tensors(rng, T, B, H, M, N, D, E, G=1)
        yield build("attention_mqa", T, q=given["q"], k=given["k"][:, 0], v=given["v"][:, 0])
    for T, given in extremes(rng, grouped=True):
        yield build("attention_mqa", T, q=given["q"], k=given["k"][:, 0], v=given["v"][:, 0])


def attention_cross(rng):
    for i, (B, H, M, N, D, E) in enumerate(ONE_GROUP):
        T = type_number(i)
        length = integers(rng, 0, N + 1, B)
        yield build("attention_cross", T, **tensors(rng, T, B, H, M, N, D, E), length=length)
    for T, given in extremes(rng):  # an empty row, a full one, and one where the NaN of the last key is not seen
        yield build("attention_cross", T, **given, length=np.array([4, 0], np.int32))
        yield build("attention_cross", T, **given, length=np.array([5, 1], np.int32))
    given = tensors(rng, "f64", 1, 1, 2, 3, 2, 2)
    yield build("attention_cross", "f64", **given, length=np.array([-2], np.int32))
    yield refused("attention_cross", "f64", code="E801", **given, length=np.array([4], np.int32))


def attention_window(rng):
    def dims(i, M, N):
        W = (0, 1, 2, 3, N, N + 5, 1000)[i % 7]
        return {"W": W} if i % 3 == 0 else {"W": W, "F": (0, 1, N, N + 3)[i % 4]}

    yield from plain("attention_window", rng, dims)
    for W, F in ((0, 0), (0, 2), (4, 1)):
        yield build("attention_window", "f64", {"W": W, "F": F}, **tensors(rng, "f64", 1, 2, 6, 9, 2, 3))


def attention_softcap(rng):
    yield from plain("attention_softcap", rng, lambda i, M, N: {} if i % 3 == 0 else {"CAP": (1, 5, 30, 50)[i % 4]})


def attention_alibi(rng):
    return plain("attention_alibi", rng)


def attention_sink(rng):
    for i, (B, H, M, N, D, E) in enumerate(ONE_GROUP):
        T = type_number(i)
        yield build("attention_sink", T, **tensors(rng, T, B, H, M, N, D, E), sink=normal(rng, "f32", H, scale=2))
    for T, given in extremes(rng):
        yield build("attention_sink", T, **given, sink=normal(rng, "f32", 2))
    given = tensors(rng, "f64", 1, 3, 4, 4, 2, 2)
    yield build("attention_sink", "f64", **given, sink=np.array([-np.inf, 1000, -1000], np.float32))


def attention_prefix(rng):
    for i, (B, H, N, D, E) in enumerate(SAME_LENGTH):
        T = type_number(i)
        prefix = integers(rng, -1, N + 3, B)
        yield build("attention_prefix", T, **tensors(rng, T, B, H, N, N, D, E), prefix=prefix)
    for T, given in extremes(rng, 5, 5):
        yield build("attention_prefix", T, **given, prefix=np.array([0, 4], np.int32))
        yield build("attention_prefix", T, **given, prefix=np.array([5, 1], np.int32))


def attention_document(rng):
    for i, (B, H, N, D, E) in enumerate(SAME_LENGTH):
        T = type_number(i)
        doc = np.sort(integers(rng, 0, 3, B, N), axis=1) if i % 2 else integers(rng, -2, 2, B, N)
        yield build("attention_document", T, **tensors(rng, T, B, H, N, N, D, E), doc=doc)
    for T, given in extremes(rng, 5, 5):
        yield build("attention_document", T, **given, doc=np.array([[0, 0, 1, 1, 1], [7, 6, 5, 4, 3]], np.int32))


def attention_varlen(rng):
    for i, (_, H, G, _, N, D, E) in enumerate(GROUPED + GROUPED[1:5]):
        T = type_number(i)
        S = (1, 2, 3, 5, 0)[i % 5]
        first = 0 if i % 3 else N // 3
        start = np.sort(integers(rng, first, N + 1, S + 1))
        if i % 4 == 1 and S:
            start[0], start[-1] = 0, N
        given = dict(q=normal(rng, T, N, H, D), k=normal(rng, T, N, G, D), v=normal(rng, T, N, G, E))
        yield build("attention_varlen", T, **given, start=start)
    given = dict(q=normal(rng, "f64", 6, 2, 2), k=normal(rng, "f64", 6, 1, 2), v=normal(rng, "f64", 6, 1, 3))
    for start in ([0, 0, 0, 6], [2, 2, 5, 5], [0, 1, 2, 3, 4, 5, 6], [6, 6]):
        yield build("attention_varlen", "f64", **given, start=np.array(start, np.int32))
    nan = given | dict(k=put(given["k"], "f64", (3, 0, 0), NAN))
    yield build("attention_varlen", "f64", **nan, start=np.array([0, 3, 5, 6], np.int32))
    yield refused("attention_varlen", "f64", **given, start=np.array([0, 3, 7], np.int32))


def attention_mla(rng):
    # B, H, M, N, C, R
    shapes = ONE_GROUP + [(1, 2, 2, 3, 4, 0), (1, 2, 2, 3, 0, 4), (2, 3, 4, 9, 5, 2)]
    for i, (B, H, M, N, C, R) in enumerate(shapes):
        T = type_number(i)
        yield build("attention_mla", T, q=normal(rng, T, B, H, M, C), qr=normal(rng, T, B, H, M, R),
                    kv=normal(rng, T, B, N, C), kr=normal(rng, T, B, N, R), scale=(0.3, 1, 0.0721688)[i % 3])
    given = dict(q=normal(rng, "f64", 1, 2, 3, 4), qr=normal(rng, "f64", 1, 2, 3, 2), kv=normal(rng, "f64", 1, 3, 4),
                 kr=normal(rng, "f64", 1, 3, 2))
    yield build("attention_mla", "f64", **given, scale=300)
    yield build("attention_mla", "f64", **given | dict(qr=put(given["qr"], "f64", (0, 1, 2, 0), NAN)), scale=0.5)
    yield build("attention_mla", "f64", **given, scale=0)


def attention_relative(rng):
    for i, (B, H, N, D, E) in enumerate(SAME_LENGTH):
        T = type_number(i)
        W = (0, 1, 2, 7, 40)[i % 5]
        yield build("attention_relative", T, **tensors(rng, T, B, H, N, N, D, E), bias=normal(rng, T, H, 2 * W + 1))
    for T, given in extremes(rng, 5, 5):
        yield build("attention_relative", T, **given, bias=normal(rng, T, 2, 5))
    given = tensors(rng, "f64", 1, 1, 4, 4, 2, 2)
    yield build("attention_relative", "f64", **given, bias=np.array([[0, 0, 0, 0, -np.inf]]))


def attention_lse(rng):
    return plain("attention_lse", rng)


def attention_merge(rng):
    # C, R, E
    shapes = [(1, 1, 1), (2, 3, 4), (3, 5, 1), (7, 2, 3), (0, 2, 3), (2, 0, 3), (2, 3, 0), (5, 5, 5), (4, 17, 2),
              (16, 3, 3), (2, 33, 1), (3, 1, 31), (13, 2, 2), (2, 8, 8), (6, 3, 5), (1, 7, 7)]
    for i, (C, R, E) in enumerate(shapes):
        part = normal(rng, "f32", C, R, E)
        yield build("attention_merge", type_number(i), part=part, lse=normal(rng, "f32", C, R, scale=3))
    part = normal(rng, "f32", 3, 4, 2)
    inf = np.inf
    rows = [[0, 1, 2, -inf], [-inf, 1, 200, -inf], [3, -inf, -200, -inf]]
    for T in ("f64", "f32", "bf16", "f16"):
        yield build("attention_merge", T, part=part, lse=np.array(rows, np.float32))
    rows[1][2] = NAN
    yield build("attention_merge", "f64", part=part, lse=np.array(rows, np.float32))


def attention_backward(rng):
    def with_forward(T, given):
        q, k, v = (decode(given[name], T) for name in "qkv")
        heads = q.shape[1]
        o, lse = programs.attention_lse(q, programs.repeat_heads(k, heads), programs.repeat_heads(v, heads))
        return given | dict(o=encode(o, T), lse=lse.astype(np.float32), go=normal(rng, T, *o.shape))

    shapes = GROUPED + [(1, 4, 2, 3, 3, 2, 4), (2, 2, 1, 1, 6, 3, 3), (1, 6, 2, 4, 4, 3, 3)]
    for i, (B, H, G, M, N, D, E) in enumerate(shapes):
        T = type_number(i)
        with np.errstate(all="ignore"):
            given = with_forward(T, tensors(rng, T, B, H, M, N, D, E, G=G))
        yield build("attention_backward", T, **given)
    yield build("attention_backward", "f64", **with_forward("f64", tensors(rng, "f64", 1, 2, 4, 4, 2, 2, 8.0, 1)))
